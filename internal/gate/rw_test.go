package gate

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/wheel"
)

var rwSeeds = flag.Int("rwseeds", 300, "how many seeds TestRWReplay replays")

var rwSeed = flag.Uint64("rwseed", 0, "replay one seed of TestRWReplay, and tell what happened")

// rwWorld is one Redis, processes and Redisson's clients that contend for one read-write lock, in simulated time.
type rwWorld struct {
	*rand.Rand
	t     *testing.T
	now   time.Duration
	redis *rwRedis
	procs []*rwProcess
	java  []*java
	diary strings.Builder
	lossy bool // the key vanishes at times
}

// rwProcess is one engine's loop.
type rwProcess struct {
	w        *rwWorld
	uuid     string
	cfg      *Config
	cell     *Cell
	rw       *RW
	flight   *rwParcel
	late     []*rwParcel // lost, and may run yet
	wishes   []bool
	listens  bool
	messages int
	callers  []*rwCaller
	closed   bool
}

type rwParcel struct {
	Command
	left     bool
	ran      bool
	notAfter time.Duration
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
	owed     bool
}

func (c *rwCaller) String() string {
	return fmt.Sprintf("%s%d(write %t, owner %d)", c.p.uuid, c.n, c.write, c.hold.owner)
}

func (c *rwCaller) Settle(out Outcome) bool {
	c.p.w.note("  tells %v: %s, accepted %t", c, whyNames[out.Why], !c.gone && !c.answered)
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

func newRWWorld(t *testing.T, seed uint64) *rwWorld {
	w := &rwWorld{Rand: rand.New(rand.NewPCG(seed, 7)), t: t, now: time.Hour}
	w.redis = &rwRedis{w: w, holds: make(map[string]time.Duration)}
	for _, uuid := range []string{"a", "b"} {
		p := &rwProcess{w: w, uuid: uuid, cfg: &Config{
			Lease: time.Second, HandoffTime: 10 * time.Millisecond, PollCap: 2 * time.Second, Stats: &Stats{},
			Waits: wheel.NewSlots[*Waiter](64, nil),
		}}
		p.cell = NewCell("stock:7", RWKind, p.cfg)
		p.rw = p.cell.Machine.(*RW)
		w.procs = append(w.procs, p)
	}
	w.java = []*java{{owner: "j:1"}, {owner: "j:2"}}
	return w
}

func (w *rwWorld) note(format string, args ...any) {
	fmt.Fprintf(&w.diary, "%v "+format+"\n", append([]any{w.now}, args...)...)
}

func (w *rwWorld) broken(format string, args ...any) {
	w.t.Helper()
	text := w.diary.String()
	w.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), text[max(0, len(text)-6000):])
}

// step is one event for a machine.
func (p *rwProcess) step(what string, event func(fx *Effects)) {
	p.w.note("%s %s", p.uuid, what)
	var fx Effects
	event(&fx)
	for _, commands := range fx.Commands {
		for _, c := range commands {
			p.w.note("%s   asks for %v %d lease %v n %d %s", p.uuid, c.Op, c.ID, c.Lease, c.N, c.Owner)
			if p.flight != nil {
				p.w.broken("%s: two commands in flight", p.uuid)
			}
			p.checkRelease(&c)
			p.flight = &rwParcel{Command: c}
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
		if (c.Op == ReleaseRead || c.Op == ReleaseWrite) && c.ID != 0 && holder.hold.Tenure == c.ID && holder.holds() && holder.hold.write == (c.Op == ReleaseWrite) {
			p.w.broken("the release of %d was asked for while %v holds", c.ID, holder)
		}
	}
}

// check is exclusion, that Redis knows of every living hold, and that nobody is forgotten.
func (w *rwWorld) check() {
	w.redis.settle()
	var all []*rwCaller
	for _, p := range w.procs {
		for _, c := range p.callers {
			if c.holds() {
				all = append(all, c)
			}
			if !c.answered && !c.gone && !p.knows(c) {
				w.broken("%v was forgotten", c)
			}
		}
		if (p.flight != nil) != (p.rw.flight != None) {
			w.broken("%s: flight is %v", p.uuid, p.rw.flight)
		}
		if p.rw.Waiting() > 0 && p.flight == nil && p.rw.NextAlarm() == Never {
			w.broken("%s: somebody waits and nothing will ever happen", p.uuid)
		}
	}
	for i, c := range all {
		w.checkHold(c)
		for _, other := range all[:i] {
			mine := c.p == other.p && c.hold.owner != 0 && c.hold.owner == other.hold.owner
			if (c.write || other.write) && !mine && !w.lossy {
				w.broken("%v beside %v", c, other)
			}
		}
	}
}

func (w *rwWorld) checkHold(c *rwCaller) {
	if w.lossy {
		return
	}
	id := ownerOf(c.p.uuid, c.hold.Tenure)
	writes, reads := w.redis.has(id+WriterSuffix), w.redis.has(id)
	if !writes && (c.write || !reads) {
		w.broken("%v holds under %s, but Redis has %v", c, id, w.redis.fields)
	}
	if reads && w.redis.holds[id] == 0 {
		w.broken("the hold key of %s is gone", id)
	}
	for _, j := range w.java {
		if j.until > w.now && (c.write || j.write) {
			w.broken("%v beside Redisson's %+v", c, *j)
		}
	}
}

func (p *rwProcess) knows(c *rwCaller) bool {
	known := c.waiter.queued
	for _, g := range p.rw.grips {
		known = known || slices.ContainsFunc(g.growing, func(g growth) bool { return g.w == c.waiter })
	}
	return known
}

func (p *rwProcess) ask() {
	w := p.w
	c := &rwCaller{p: p, n: len(p.callers) + 1, write: w.IntN(3) == 0}
	c.hold.By = c
	c.waiter = &Waiter{By: c, Hold: &c.hold, Write: c.write, Lease: time.Second, Watch: true, Try: w.IntN(5) == 0, Cell: p.cell}
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
	c.owed = true
	p.step(fmt.Sprintf("hears that %v unlocks", c), func(fx *Effects) { p.rw.Unlock(p.w.now, &c.hold, rwAck{c}, fx) })
}

func (p *rwProcess) extend(c *rwCaller) {
	lease := time.Duration(100+p.w.IntN(5000)) * time.Millisecond
	p.step(fmt.Sprintf("%v extends by %v", c, lease), func(fx *Effects) { p.rw.Extend(p.w.now, &c.hold, lease, rwAck{&rwCaller{p: p}}, fx) })
}

// carry moves the command in flight: it leaves, runs, and is answered, or something goes wrong.
func (p *rwProcess) carry(mishaps bool) {
	f := p.flight
	if !f.left {
		f.left, f.Sent, f.notAfter = true, p.w.now, p.w.now+LateWindow
	}
	luck := p.w.IntN(100)
	switch {
	case mishaps && luck < 4:
		p.flight.Result = NotSent
		p.back(f)
	case mishaps && luck < 10: // the link breaks; it ran, or may run yet
		if !f.ran {
			p.late = append(p.late, &rwParcel{Command: f.Command, notAfter: f.notAfter})
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
		f.Reply, f.ran = p.w.redis.run(&f.Command, p.uuid, f.notAfter), true
		p.w.note("  redis: %v %d for %s: %d", f.Op, f.ID, p.uuid, f.Reply)
		p.w.check()
	default:
		f.Result = Answered
		p.back(f)
	}
}

func (p *rwProcess) back(f *rwParcel) {
	c := f.Command
	if c.Result != Answered {
		c.Reply = 0
	}
	p.flight = nil
	p.step(fmt.Sprintf("hears of its %v %d: %s %d", c.Op, c.ID, resultNames[c.Result], c.Reply), func(fx *Effects) { p.rw.Answer(p.w.now, &c, fx) })
}

// runLate is a lost command arriving after all.
func (p *rwProcess) runLate() {
	l := p.late[0]
	p.late = p.late[1:]
	reply := p.w.redis.run(&l.Command, p.uuid, l.notAfter)
	p.w.note("  redis, late: %v %d for %s: %d", l.Op, l.ID, p.uuid, reply)
	p.w.check()
}

func (p *rwProcess) hear() {
	if len(p.wishes) > 0 {
		on := p.wishes[0]
		p.wishes = p.wishes[1:]
		p.w.redis.ears = slices.DeleteFunc(p.w.redis.ears, func(other *rwProcess) bool { return other == p })
		if p.listens = on; on {
			p.w.redis.ears = append(p.w.redis.ears, p)
			p.step("listens", func(fx *Effects) { p.rw.Subscribed(p.w.now, "", fx) })
		}
		return
	}
	if p.messages > 0 {
		p.messages--
		if p.listens {
			p.step("hears a message", func(fx *Effects) { p.rw.Message(p.w.now, fx) })
		}
	}
}

// pass lets time go by, waking everybody on time.
func (w *rwWorld) pass(d time.Duration) {
	for end := w.now + d; ; {
		at := end
		for _, p := range w.procs {
			at = min(at, p.rw.NextAlarm())
		}
		w.now = max(w.now, at)
		w.check()
		for _, p := range w.procs {
			if p.rw.NextAlarm() <= w.now {
				p.step("is woken", func(fx *Effects) { p.rw.Wake(w.now, fx) })
				if at := p.rw.NextAlarm(); at <= w.now {
					w.broken("%s: an alarm that was due at %v is still due after Wake", p.uuid, at)
				}
			}
		}
		if w.now >= end {
			return
		}
	}
}

// turn is one thing that happens, as the seed says.
func (w *rwWorld) turn(mishaps bool) {
	p := w.procs[w.IntN(len(w.procs))]
	switch n := w.IntN(100); {
	case n < 18 && !p.closed:
		p.ask()
	case n < 24:
		if c := p.pick(func(c *rwCaller) bool { return !c.answered && !c.gone }); c != nil {
			c.gone = true
			p.step(fmt.Sprintf("abandons %v", c), func(fx *Effects) { p.rw.Abandon(w.now, c.waiter, fx) })
		}
	case n < 27:
		if c := p.pick(func(c *rwCaller) bool { return !c.answered && !c.gone }); c != nil {
			p.step(fmt.Sprintf("gives up %v", c), func(fx *Effects) { p.rw.Timeout(w.now, c.waiter, fx) })
		}
	case n < 42:
		if c := p.pick((*rwCaller).holds); c != nil {
			p.unlock(c)
		}
	case n < 44:
		if c := p.pick(func(c *rwCaller) bool { return c.holds() && !c.hold.watch }); c != nil {
			p.extend(c)
		}
	case n < 70:
		if p.flight != nil {
			p.carry(mishaps)
		}
	case n < 80:
		p.hear()
	case n < 83:
		if len(p.late) > 0 {
			p.runLate()
		}
	case n < 88:
		w.javaTurn()
	case n < 89 && mishaps:
		p.step("link is up", func(fx *Effects) { p.rw.LinkUp(w.now, fx) })
	case n < 90:
		p.step("suspects", func(fx *Effects) { p.rw.Suspect(w.now, fx) })
	case n < 91 && w.lossy:
		w.note("the lock vanishes")
		w.redis.clear()
	case n < 98:
		w.pass(time.Duration(w.IntN(5000)) * time.Microsecond)
	default:
		w.pass(time.Duration(w.IntN(1500)) * time.Millisecond)
	}
}

func (w *rwWorld) javaTurn() {
	j := w.java[w.IntN(len(w.java))]
	switch w.IntN(4) {
	case 0:
		w.redis.take(j, w.IntN(2) == 0, time.Duration(500+w.IntN(500))*time.Millisecond) // not above the watchdog's, which Redisson's own renewals would lower
	case 1:
		w.redis.renew(j, time.Second)
	default:
		w.redis.free(j)
	}
	w.note("redisson: %+v; %s %v", *j, w.redis.mode, w.redis.fields)
	w.check()
}

// calm lets everything go well from here on and everybody unlock; then nothing may be left.
func (w *rwWorld) calm() {
	for _, j := range w.java {
		w.redis.free(j)
	}
	for range 4000 {
		busy := false
		for _, p := range w.procs {
			for len(p.late) > 0 {
				p.runLate()
			}
			switch c := p.pick((*rwCaller).holds); {
			case p.flight != nil:
				p.carry(false)
			case len(p.wishes) > 0 || p.messages > 0:
				p.hear()
			case c != nil:
				p.unlock(c)
			default:
				continue
			}
			busy = true
		}
		if !busy {
			w.pass(500 * time.Millisecond)
		}
	}
	for _, p := range w.procs {
		for _, c := range p.callers {
			switch {
			case !c.answered && !c.gone:
				w.broken("%v was never answered", c)
			case c.owed && c.acks != 1:
				w.broken("the Unlock of %v was acknowledged %d times", c, c.acks)
			}
		}
		if !p.rw.Idle() || len(p.rw.owners) > 0 || p.cfg.Stats.Held.Load() != 0 {
			w.broken("%s is left with %d tenures, %d owners, %d holds", p.uuid, len(p.rw.grips), len(p.rw.owners), p.cfg.Stats.Held.Load())
		}
	}
	if w.redis.mode != "" || len(w.redis.ears) > 0 {
		w.broken("left in Redis: %s %v, %d ears", w.redis.mode, w.redis.fields, len(w.redis.ears))
	}
}

// Any order of requests, answers, losses, messages and time leaves readers and writers apart, nobody forgotten and
// nothing behind.
func TestRWReplay(t *testing.T) {
	t.Parallel()
	replay := func(seed uint64) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newRWWorld(t, seed)
			w.lossy = seed%8 == 7
			for range 400 {
				w.turn(seed%2 == 0)
			}
			if seed%5 == 4 {
				for _, p := range w.procs {
					p.closed = true
					p.step("closes", func(fx *Effects) { p.rw.Close(w.now, fx) })
					p.wishes, p.listens = nil, false // its connection closes with the engine
					w.redis.ears = slices.DeleteFunc(w.redis.ears, func(other *rwProcess) bool { return other == p })
				}
			}
			w.calm()
			if *rwSeed != 0 {
				t.Log(w.diary.String())
			}
		})
	}
	if *rwSeed != 0 {
		replay(*rwSeed)
		return
	}
	for seed := uint64(1); seed <= uint64(*rwSeeds); seed++ {
		replay(seed)
	}
}
