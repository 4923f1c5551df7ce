package gate

import (
	"fmt"
	"slices"
	"time"

	"github.com/wheellock/wheellock/wheel"
)

// wants is what a caller asks for. The zero value is a lock with the watchdog's lease.
type wants struct {
	owner uint64
	lease time.Duration // 0: watched
	wait  time.Duration // 0: as long as it takes
	watch time.Duration // a watched lease other than the Config's
	try   bool
}

// caller is one request and what became of it: both ends of it, the user's and the engine's.
type caller struct {
	from   *process
	n      int
	name   string
	waiter *Waiter
	hold   Hold

	gone     bool    // it went away before it was answered
	answered bool    // out is the answer
	out      Outcome // what it was told
	handedOn bool    // its grant was
	reentry  bool    // its grant is one
	unlocked bool    // it called Unlock
	over     bool    // the machine said that the hold has ended
	why      Why     // for what reason
	counted  bool    // the machine holds it for alive
	released *ack    // the answer to its Unlock
}

// ask brings a caller to the machine.
func (p *process) ask(name string, want wants) *caller {
	c := &caller{from: p, n: len(p.callers) + 1, name: name}
	c.hold.By = c
	w := &Waiter{By: c, Hold: &c.hold, Owner: want.owner, LeaseTime: want.lease, Watch: want.lease == 0, Try: want.try}
	if w.Watch {
		w.LeaseTime = p.cfg.LeaseTime
		if want.watch != 0 {
			w.LeaseTime = want.watch
		}
	}
	c.waiter = w
	p.callers = append(p.callers, c)
	entry := p.entry(name)
	w.Entry, c.hold.Entry = entry, entry
	if want.wait != 0 {
		w.Until = p.now() + want.wait
		w.Timer.Value = w
		p.cfg.Waits.Put(&w.Timer, wheel.Ceil(w.Until, waitTick))
	}
	p.step(entry, func(m Machine, now Time, fx *Effects) { m.Ask(now, w, fx) }, "%v asks for %s: %+v", c, name, want)
	return c
}

func (p *process) lock() *caller { return p.ask(stock, wants{}) }

func (c *caller) String() string { return fmt.Sprintf("%s%d", c.from.uuid, c.n) }

// Settle implements Settler. A waiter that was answered is its caller's again, who uses it for something else.
func (c *caller) Settle(out Outcome) bool {
	c.from.world.note("%s   tells %v: %v, accepted %v", c.from.uuid, c, whyNames[out.Why], !c.gone && !c.answered)
	if c.answered {
		c.from.world.broken("a caller was answered twice")
	}
	c.from.seen.told(out, !c.gone)
	if c.gone {
		return false
	}
	c.answered, c.out = true, out
	c.handedOn, c.reentry = c.waiter.Way == HandedOn, c.waiter.Way == Reentry
	if out.Why == Granted {
		if c.handed() {
			c.from.seen.handoffs++
		}
		c.counted = true
		c.from.world.checkToken(c)
		c.from.world.granted = append(c.from.world.granted, c)
	}
	*c.waiter = Waiter{Owner: 99, LeaseTime: time.Nanosecond}
	return true
}

// End implements Ender.
func (c *caller) End(why Why) {
	c.from.world.note("%s   ends the hold of %v: %s", c.from.uuid, c, whyNames[why])
	if c.over || !c.counted {
		c.from.world.broken("a hold was ended twice, or was none")
	}
	for _, release := range c.from.fx.Commands[traitsByKind[c.from.world.kind].write.release] {
		if release.ID == c.hold.Tenure {
			c.from.world.broken("the release was asked for before the hold was told of its end")
		}
	}
	c.over, c.why, c.counted = true, why, false
	c.from.seen.lost++
}

// handed reports whether c got a tenure that another had before, and nobody has now.
func (c *caller) handed() bool {
	before := c.from.given[c.name]
	c.from.given[c.name] = c.hold.Tenure
	return before == c.hold.Tenure && !slices.ContainsFunc(c.from.callers, func(other *caller) bool {
		return other != c && other.hold.alive && other.name == c.name
	})
}

// holds is what the user of the hold sees: a comparison of clocks.
func (c *caller) holds() bool {
	return c.answered && c.out.Why == Granted && !c.unlocked && !c.over && c.from.now() < c.hold.Deadline()
}

// unlock is Unlock, heard by the machine at once.
func (c *caller) unlock() {
	if c.stop() {
		c.unlockHeard()
	}
}

// stop is the user's side of Unlock: from here on it relies on nothing. False: the hold had ended.
func (c *caller) stop() bool {
	if !c.holds() {
		return false
	}
	c.unlocked = true
	c.from.world.note("%v unlocks", c)
	return true
}

func (c *caller) unlockHeard() {
	c.released = &ack{world: c.from.world}
	c.from.step(c.hold.Entry, func(m Machine, now Time, fx *Effects) {
		m.Unlock(now, &c.hold, c.released, fx)
		c.counted = false
	}, "hears that %v unlocks", c)
}

// ack is the caller of an Unlock, Extend or ForceUnlock.
type ack struct {
	world *world
	heard []Outcome
}

// Settle implements Settler.
func (a *ack) Settle(out Outcome) bool {
	a.world.note("    acknowledged: %s", whyNames[out.Why])
	if a.heard = append(a.heard, out); len(a.heard) > 1 {
		a.world.broken("an acknowledgement was given twice")
	}
	return true
}

var whyNames = [...]string{"granted", "taken", "timed out", "down", "doubtful", "refused", "foreign", "lost", "too long", "unlocked", "closed", "overloaded", "other kind", "twin lives", "deadlock", "too few", "too late", "gave up"}
