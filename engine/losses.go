package engine

import (
	"log/slog"
	"sync"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// rationed logs what befalls locks: the first ones of each period one by one, the rest as a number at its end. So an
// outage that ends 100,000 holds writes eleven lines about locks that were lost, after two about renewals that were overdue.
type rationed struct {
	logger *slog.Logger // nil: nobody reads it
	most   int          // how many are logged one by one
	more   string       // the message of the number of the others

	mu     sync.Mutex // guards the rest
	logged int        // in this period
	others int        // in this period, not told one by one
	timer  *time.Timer
	closed bool
}

const (
	// lossLines is how many losses of a period are logged one by one.
	lossLines = 10
	// lossPeriod begins with the first.
	lossPeriod = 10 * time.Second
)

// noteLoss logs the loss of a hold that has just ended. It does not block. The loop or the holder calls it.
func (r *rationed) noteLoss(h *Hold, why gate.Why) {
	if r.logger == nil || !r.takes() {
		return
	}
	now := h.e.clock.Now()
	r.logger.Warn("wheellock: a lock was lost", "name", h.name, "kind", string(h.kind.text()),
		"held", (now - h.since()).Round(100*time.Millisecond), "cause", lossOf(h, why, now))
}

// noteRisk logs that the renewal of a hold is overdue. It does not block. The loop calls it.
func (r *rationed) noteRisk(h *Hold, err error) {
	if r.logger == nil || !r.takes() {
		return
	}
	r.logger.Warn("wheellock: the renewal of a lock is overdue", "name", h.name, "kind", string(h.kind.text()),
		"left", (h.core.Deadline() - h.e.clock.Now()).Round(time.Millisecond), "cause", err)
}

// noteForgotten logs a hold that was forgotten.
func (r *rationed) noteForgotten(f *Forgotten) {
	if r.logger != nil && r.takes() {
		r.logger.Warn("wheellock: a lock was forgotten", "name", f.Name, "kind", string(f.Kind),
			"held", f.Held.Round(100*time.Millisecond), "where", f.Where)
	}
}

// takes reports whether one more is logged by itself.
func (r *rationed) takes() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	if r.timer == nil {
		r.timer = time.AfterFunc(lossPeriod, r.end)
	}
	if r.logged == r.most {
		r.others++
		return false
	}
	r.logged++
	return true
}

// end is the end of a period.
func (r *rationed) end() {
	r.mu.Lock()
	others := r.others
	r.logged, r.others, r.timer = 0, 0, nil
	r.mu.Unlock()
	if others > 0 {
		r.logger.Warn(r.more, "locks", others, "within", lossPeriod)
	}
}

// close logs what is left.
func (r *rationed) close() {
	r.mu.Lock()
	r.closed = true
	timer := r.timer
	r.mu.Unlock()
	if timer != nil && timer.Stop() {
		r.end()
	}
}

// lossOf says why a hold was lost.
func lossOf(h *Hold, why gate.Why, now gate.Time) string {
	switch {
	case why == gate.TooLong:
		return "MaxHold is over"
	case why == gate.NotAlive:
		return trim(h.cause().Error())
	case h.composite() != nil:
		return "too few of its locks are left"
	case now < h.core.Deadline():
		return "Redis does not have it any more: freed by force, deleted, evicted or expired"
	case !h.core.Watched():
		return "its fixed lease is over"
	case !h.e.dispatcher.Up():
		return "not renewed in time: Redis cannot be reached"
	}
	return "not renewed in time"
}

// since is when the hold was granted, to 0.1 s; of several locks, when the last was.
func (h *Hold) since() gate.Time {
	if c := h.composite(); c != nil {
		return c.since
	}
	return h.core.Since()
}
