package redismodel

// Server is a Redis server. One goroutine uses it, and no callback may call it.
type Server struct {
	// Micros is its clock, in µs since 1970. It stands still while a command or script runs.
	Micros int64
	// Subscribers counts the subscribers of a channel; nil: there are none.
	Subscribers func(channel string, sharded bool) int
	// Publish hears of each message; nil: nobody does.
	Publish func(channel, message string, sharded bool)
	// Writes counts the writes that were not refused.
	Writes int

	in       *Interpreter
	keys     keyspace
	refusal  refusal
	inScript bool
	wrote    bool // since the script began
	scratch  []element
}

// New makes an empty server that runs its scripts by in.
func New(in *Interpreter) *Server {
	s := &Server{in: in}
	s.keys.freeze()
	return s
}

// Do runs one command of a client.
func (s *Server) Do(args ...string) Value {
	if len(args) == 0 {
		return failure("ERR empty command")
	}
	s.inScript = false
	return s.run(args)
}

// Eval is EVAL: the answer is what the client sees, also when the script ends with an error.
func (s *Server) Eval(script string, keys, args []string) Value {
	s.inScript, s.wrote = true, false
	answer := s.in.eval(s, script, keys, args)
	s.inScript = false
	return answer
}

func (s *Server) millis() int64 { return s.Micros / 1000 }
