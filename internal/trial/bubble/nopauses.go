//go:build !wheellock_stall

package bubble

import "time"

// stalls says that goroutines of engines can be kept from running.
const stalls = false

// slack is how much later than its bound a call may return: what the engine promises, and a little for the answer's way.
const slack = 26 * time.Millisecond

func (w *World) stall() (undo func()) { return func() {} }

func (p *process) opens() (undo func()) {
	p.clock.rate = 0 // the engine's clock is the bubble's
	return func() {}
}
