package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// rwProcess is one engine's loop.
type rwProcess struct {
	w        *rwWorld
	uuid     string
	cfg      *Config
	encoder  Encoder
	entry    *Entry
	rw       *Lock
	flight   *rwInFlight
	late     []*rwInFlight // lost, and may run yet
	wishes   []bool
	listens  bool
	messages int
	callers  []*rwCaller
	closed   bool
	seen     tally
}

type rwInFlight struct {
	Command
	left bool
	ran  bool
	written
}

// rwCaller is one request and what became of it.
type rwCaller struct {
	p        *rwProcess
	n        int
	waiter   *Waiter
	write    bool
	hold     Hold
	gone     bool
	answered bool
	out      Outcome
	unlocked bool
	over     bool
	acks     int
	expected bool
}

func (c *rwCaller) String() string {
	return fmt.Sprintf("%s%d(write %t, owner %d)", c.p.uuid, c.n, c.write, c.hold.owner())
}

func (c *rwCaller) Settle(out Outcome) bool {
	c.p.w.note("  tells %v: %s, accepted %t", c, whyNames[out.Why], !c.gone && !c.answered)
	c.p.seen.told(out, !c.gone && !c.answered)
	if c.gone || c.answered {
		return false
	}
	c.answered, c.out = true, out
	*c.waiter = Waiter{Owner: 99}
	return true
}

func (c *rwCaller) End(why Why) {
	c.p.w.note("  ends %v: %s", c, whyNames[why])
	c.over = true
	c.p.seen.lost++
}

func (c *rwCaller) granted() bool { return c.answered && c.out.Why == Granted }

func (c *rwCaller) holds() bool {
	return c.granted() && !c.unlocked && !c.over && c.p.w.now < c.hold.Deadline()
}

// rwAck is the caller of an Unlock or an Extend.
type rwAck struct{ c *rwCaller }

func (a rwAck) Settle(out Outcome) bool {
	a.c.p.w.note("  acknowledges %v: %s", a.c, whyNames[out.Why])
	a.c.acks++
	return true
}

// step is one event for a machine.
func (p *rwProcess) step(what string, event func(fx *Effects)) {
	p.w.note("%s %s", p.uuid, what)
	var fx Effects
	event(&fx)
	for _, commands := range fx.Commands {
		for _, c := range commands {
			p.w.note("%s   asks for %v %d lease %v %+v", p.uuid, c.Op, c.ID, c.Lease, c.Args)
			if p.flight != nil {
				p.w.broken("%s: two commands in flight", p.uuid)
			}
			p.checkRelease(&c)
			p.seen.sent(&c)
			p.flight = &rwInFlight{Command: c}
		}
	}
	for _, s := range fx.Subscriptions {
		p.wishes = append(p.wishes, s.On)
	}
	p.w.check()
}

// checkRelease: whoever holds under a tenure knows of its end before its release is asked for.
func (p *rwProcess) checkRelease(c *Command) {
	for _, holder := range p.callers {
		if (outsideLine(c.Op) == ReleaseRead || outsideLine(c.Op) == ReleaseWrite) && c.ID != 0 && holder.hold.Tenure == c.ID && holder.holds() && holder.hold.write == (outsideLine(c.Op) == ReleaseWrite) {
			p.w.broken("the release of %d was asked for while %v holds", c.ID, holder)
		}
	}
}

func (p *rwProcess) knows(c *rwCaller) bool {
	known := c.waiter.queued
	return known || slices.ContainsFunc(p.rw.contest.rivals.growing, func(g growth) bool { return g.w == c.waiter })
}

func (p *rwProcess) ask() {
	w := p.w
	c := &rwCaller{p: p, n: len(p.callers) + 1, write: w.IntN(3) == 0}
	c.hold.By = c
	c.waiter = &Waiter{By: c, Hold: &c.hold, Write: c.write, Lease: time.Second, Watch: true, Try: w.IntN(5) == 0, Entry: p.entry}
	if w.IntN(3) == 0 {
		c.waiter.Owner = 1 + w.Uint64N(3)
	}
	if w.IntN(4) == 0 {
		c.waiter.Watch, c.waiter.Lease = false, time.Duration(100+w.IntN(3000))*time.Millisecond
	}
	p.callers = append(p.callers, c)
	p.step(fmt.Sprintf("%v asks: owner %d, watch %t, lease %v, try %t", c, c.waiter.Owner, c.waiter.Watch, c.waiter.Lease, c.waiter.Try),
		func(fx *Effects) { p.rw.Ask(w.now, c.waiter, fx) })
}

func (p *rwProcess) pick(ok func(*rwCaller) bool) *rwCaller {
	var fit []*rwCaller
	for _, c := range p.callers {
		if ok(c) {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return fit[p.w.IntN(len(fit))]
}

func (p *rwProcess) unlock(c *rwCaller) {
	c.unlocked = true
	c.expected = true
	p.step(fmt.Sprintf("hears that %v unlocks", c), func(fx *Effects) { p.rw.Unlock(p.w.now, &c.hold, rwAck{c}, fx) })
}

func (p *rwProcess) extend(c *rwCaller) {
	lease := time.Duration(100+p.w.IntN(5000)) * time.Millisecond
	p.step(fmt.Sprintf("%v extends by %v", c, lease), func(fx *Effects) { p.rw.Extend(p.w.now, &c.hold, lease, rwAck{&rwCaller{p: p}}, fx) })
}

// force is a ForceUnlock of an owner that stands in Redis now.
func (p *rwProcess) force() {
	var owners []string
	for _, field := range p.w.redis.do("HKEYS", stock).Array {
		if field.Str != "mode" {
			owners = append(owners, field.Str)
		}
	}
	if len(owners) == 0 {
		return
	}
	slices.Sort(owners)
	var id uint64
	for n := uint64(1); n <= p.cfg.LastID; n++ {
		if ownerOf(p.uuid, n) == strings.TrimSuffix(owners[0], WriterSuffix) {
			id = n
		}
	}
	forced := &rwCaller{p: p, expected: true, answered: true}
	p.callers = append(p.callers, forced)
	p.step("forces "+owners[0], func(fx *Effects) { p.rw.Force(p.w.now, owners[0], id, rwAck{forced}, fx) })
}

// carry moves the command in flight: it leaves, runs, and is answered, or something goes wrong.
func (p *rwProcess) carry(mishaps bool) {
	f := p.flight
	if !f.left {
		f.left, f.written = true, p.w.redis.write(&f.Command, p.encoder, p.w.now)
	}
	luck := p.w.IntN(100)
	switch {
	case mishaps && luck < 4:
		p.flight.Result = NotSent
		p.back(f)
	case mishaps && luck < 10: // the link breaks; it ran, or may run yet
		if !f.ran {
			p.late = append(p.late, &rwInFlight{Command: f.Command, written: f.written})
		}
		p.cfg.Epoch++
		f.Result = Unknown
		p.back(f)
	case mishaps && luck < 12:
		f.Reply, f.Result = faultReply(1), Answered
		if f.ran {
			f.Result = Unknown
		}
		p.back(f)
	case !f.ran:
		p.encoder.Decode(&f.Command, p.w.redis.run(f.written))
		f.ran = true
		p.w.note("  redis: %v %d for %s: %d", f.Op, f.ID, p.uuid, f.Reply)
		p.w.check()
	default:
		f.Result = Answered
		if mishaps && luck > 90 {
			f.Unreplicated()
		}
		p.back(f)
	}
}

// relied is until when callers may rely on what they have, in sum: it grows by grants and renewals.
func (p *rwProcess) relied() (sum Time) {
	for _, c := range p.callers {
		if c.holds() {
			sum += c.hold.Deadline()
		}
	}
	return sum
}

func (p *rwProcess) back(f *rwInFlight) {
	c := f.Command
	if !c.ran() {
		c.Reply = 0
	}
	p.flight = nil
	p.seen.back(&c)
	relied := p.relied()
	p.step(fmt.Sprintf("hears of its %v %d: %s %d", c.Op, c.ID, resultNames[c.Result], c.Reply), func(fx *Effects) { p.rw.Answer(p.w.now, &c, fx) })
	if c.Result == UnderReplicated && p.relied() > relied {
		p.w.broken("replicas-acknowledge: somebody of %s relies on what too few replicas have", p.uuid)
	}
}

// runLate is a lost command arriving after all.
func (p *rwProcess) runLate() {
	l := p.late[0]
	p.late = p.late[1:]
	reply := p.w.redis.run(l.written)
	p.w.note("  redis, late: %v %d for %s: %d", l.Op, l.ID, p.uuid, reply)
	p.w.check()
}

// hear implements hearer.
func (p *rwProcess) hear(string, string) { p.messages++ }

func (p *rwProcess) listen() {
	if len(p.wishes) > 0 {
		on := p.wishes[0]
		p.wishes = p.wishes[1:]
		p.w.redis.unsubscribe(scripts.RWChannel(stock), p)
		if p.listens = on; on {
			p.w.redis.subscribe(scripts.RWChannel(stock), p)
			p.step("listens", func(fx *Effects) { p.rw.Subscribed(p.w.now, "", "", fx) })
		}
		return
	}
	if p.messages > 0 {
		p.messages--
		if p.listens {
			p.step("hears a message", func(fx *Effects) { p.rw.Message(p.w.now, oneMessage, fx) })
		}
	}
}
