package gate

import (
	std "sync/atomic"

	"go.uber.org/atomic"
)

// Counter is an atomic.Int64 that may be a field anywhere. On 32-bit machines an atomic operation on a
// number that does not lie on an 8-byte boundary panics, and there go.uber.org/atomic, unlike sync/atomic,
// leaves the boundary to whoever orders the fields.
type Counter struct {
	_ [0]std.Int64 // takes no room; the compiler aligns what contains it
	atomic.Int64
}
