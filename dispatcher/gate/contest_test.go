package gate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// rivalry is engines of ours whose callers fight for one name with clients that are not ours, in simulated time. Everybody
// asks again right after it has unlocked.
type rivalry struct {
	*world
	rand  *rand.Rand
	lines timeline
	hold  time.Duration              // how long everybody keeps the name
	wakes map[*process]time.Duration // when the next alarm is planned for
	sent  map[*inFlightCommand]bool
	mail  map[*process]int // messages planned to be heard
	asked map[*process]int // subscriptions planned to be made
	ours  map[*process]int // grants
	last  time.Duration    // when somebody outside got in, or began to be here
	drawn time.Duration    // the longest time without that
}

// A contest serves the next contested name when nothing is left in it.
func TestAContestIsUsedAgain(t *testing.T) {
	l := NewEntry("stock", MutexKind, &Config{}).Machine.(*Lock)
	c := l.ownContest()
	if l.putIdleContest(); l.contest != &noContest || l.ownContest() != c {
		t.Error("the next contested name has another contest")
	}
}

// roundTrip is how long a command and its answer take at most.
const roundTrip = 300 * time.Microsecond

func newContest(t *testing.T, seed uint64, kind Kind, hold time.Duration) *rivalry {
	c := &rivalry{
		world: newWorld(t), rand: rand.New(rand.NewPCG(seed, 3)), hold: hold,
		wakes: make(map[*process]time.Duration), sent: make(map[*inFlightCommand]bool), ours: make(map[*process]int),
		mail: make(map[*process]int), asked: make(map[*process]int),
	}
	c.kind, c.silent, c.last = kind, true, c.now
	return c
}

// engine is a process with so many callers.
func (c *rivalry) engine(uuid string, callers int) *process {
	p := c.newProcess(uuid)
	p.cfg.LeaseTime, p.cfg.RTT = 30*time.Second, roundTrip
	p.cfg.Doubts = !c.redis.simple
	c.wakes[p] = Never
	for range callers {
		c.after(c.upTo(time.Millisecond), func() { p.lock() })
	}
	return p
}

func (c *rivalry) after(d time.Duration, do func()) { c.lines.plan(c.now+d, do) }

func (c *rivalry) upTo(d time.Duration) time.Duration {
	return time.Duration(c.rand.Int64N(int64(d) + 1))
}

// trip is how long something takes one way.
func (c *rivalry) trip() time.Duration { return roundTrip/4 + c.upTo(roundTrip/4) }

// run plays for so long.
func (c *rivalry) run(d time.Duration) {
	ends := c.now + d
	for {
		for _, p := range c.procs {
			c.serve(p)
		}
		e, _ := c.lines.next() // somebody always wants the name
		if e.at >= ends {
			c.lines.plan(e.at, e.do) // for the next run
			c.passTo(ends)
			return
		}
		c.passTo(max(e.at, c.now))
		e.do()
	}
}

// serve plans what follows from what a process has just asked for.
func (c *rivalry) serve(p *process) {
	for _, caller := range c.granted {
		c.use(caller)
	}
	c.granted = c.granted[:0]
	for _, command := range p.outbox {
		if !c.sent[command] {
			c.sent[command] = true
			command.send()
			there := c.trip()
			c.after(there, command.run)
			c.after(there+c.trip(), func() { delete(c.sent, command); command.answer() })
		}
	}
	for ; c.mail[p] < len(p.messages); c.mail[p]++ {
		c.after(c.trip(), func() { c.mail[p]--; p.listen() })
	}
	for ; c.asked[p] < len(p.wishes); c.asked[p]++ {
		c.after(c.trip(), func() { c.asked[p]--; p.subscribe() })
	}
	at := Never
	for _, entry := range p.entries {
		at = min(at, p.real(entry.Machine.NextAlarm()))
	}
	if at != Never && at != c.wakes[p] {
		c.wakes[p] = at
		c.after(max(at-c.now, 0), func() { c.wakes[p] = Never; p.ring() })
	}
}

// use is a caller of ours that keeps its hold for a while and then wants the next.
func (c *rivalry) use(holder *caller) {
	p := holder.from
	c.ours[p]++
	c.after(c.hold+time.Microsecond, func() {
		holder.unlock()
		p.callers = slices.DeleteFunc(p.callers, func(c *caller) bool { return c.unlocked && len(c.released.heard) > 0 })
		c.after(10*time.Microsecond, func() { p.lock() })
	})
}

// stranger is a thread of a client that is not ours.
type stranger struct {
	*rivalry
	owner   string
	think   time.Duration // before it wants the name again, at most
	sleep   func(refusals int) time.Duration
	since   time.Duration // when it began to want the name
	wants   bool
	fails   int
	grants  int
	longest time.Duration // wait
}

func (c *rivalry) stranger(n int, think time.Duration, sleep func(refusals int) time.Duration) *stranger {
	s := &stranger{rivalry: c, owner: fmt.Sprint("java:", n), think: think, sleep: sleep}
	c.after(c.upTo(20*time.Millisecond), s.want)
	return s
}

func (s *stranger) want() {
	s.since, s.fails, s.wants = s.now, 0, true
	s.ask()
}

// ask is its question arriving in Redis.
func (s *stranger) ask() {
	if !s.redis.take(stock, s.owner, 30*time.Second) {
		s.fails++
		if sleep := s.sleep(s.fails); sleep > 0 {
			s.after(sleep+2*s.trip(), s.ask)
		}
		return
	}
	s.wants = false
	s.grants++
	s.longest = max(s.longest, s.now-s.since)
	s.drawn, s.last = max(s.drawn, s.now-s.last), s.now
	s.after(s.hold+2*s.trip(), func() {
		s.redis.free(stock, s.owner)
		s.after(2*s.trip()+s.upTo(s.think), s.want)
	})
}

// begin forgets what has been counted so far.
func (c *rivalry) begin(all ...*stranger) {
	clear(c.ours)
	c.drawn, c.last = 0, c.now
	for _, s := range all {
		s.grants, s.longest = 0, 0
	}
}

// waited is its longest wait, with the one that has not ended.
func (s *stranger) waited() time.Duration {
	if s.wants {
		return max(s.longest, s.now-s.since)
	}
	return s.longest
}

// spinner is a thread in Redisson's RSpinLock: it sleeps 1 ms, then twice as long and a little more each time, up to
// 128 ms.
func (c *rivalry) spinner(n int, think time.Duration) *stranger {
	var next time.Duration
	return c.stranger(n, think, func(refusals int) time.Duration {
		if refusals == 1 {
			next = time.Millisecond
		}
		sleep := next
		if next < 128*time.Millisecond {
			next = min(2*next+time.Duration(c.rand.IntN(refusals))*time.Millisecond, 128*time.Millisecond)
		}
		return sleep + c.upTo(200*time.Microsecond)
	})
}

// redisson is threads in Redisson's RLock: the client listens, and each message wakes one of them.
type redisson struct {
	*rivalry
	threads []*stranger
}

func (c *rivalry) redisson(threads int) *redisson {
	r := &redisson{rivalry: c}
	for n := range threads {
		r.threads = append(r.threads, c.stranger(n, 0, func(int) time.Duration { return 0 }))
	}
	c.redis.subscribe(stockChannel, r)
	return r
}

func (r *redisson) hear(string, string) {
	r.after(time.Millisecond+r.trip(), func() {
		for i, n := 0, r.rand.IntN(len(r.threads)); i < len(r.threads); i++ {
			if s := r.threads[(n+i)%len(r.threads)]; s.wants {
				s.ask()
				return
			}
		}
	})
}
