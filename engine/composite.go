package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/wheel/stall"
)

// composite has the parts of a Hold of several locks. The Hold lasts while at least need of the parts do. core.By of the
// Hold points to the composite; in an ordinary Hold it points to the Hold itself.
type composite struct {
	need    int
	since   gate.Time // when it was granted
	ending  observedEnd
	repairs *repairs // of a QuorumLock; nil: a part that has ended is not replaced

	dropping *dropping // nil: it is not watched

	mu    sync.Mutex // guards the rest; held while nothing is called but clocks
	parts []*Hold    // each in its place; nil: the server has none
	over  bool       // they are given back, and no other joins
}

// End implements gate.Ender; no loop knows of composites.
func (c *composite) End(gate.Why) {}

// whole makes the Hold of parts that were granted. An error: too few of them were left when the last answer came, and they are given back.
func (s *several) whole(parts []*Hold, r *repairs, d *dropping) (*Hold, error) {
	h := &Hold{e: s.e, name: s.name, kind: s.kind}
	c := &composite{need: s.need, since: s.e.clock.Now(), repairs: r, parts: parts, dropping: d}
	h.core.By, c.ending.hold = c, h
	for i, part := range slices.Clone(parts) {
		if part != nil {
			c.follow(h, i, part)
		}
	}
	switch err := h.Err(); {
	case err == nil:
		return h, nil
	case errors.Is(err, ErrClosed):
		return nil, s.failed(ErrClosed)
	}
	return nil, &opError{doing: "lock", name: s.name, err: errTooLate, words: "a lease was over before enough members had answered: ask with a longer lease"}
}

// follow ends h when too few of its parts are left. It is told of the end of a part before that part's lock can be granted
// again.
func (c *composite) follow(h *Hold, i int, part *Hold) {
	if !part.joins(h, i) {
		c.ended(h, i, part)
	}
}

// ended is called when a part of h has ended.
func (c *composite) ended(h *Hold, i int, part *Hold) {
	switch {
	case h.ended.Load() != 0: // and so do all parts, perhaps thousands: none looks at the others
	case c.alive() < c.need:
		c.endParts(h, part.Err())
	default:
		c.setMissing(h, i, part, part.Err())
	}
}

// join puts a part that was granted late into its place; false: h has ended before the part was known.
func (c *composite) join(h *Hold, i int, part *Hold) bool {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return false
	}
	c.parts[i] = part
	notify := c.noteMissing(h, i, nil)
	c.mu.Unlock()
	stall.At("composite: part joined, not followed", h.e.uuid)
	c.follow(h, i, part)
	if l := h.endings.Load(); l != nil && l.watched() {
		part.Wanted()
	}
	notify()
	return true
}

// all returns the parts that there are.
func (c *composite) all() []*Hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present()
}

// present is all. c.mu is held.
func (c *composite) present() []*Hold {
	return slices.DeleteFunc(slices.Clone(c.parts), func(part *Hold) bool { return part == nil })
}

// named returns the parts of this name. Those of a MultiLock are in the order of their names, and no others take their places; those of a
// QuorumLock all have its name.
func (c *composite) named(name string) []*Hold {
	if c.repairs != nil {
		return c.all()
	}
	byName := func(part *Hold, name string) int { return strings.Compare(part.name, name) }
	first, _ := slices.BinarySearchFunc(c.parts, name, byName)
	behind := first
	for behind < len(c.parts) && c.parts[behind].name == name {
		behind++
	}
	return c.parts[first:behind]
}

// close returns the parts that are to be given back, because the hold has ended. No other joins them.
func (c *composite) close() []*Hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.repairs != nil {
		c.repairs.stop()
	}
	return c.present()
}

// alive counts the parts that are held. It ends none that is over: its end would count again, and that of the next.
func (c *composite) alive() (n int) {
	for _, part := range c.all() {
		if part.ended.Load() == 0 && !part.over(part.e.clock.Checked()) {
			n++
		}
	}
	return n
}

// overdue is why too few parts are left, for a caller that finds that before endParts is called.
func (c *composite) overdue() gate.Why {
	for _, part := range c.all() {
		if why := gate.Why(part.ended.Load() - 1); why == gate.Closed || why == gate.TooLong {
			return why
		}
	}
	return gate.Lost
}

// endParts ends h because a part was lost, and gives the other parts back. Only the function that ends h gives its parts
// back: this one, Hold.lose or Hold.Unlock.
func (c *composite) endParts(h *Hold, cause error) {
	why := gate.Lost
	if errors.Is(cause, ErrMaxHold) {
		why = gate.TooLong
	} else if errors.Is(cause, ErrClosed) {
		why = gate.Closed
	}
	stall.At("composite: part lost, not ended", h.e.uuid)
	if !h.finish(why) {
		return
	}
	stall.At("composite: ended, parts not given back", h.e.uuid)
	giveBack(c.close())
}

// deadline returns when too few parts are left unless they are renewed.
func (c *composite) deadline() time.Time {
	var ends []time.Time
	for _, part := range c.all() {
		ends = append(ends, part.Deadline())
	}
	slices.SortFunc(ends, func(a, b time.Time) int { return b.Compare(a) })
	return ends[c.need-1]
}

// unlock gives every part back. An error: too few of them were still held, or their answers did not come.
func (c *composite) unlock(ctx context.Context) error {
	return c.doAll(c.close(), func(part *Hold) error { return part.Unlock(ctx) })
}

func (c *composite) unlockAsync() *futures.Future[struct{}] {
	var answers []*futures.Future[struct{}]
	for _, part := range c.close() {
		answers = append(answers, part.UnlockAsync())
	}
	e := c.ending.hold.e
	p := futures.New[struct{}](&e.callbacks, nil)
	after(e, answers...).Then(func([]struct{}, error) {
		errs := make([]error, len(answers))
		for i, answer := range answers {
			_, errs[i] = answer.Result()
		}
		p.Settle(struct{}{}, c.combine(errs))
	})
	return p.Future()
}

// extend prolongs every part.
func (c *composite) extend(ctx context.Context, lease time.Duration) error {
	if c.repairs != nil {
		c.noteLease(lease) // first: a part that joins afterwards sees it, and one that has joined is in all
	}
	return c.doAll(c.all(), func(part *Hold) error { return part.Extend(ctx, lease) })
}

// doAll calls do for all parts at once.
func (c *composite) doAll(parts []*Hold, do func(*Hold) error) error {
	var wg sync.WaitGroup
	errs := make([]error, len(parts))
	for i, part := range parts {
		wg.Go(func() { errs[i] = do(part) })
	}
	wg.Wait()
	return c.combine(errs)
}

// combine returns nil if as many parts as are needed have no error.
func (c *composite) combine(errs []error) error {
	failed := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs)-len(failed) >= c.need {
		return nil
	}
	return errors.Join(failed...)
}

func (c *composite) tenureID() string {
	var ids []string
	for _, part := range c.all() {
		ids = append(ids, part.TenureID())
	}
	return strings.Join(ids, ",")
}

// giveBack unlocks holds that are no longer wanted. It returns when the releases are queued.
func giveBack(holds []*Hold) {
	for _, h := range holds {
		if h != nil {
			h.UnlockAsync()
		}
	}
}
