package gate

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// The rules that hold whatever happens, checked after every step and whenever a key has run out.

// pristine is what noRivals was.
var pristine = newRivals()

// check looks at everybody.
func (w *world) check() {
	holders := make(map[string]*caller)
	for _, p := range w.procs {
		var held int64
		for _, c := range p.callers {
			if c.counted {
				held++
			}
			if c.holds() {
				w.checkHolder(c, holders)
			}
		}
		if got := p.cfg.Stats.Held.Load(); got != held {
			w.broken(fmt.Sprintf("%s counts %d holds, %d are alive", p.uuid, got, held))
		}
		if differ := p.seen.compare(p.cfg.Stats, true, true); differ != "" {
			w.broken(p.uuid + ": " + differ)
		}
		for _, name := range p.names() {
			p.checkMachine(p.entries[name])
			p.checkAlarm(p.entries[name])
		}
		p.checkWaiters()
		for name := range w.redis.standing() {
			p.checkKey(name)
		}
	}
	if !reflect.DeepEqual(&noContest, &contest{rivals: &pristine}) { // which all machines share
		w.broken(fmt.Sprintf("nobody is %+v %+v", noContest, noRivals))
	}
}

// checkHolder is exclusion, and more: the key of a living hold is in Redis, under its owner.
func (w *world) checkHolder(c *caller, holders map[string]*caller) {
	other := holders[c.name]
	holders[c.name] = c
	if other != nil && (other.from != c.from || other.hold.Owner() == 0 || other.hold.Owner() != c.hold.Owner() || other.hold.Tenure != c.hold.Tenure) {
		if !w.lossy || other.from == c.from {
			w.broken(fmt.Sprintf("%v and %v hold %s at the same time", other, c, c.name))
		}
	}
	if owner := w.redis.owner(c.name); !w.lossy && owner != ownerOf(c.from.uuid, c.hold.Tenure) {
		w.broken(fmt.Sprintf("%v holds %s under %d, but in Redis it is %q's", c, c.name, c.hold.Tenure, owner))
	}
}

// checkToken: every grant of a fenced name has a larger token than all before, in all processes; a re-entry has
// its tenure's. Where keys are lost, who does not know yet goes on with smaller ones; but none is given twice.
func (w *world) checkToken(c *caller) {
	if w.kind != FencedKind {
		return
	}
	for _, other := range c.from.callers {
		if other != c && other.hold.alive && other.name == c.name && other.hold.Tenure == c.hold.Tenure {
			if other.hold.Token != c.hold.Token {
				w.broken(fmt.Sprintf("%v re-entered with token %d, not %d", c, c.hold.Token, other.hold.Token))
			}
			return
		}
	}
	if c.hold.Token <= w.token && !w.lossy || w.tokens[c.hold.Token] {
		w.broken(fmt.Sprintf("%v was given token %d after %d", c, c.hold.Token, w.token))
	}
	w.token, w.tokens[c.hold.Token] = c.hold.Token, true
}

// checkCommand: one command in flight per name; a dead owner stays dead; a hold knows of its end before its
// release is asked for.
func (p *process) checkCommand(c *Command) {
	for _, other := range p.outbox {
		if other.Entry == c.Entry {
			p.world.broken(fmt.Sprintf("%v %d while %v %d is in flight", c.Op, c.ID, other.Op, other.ID))
		}
	}
	if c.ID == 0 || c.Op == FairLeave {
		return // a stranger's, to be freed by force; or places in a queue, not a tenure
	}
	if outsideLine(c.Op) != traitsByKind[p.world.kind].write.release {
		if p.released[c.ID] {
			p.world.broken(fmt.Sprintf("%v %d: its release was sent before", c.Op, c.ID))
		}
		if c.LeaseTime <= 0 {
			p.world.broken(fmt.Sprintf("%v %d without a lease", c.Op, c.ID))
		}
		return
	}
	p.released[c.ID] = true
	for _, holder := range p.callers {
		if holder.hold.Tenure == c.ID && (holder.counted || holder.holds()) {
			p.world.broken(fmt.Sprintf("the release of %d was asked for before %v was told that its hold has ended", c.ID, holder))
		}
	}
}

// checkMachine: a machine that owes anything will be woken or answered.
func (p *process) checkMachine(c *Entry) {
	m := c.Machine.(*Lock)
	inFlight := false
	for _, sent := range p.outbox {
		inFlight = inFlight || sent.Entry == c
	}
	if inFlight != (m.flight != None) {
		p.world.broken(fmt.Sprintf("%s: flight is %v, in flight: %v", p.uuid, m.flight, inFlight))
	}
	if m.Waiting() > 0 && m.lease.holds.first == nil && !inFlight && m.NextAlarm() == Never {
		p.world.broken(fmt.Sprintf("%s: somebody waits and nothing will ever happen", p.uuid))
	}
	var n, owned, tries int32
	var last *Waiter
	for w := m.contest.queue.head; w != nil; w = w.next {
		if w.prev != last || !w.queued || w.By.(*caller).answered {
			p.world.broken(fmt.Sprintf("%s: the queue is torn at %v", p.uuid, w.By))
		}
		n++
		if w.Owner != 0 {
			if m.lease.holdOf(w.Owner) != nil {
				p.world.broken(fmt.Sprintf("%v waits although its owner holds", w.By))
			}
			owned++
		}
		if w.Try {
			tries++
		}
		last = w
	}
	for _, first := range m.contest.queue.owners {
		for w := first; w != nil && owned >= 0; w = w.after {
			if owned--; w.after == first {
				break
			}
		}
	}
	if m.contest.queue.tail != last || n != m.contest.queue.n || owned != 0 || tries != m.contest.queue.tries {
		p.world.broken(fmt.Sprintf("%s: the queue has %d waiters and counts %d", p.uuid, n, m.contest.queue.n))
	}
	some := m.contest.queue.head != nil || m.contest.acks.ack != nil || m.contest.queue.fair != nil || m.contest.rivals != &noRivals || m.lease.phase == asked
	if some != (m.contest != &noContest) {
		p.world.broken(fmt.Sprintf("%s: somebody waits: %v; borrowed %+v", p.uuid, some, m.contest))
	}
}

// checkAlarm: before its alarm a machine has nothing to do.
func (p *process) checkAlarm(c *Entry) {
	p.fx = Effects{}
	if asked := early(c.Machine, p.now(), &p.fx); len(asked) > 0 {
		p.world.broken(fmt.Sprintf("%s: woken at %v, before its alarm, it asks for %v", p.uuid, p.now(), asked))
	}
	p.collect(&p.fx)
}

// checkKey: a key of this process is one that its machine knows of and will free.
func (p *process) checkKey(name string) {
	digits, ours := strings.CutPrefix(p.world.redis.owner(name), p.uuid+":")
	if !ours || p.ended {
		return
	}
	id, _ := strconv.ParseUint(digits, 10, 64)
	for _, sent := range p.outbox {
		if sent.Entry.Name == name && (sent.ID == id || sent.Op == FairRelease && sent.Args.FairRelease().Successor == id) {
			return
		}
	}
	c := p.entries[name]
	if c == nil {
		p.world.broken(fmt.Sprintf("%s has forgotten %s, which it holds in Redis under %d", p.uuid, name, id))
	}
	m := c.Machine.(*Lock)
	if m.leaseOf(id) != nil || m.contest.rivals.place.id == id || m.contest.rivals.orphans.of(id) >= 0 || m.contest.queue.fair.knows(m.contest.queue.head, id) {
		return
	}
	p.world.broken(fmt.Sprintf("%s does not know that it holds %s in Redis under %d", p.uuid, name, id))
}

// knows reports whether a place in the queue of a fair lock is a waiter's, or will be given up.
func (l *fairQueue) knows(head *Waiter, place uint64) bool {
	if l == nil {
		return false
	}
	for w := head; w != nil; w = w.next {
		if w.place == place {
			return true
		}
	}
	return slices.ContainsFunc(slices.Concat(l.leaving, l.late, []places{l.leavingNow}), func(p places) bool { return p.first <= place && place < p.first+uint64(p.n) })
}

// checkWaiters: whoever waits for an answer is known to the machine of its name.
func (p *process) checkWaiters() {
	for _, c := range p.callers {
		if c.answered || c.gone {
			continue
		}
		if !c.waiter.queued {
			p.world.broken(fmt.Sprintf("%v was forgotten", c))
		}
	}
}

// checkQuiet: when nobody wants anything any more, nothing is left.
func (w *world) checkQuiet() {
	for _, p := range w.procs {
		for _, c := range p.callers {
			switch {
			case !c.answered && !c.gone:
				w.broken(fmt.Sprintf("%v was never answered", c))
			case c.counted:
				w.broken(fmt.Sprintf("%v still holds", c))
			case c.released != nil && len(c.released.heard) != 1:
				w.broken(fmt.Sprintf("the Unlock of %v was never acknowledged", c))
			}
		}
		if len(p.entries) > 0 {
			w.broken(fmt.Sprintf("%s still has machines for %v", p.uuid, p.names()))
		}
	}
	for channel, listeners := range w.redis.listeners {
		if len(listeners) > 0 {
			w.broken(fmt.Sprintf("%d still listen for %s", len(listeners), channel))
		}
	}
	if keys := w.redis.left(); len(keys) > 0 {
		w.broken(fmt.Sprintf("%q are left in Redis", keys))
	}
}
