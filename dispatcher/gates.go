package dispatcher

import (
	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/scripts"
)

// gates is the entries of the live names with their machines, and what these have asked for in this turn. A caller that passes an
// event to a machine passes fx with it, and then calls stepped.
type gates struct {
	cfg     *gate.Config
	hashed  bool // in a cluster: an entry has the hash slot of its name
	names   names
	free    []*gate.Entry // idle ones, for other names: most names live for one lock only
	changed []*gate.Entry // stepped in this turn: their alarms are to be set
	fx      gate.Effects
}

// entry finds the entry of a name, or makes it. Nil, and why: the name lives as another kind, or its alias lives
// (invariant: one-kind-per-name).
func (g *gates) entry(name string, kind gate.Kind) (*gate.Entry, gate.Why) {
	e := g.names.find(name)
	switch {
	case e == nil && g.aliasLives(name, kind):
		return nil, gate.AliasLives
	case e == nil:
		e = g.unused(name, kind)
		if g.hashed {
			e.Slot = scripts.HashSlot(name)
		}
		g.names.add(e)
	case e.Kind != kind:
		return nil, gate.OtherKind
	}
	return e, 0
}

// aliasLives reports whether a name that is asked for as "a" lives as "{a}", or the other way round. By Redisson's rule both
// have the same derived keys. Two fair mutexes would share one queue, and a permit semaphore would reclaim the permits of
// the other. The other kinds share only channels, where messages are hints, and a counter, which grows for both.
func (g *gates) aliasLives(name string, kind gate.Kind) bool {
	if kind != gate.FairKind && kind != gate.PermitKind {
		return false
	}
	alias := g.names.find(scripts.Alias(name))
	return alias != nil && alias.Kind == kind
}

// maxFree bounds how many entries are kept for other names: half a megabyte.
const maxFree = 2048

// unused returns an entry for a name: a free one, or a new one.
func (g *gates) unused(name string, kind gate.Kind) *gate.Entry {
	last := len(g.free) - 1
	if last < 0 || g.free[last].Kind != kind {
		return gate.NewEntry(name, kind, g.cfg)
	}
	e := g.free[last]
	g.free = g.free[:last]
	e.Reuse(name, g.cfg)
	return e
}

// forget lets an idle entry serve another name.
func (g *gates) forget(e *gate.Entry) {
	g.names.remove(e)
	e.Free = true
	if len(g.free) < maxFree {
		g.free = append(g.free, e)
	}
}

// stepped notes that an entry has changed; its alarm is set at the end of the turn. A spare one has not, whatever
// event came for it: the event of a caller that went away while it was answered is read when the name is idle and
// forgotten. Were the entry forgotten again, two names would get the same entry, or one that lives would lose its own.
func (g *gates) stepped(e *gate.Entry) {
	if !e.Stepped && !e.Free {
		e.Stepped = true
		g.changed = append(g.changed, e)
	}
}

// answer brings a command back to the gate that asked for it.
func (g *gates) answer(now gate.Time, c *gate.Command) {
	entry := c.Entry
	entry.Machine.Answer(now, c, &g.fx)
	g.stepped(entry)
}

// visit steps the machines of those entries that which picks; nil: of all.
func (g *gates) visit(which func(*gate.Entry) bool, step func(gate.Machine)) {
	for e := range g.names.all() {
		if which == nil || which(e) {
			step(e.Machine)
			g.stepped(e)
		}
	}
}

// reportLinkUp reports to the machines of some entries that the link to their node is up again.
func (g *gates) reportLinkUp(now gate.Time, whose func(*gate.Entry) bool) {
	g.visit(whose, func(m gate.Machine) { m.LinkUp(now, &g.fx) })
}

// asked reports whether machines have asked for anything that is in no outbox.
func (g *gates) asked() bool {
	for op := range g.fx.Commands {
		if len(g.fx.Commands[op]) > 0 {
			return true
		}
	}
	return false
}

// measure follows the time of a round trip: down at once, up slowly. Many engines that start together measure long ones, and may ask
// seldom afterwards.
func (g *gates) measure(rtt gate.Time) {
	if g.cfg.RTT == 0 || rtt < g.cfg.RTT {
		g.cfg.RTT = rtt
	}
	g.cfg.RTT += (rtt - g.cfg.RTT) / 8
}
