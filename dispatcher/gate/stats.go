package gate

import (
	std "sync/atomic"

	"go.uber.org/atomic"
)

// Stats counts what the machines of one dispatcher have done. The loop writes, any goroutine reads.
type Stats struct {
	Held      Counter // holds alive now
	Granted   Counter
	Handoffs  Counter // grants that asked nothing of Redis
	Attempts  Counter // acquires sent
	Waits     Counter // acquires that found another owner
	Refused   Counter // requests that were refused by a bound, or by the server
	Batches   Counter // pipelines sent
	Lost      Counter // holds that ended otherwise than by Unlock
	AtRisk    Counter // holds alive now with a renewal that is overdue
	Uncertain Counter // commands that lost their answer
	Narrow    Counter // nodes that refuse wide calls now
}

// Counter is an atomic.Int64 that may be a field anywhere. On 32-bit machines an atomic operation on a
// number that does not lie on an 8-byte boundary panics, and there go.uber.org/atomic, unlike sync/atomic,
// leaves the boundary to the order of the fields.
type Counter struct {
	_ [0]std.Int64 // takes no memory; the compiler aligns the struct that contains it
	atomic.Int64
}
