package wire

import (
	"sync/atomic" // aligned on 32-bit machines, as go.uber.org/atomic is not

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// ServerClock is what is known of a server's clock, for notAfter (invariant: late-acquire-does-nothing). A reading counts from when its
// answer was read here, which is later than when the server read its clock: so the estimate is never ahead of the truth by more than the
// millisecond to which both are cut, and notAfter never later than that. A slow answer makes notAfter too early; then the script refuses
// and tells its time, from which the clock learns. Any goroutine may use it.
type ServerClock struct {
	ahead atomic.Int64 // of the engine's clock, in ms, at most
}

// Learn notes what the clock of the server showed, in ms since 1970, when its answer was read.
func (s *ServerClock) Learn(millis int64, at gate.Time) { s.ahead.Store(millis - at.Milliseconds()) }

// NotAfter is the server's time, in ms since 1970, after which a command sent then must take nothing.
func (s *ServerClock) NotAfter(sent gate.Time) int64 {
	return s.ahead.Load() + (sent + gate.LateWindow).Milliseconds()
}

// leaveBy is from when the deadline counts of calls on semaphores, permits and latches, which may be sent again. One that leaves after
// its LeaveBy is refused, and with it all that are sent together with it: the deadline counts from the earliest.
func (w *Writer) leaveBy() gate.Time {
	from := w.sent
	for i := range w.batch {
		if by := w.batch[i].LeaveBy; by != 0 {
			from = min(from, by)
		}
	}
	return from
}
