//go:build !wheellock_stall

package bubble

// stalls says that goroutines of engines can be kept from running.
const stalls = false

func (w *World) stall() (undo func()) { return func() {} }

func (p *process) opens() (undo func()) {
	p.clock.rate = 0 // the engine's clock is the bubble's
	return func() {}
}
