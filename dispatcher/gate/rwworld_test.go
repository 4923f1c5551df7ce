package gate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
	"github.com/wheellock/wheellock/wheel"
)

// rwWorld is one Redis, processes and Redisson's clients that contend for one read-write lock, in simulated time.
type rwWorld struct {
	*rand.Rand
	t     *testing.T
	now   time.Duration
	redis *redis
	procs []*rwProcess
	java  []*redissonRW
	diary strings.Builder
	lossy bool // the key vanishes at times
}

func newRWWorld(t *testing.T, seed uint64) *rwWorld {
	w := &rwWorld{Rand: rand.New(rand.NewPCG(seed, 7)), t: t, now: time.Hour}
	w.redis = newRedis(&w.now)
	for _, uuid := range []string{"a", "b"} {
		p := &rwProcess{w: w, uuid: uuid, encoder: NewEncoder(uuid, 0), cfg: &Config{
			Lease: time.Second, HandoffTime: 10 * time.Millisecond, PollCap: 2 * time.Second, Stats: &Stats{},
			Waits: wheel.NewSlots[*Waiter](64, nil),
		}}
		p.entry = NewEntry("stock:7", RWKind, p.cfg)
		p.rw = p.entry.Machine.(*Lock)
		w.procs = append(w.procs, p)
	}
	w.java = []*redissonRW{{redis: w.redis, owner: "j:1"}, {redis: w.redis, owner: "j:2"}}
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

// check is exclusion, that Redis knows of every living hold, and that nobody is forgotten.
func (w *rwWorld) check() {
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
		if differ := p.seen.compare(p.cfg.Stats, false, false); differ != "" {
			w.broken("%s: %s", p.uuid, differ)
		}
		if asked := early(p.rw, w.now, &Effects{}); asked != nil {
			w.broken("%s: woken before its alarm, it asks for %v", p.uuid, asked)
		}
		if p.rw.Waiting() > 0 && p.flight == nil && p.rw.NextAlarm() == Never {
			w.broken("%s: somebody waits and nothing will ever happen", p.uuid)
		}
	}
	for i, c := range all {
		w.checkHold(c)
		for _, other := range all[:i] {
			mine := c.p == other.p && c.hold.owner() != 0 && c.hold.owner() == other.hold.owner()
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
		w.broken("%v holds under %s, but Redis has %v", c, id, w.redis.do("HGETALL", stock))
	}
	if reads && w.redis.do("EXISTS", scripts.HoldKey(stock, id)).Int == 0 {
		w.broken("the hold key of %s is gone", id)
	}
	for _, j := range w.java {
		if j.until > w.now && (c.write || j.write) {
			w.broken("%v beside Redisson's %s", c, j.owner)
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
			p.step(fmt.Sprintf("abandons %v", c), func(fx *Effects) { p.rw.EndWait(w.now, c.waiter, GaveUp, fx) })
		}
	case n < 27:
		if c := p.pick(func(c *rwCaller) bool { return !c.answered && !c.gone }); c != nil {
			p.step(fmt.Sprintf("gives up %v", c), func(fx *Effects) { p.rw.EndWait(w.now, c.waiter, TimedOut, fx) })
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
		p.listen()
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
	case n < 91 && w.lossy && w.IntN(2) == 0:
		p.force()
	case n < 91 && w.lossy:
		w.note("the lock vanishes")
		w.redis.do("DEL", stock)
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
		j.take(w.IntN(2) == 0, time.Duration(500+w.IntN(500))*time.Millisecond)
	case 1:
		j.renew(time.Second)
	default:
		j.free()
	}
	w.note("redisson: %s until %v; %v", j.owner, j.until, w.redis.do("HGETALL", stock))
	w.check()
}

// settle lets everything go well from here on and everybody unlock; then nothing may be left.
func (w *rwWorld) settle() {
	for _, j := range w.java {
		j.free()
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
				p.listen()
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
			case c.expected && c.acks != 1:
				w.broken("the Unlock of %v was acknowledged %d times", c, c.acks)
			}
		}
		if !p.rw.Idle() || len(p.rw.contest.rw.owners) > 0 || p.cfg.Stats.Held.Load() != 0 {
			w.broken("%s is left with leases in phase %d, %d owners, %d holds", p.uuid, p.rw.lease.phase+p.rw.contest.rw.second.phase, len(p.rw.contest.rw.owners), p.cfg.Stats.Held.Load())
		}
	}
	if keys, listeners := w.redis.left(), w.redis.listeners[scripts.RWChannel(stock)]; len(keys)+len(listeners) > 0 {
		w.broken("left in Redis: %q, %d listeners", keys, len(listeners))
	}
}
