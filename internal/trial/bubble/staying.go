package bubble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// Names that stay taken without a hold: WithMinHold, Detach and Adopt.

// detachable reports whether names of this kind can.
func (k kind) detachable() bool { return k <= fairKind }

// mostStay is for how long a name stays taken at most, besides its lease.
func (p *plan) mostStay() time.Duration { return 3 * p.lease }

const detachedSuffix = ":detached"

// stay is a name that one of these owners must have until a time. Whoever adopts it, or destroys it, ends that.
type stay struct {
	s     *subject
	ids   []string
	until time.Time
}

// stays has the judge look whether a name stays taken for least, counted from a call that began then: clocks run at different speeds,
// and Redis counts in milliseconds.
func (j *judge) stays(one *held, began time.Time, least time.Duration) {
	until := began.Add(least - least/50 - 5*time.Millisecond)
	j.mu.Lock()
	defer j.mu.Unlock()
	ids := append(slices.Clone(one.ids), one.ids[0]+detachedSuffix)
	j.staying = append(j.staying, stay{one.s, ids, until})
	if most := time.Now().Add(least + j.w.plan.grace()); most.After(one.stays) {
		one.stays = most
	}
	j.w.note("%v: %s stays taken by %v until %v", one.p, one.s.name, ids, until.Sub(j.w.began))
}

// lookAtStays judges that names which are to stay taken are, unless what stood in Redis was destroyed.
// invariant: detached-name-stays
func (j *judge) lookAtStays() {
	all := owners(j.w.servers[0]) // first: what is destroyed is noted before
	j.destroy(j.doomed.take())
	j.mu.Lock()
	defer j.mu.Unlock()
	j.staying = slices.DeleteFunc(j.staying, func(one stay) bool {
		return !time.Now().Before(one.until) || slices.ContainsFunc(one.ids, func(id string) bool { return j.destroyed[id] })
	})
	for _, one := range j.staying {
		fields := all[one.s.name]
		if !slices.ContainsFunc(fields, func(field string) bool { return slices.Contains(one.ids, field) }) {
			j.w.violation("stay", "%s is to be taken by %v for %v more, and %q have it", one.s.name, one.ids, time.Until(one.until), fields)
		}
	}
}

// detached are owner ids by which a name can be adopted.
type detached struct {
	mu      sync.Mutex // guards the rest
	ids     []string   // the last ones
	adopted map[string]int
}

// add remembers an id, for whoever adopts it.
func (d *detached) add(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ids = append(d.ids, id); len(d.ids) > 2 {
		d.ids = d.ids[1:]
	}
}

// last is an id that was added not long ago; empty: there is none. It stays, so that several adopt it.
func (d *detached) last() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ids) == 0 {
		return ""
	}
	return d.ids[len(d.ids)-1]
}

// took counts who has adopted it.
func (d *detached) took(id string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.adopted == nil {
		d.adopted = make(map[string]int)
	}
	d.adopted[id]++
	d.ids = slices.DeleteFunc(d.ids, func(other string) bool { return other == id })
	return d.adopted[id]
}

// detach ends a hold and leaves its name taken. Sometimes the id is lost: then the name is free when the lease is over.
func (c *caller) detach(one *held) {
	c.w.judge.remove(one)
	lease := spread(c.r, 10*time.Millisecond, c.w.plan.mostStay())
	began, ends := time.Now(), one.ends()
	var id string
	err := c.call(c.answerTime(), fmt.Sprintf("Detach %s for %v", one.h.Name(), lease), func() (err error) {
		id, err = one.h.Detach(context.Background(), lease)
		return err
	})
	if one.h.Err() == nil {
		c.w.violation("unlock", "%v: Detach of %s said %v, and Err is nil", c, one.h.Name(), err)
	}
	if (id == "") != (err != nil && !errors.Is(err, engine.ErrUncertain) && !errors.Is(err, engine.ErrRefused)) {
		c.w.violation("errors", "%v: Detach said %q, %v", c, id, err)
	}
	if err == nil {
		c.w.judge.stays(one, began, lease)
		ends = time.Now()
	}
	c.w.judge.freed(one, ends.Add(lease))
	if id != "" && c.r.IntN(4) > 0 {
		one.s.detached.add(id)
	}
}

// adopt takes the place of an owner: one that was detached, or rarely whoever has the lock. It reports whether there was one.
func (c *caller) adopt(alive context.Context, s *subject) bool {
	m, is := c.mutex(s)
	if !is || !s.kind.detachable() {
		return false
	}
	id := s.detached.last()
	if c.r.IntN(20) == 0 {
		state, err := m.Inspect(alive)
		if err != nil {
			return true
		}
		id = state.Owner
	}
	if id == "" {
		return false
	}
	c.w.judge.destroy([]string{id}) // whoever believes in it loses it
	one := &held{p: c.p, s: s, tried: true}
	answered := c.w.judge.ask(one)
	err := c.call(c.answerTime(), "Adopt "+s.name+" of "+id, func() (err error) {
		one.h, err = m.Adopt(alive, id)
		return err
	})
	has := err == nil && c.granted(alive, one)
	answered()
	if err != nil {
		if errors.Is(err, engine.ErrHeld) {
			c.w.violation("errors", "%v: Adopt: %v", c, err)
		}
		return true
	}
	_, _, _, void := s.tally.read()
	if n := s.detached.took(id); n > 1 && strings.HasSuffix(id, detachedSuffix) && !void {
		c.w.violation("adopt", "%v is the %dth to adopt %s", c, n, id)
	}
	if has {
		c.have(alive, one, false, 0)
		c.giveBack(one)
	}
	return true
}
