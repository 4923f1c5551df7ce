package dispatcher

import (
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/scripts"
)

// entry finds the entry of a name, or makes it. Nil, and why: the name lives as another kind, or its alias lives (rule 6).
func (d *Dispatcher) entry(name string, kind gate.Kind) (*gate.Entry, gate.Why) {
	c := d.names.find(name)
	switch {
	case c == nil && d.aliasLives(name, kind):
		return nil, gate.AliasLives
	case c == nil:
		c = d.free.entry(name, kind, d.cfg.Gate)
		if d.cluster != nil {
			c.Slot = scripts.HashSlot(name)
		}
		d.names.add(c)
	case c.Kind != kind:
		return nil, gate.OtherKind
	}
	return c, 0
}

// nobodyKnows reports whether the name may be free or held: its node cannot be reached, and no hold of ours excludes
// others. Then other waiters of this process say nothing about the name either.
func (d *Dispatcher) nobodyKnows(c *gate.Entry) bool {
	return d.home(c.Slot).link.state == linkDown && (c.Kind == gate.PermitKind || c.Oldest() == gate.Never)
}

// aliasLives reports whether a name that is asked for as "a" lives as "{a}", or the other way round. By Redisson's rule both
// have the same derived keys. Two fair mutexes would share one queue, and a permit semaphore would reclaim the permits of
// the other. The other kinds share only channels, whose messages are hints, and a counter, which grows for both.
func (d *Dispatcher) aliasLives(name string, kind gate.Kind) bool {
	if kind != gate.FairKind && kind != gate.PermitKind {
		return false
	}
	alias := d.names.find(scripts.Alias(name))
	return alias != nil && alias.Kind == kind
}
