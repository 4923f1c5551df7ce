package gate

// plainCodes are codes that a scene can name: 1000 more than a number.
type plainCodes struct{}

func (plainCodes) Code(n uint64) int64      { return 1000 + int64(n&^claims) }
func (plainCodes) Number(code int64) uint64 { return uint64(code) - 1000 }
