package gate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redismodel"
	"github.com/wheellock/wheellock/scripts"
	"github.com/wheellock/wheellock/wheel"
)

// A contest serves the next contested name when nothing is left in it.
func TestAContestIsUsedAgain(t *testing.T) {
	l := NewEntry("stock", MutexKind, &Config{}).Machine.(*Lock)
	c := l.ownContest()
	if l.putIdleContest(); l.contest != &noContest || l.ownContest() != c {
		t.Error("the next contested name has another contest")
	}
}

// rivalry is engines of ours whose callers fight for one name with clients that are not ours, on the real scripts, in simulated time. Everybody
// asks again right after it has unlocked. Looked at is who gets the name how often: every rule is judged by the explorer.
type rivalry struct {
	*testing.T
	*redismodel.Server
	now       time.Duration
	kind      Kind
	rand      *rand.Rand
	plans     []event // what is going to happen, in order of time
	hold      time.Duration
	engines   []*process
	listeners map[string][]listener // by channel
	inside    int                   // engines that have the name
	last      time.Duration         // when somebody outside got in, or began to be here
	drawn     time.Duration         // the longest time without that
}

type event struct {
	at time.Duration
	do func()
}

// listener hears the messages of a channel.
type listener interface{ hear(channel, message string) }

// Encoder is a wire.Encoder. That package imports this one, so wire_test.go, of package gate_test, sets NewEncoder.
type Encoder interface {
	Learn(serverMillis int64, at Time)
	Encode(c *Command, lineless bool, sent Time) (text string, keys, args []string)
	Decode(c *Command, answer int64)
}

// NewEncoder makes the encoder of an engine.
var NewEncoder func(uuid string, fairWaiterLease time.Duration) Encoder

const (
	stock     = "stock:7"
	roundTrip = 300 * time.Microsecond // how long a command and its answer take at most
	// serverEpoch is the server's clock when a contest begins, in ms.
	serverEpoch = 1_700_000_000_000
)

// interpreters have compiled the scripts. Each runs one script at a time; some, so that parallel tests need not wait.
var interpreters = [4]*redismodel.Interpreter{redismodel.NewInterpreter(), redismodel.NewInterpreter(), redismodel.NewInterpreter(), redismodel.NewInterpreter()}

var lastInterpreter atomic.Uint32

func newContest(t *testing.T, seed uint64, kind Kind, hold time.Duration) *rivalry {
	in := interpreters[lastInterpreter.Add(1)%uint32(len(interpreters))]
	c := &rivalry{T: t, Server: redismodel.New(in), kind: kind, rand: rand.New(rand.NewPCG(seed, 3)), hold: hold, listeners: make(map[string][]listener)}
	c.Subscribers = func(channel string, _ bool) int { return len(c.listeners[channel]) }
	c.Publish = func(channel, message string, _ bool) {
		for _, l := range c.listeners[channel] {
			l.hear(channel, message)
		}
	}
	return c
}

// after plans what happens in a while; what was planned first comes first at the same time.
func (c *rivalry) after(d time.Duration, do func()) {
	at := len(c.plans)
	for at > 0 && c.plans[at-1].at > c.now+d {
		at--
	}
	c.plans = slices.Insert(c.plans, at, event{c.now + d, do})
}

func (c *rivalry) upTo(d time.Duration) time.Duration {
	return time.Duration(c.rand.Int64N(int64(d) + 1))
}

// trip is how long something takes one way.
func (c *rivalry) trip() time.Duration { return roundTrip/4 + c.upTo(roundTrip/4) }

// run plays for so long.
func (c *rivalry) run(d time.Duration) {
	for ends := c.now + d; c.now < ends; {
		next, woken := event{at: ends, do: func() {}}, false
		if len(c.plans) > 0 && c.plans[0].at < ends {
			next = c.plans[0]
		}
		for _, p := range c.engines {
			if p.wakes < next.at {
				next, woken = event{p.wakes, p.wake}, true
			}
		}
		if !woken && next.at < ends {
			c.plans = slices.Delete(c.plans, 0, 1)
		}
		c.now = max(c.now, next.at)
		c.Micros = serverEpoch*1000 + c.now.Microseconds()
		next.do()
	}
}

// begin forgets what has been counted so far.
func (c *rivalry) begin(all ...*stranger) {
	c.drawn, c.last = 0, c.now
	for _, p := range c.engines {
		p.grants = 0
	}
	for _, s := range all {
		s.grants, s.longest = 0, 0
	}
}

// process is an engine's loop as far as the machine of the name can tell.
type process struct {
	*rivalry
	cfg     *Config
	entry   *Entry
	encoder Encoder
	heard   map[string]bool // the channels that the machine wants to hear
	wakes   time.Duration   // when the machine wants to be woken
	grants  int
}

// engine is a process with so many callers.
func (c *rivalry) engine(uuid string, callers int) *process {
	p := &process{rivalry: c, heard: make(map[string]bool), wakes: Never, cfg: &Config{
		UUID: uuid, LeaseTime: 30 * time.Second, HandoffTime: 10 * time.Millisecond, PollCap: 2 * time.Second, RTT: roundTrip,
		Waits: wheel.NewSlots[*Waiter](64, nil), Stats: &Stats{}, Codes: plainCodes{}, Doubts: c.kind != SimpleKind,
	}}
	p.entry, p.encoder = NewEntry(stock, c.kind, p.cfg), NewEncoder(uuid, time.Second)
	c.engines = append(c.engines, p)
	for range callers {
		c.after(c.upTo(time.Millisecond), (&caller{process: p}).ask)
	}
	return p
}

// clock is the process's own.
func (p *process) clock() Time { return time.Hour + p.now }

// step makes an event happen, and plans what follows from it.
func (p *process) step(event func(m Machine, fx *Effects)) {
	var fx Effects
	event(p.entry.Machine, &fx)
	for _, commands := range fx.Commands {
		for _, command := range commands {
			p.send(command)
		}
	}
	for _, s := range fx.Subscriptions {
		p.heard[s.Channel] = s.On
		p.after(p.trip(), func() { p.subscribe(s.Channel, s.On) })
	}
	if p.entry.Machine.Idle() {
		p.entry.Reuse(stock, p.cfg)
	}
	p.wakes = p.entry.Machine.NextAlarm() - time.Hour
}

func (p *process) wake() { p.step(func(m Machine, fx *Effects) { m.Wake(p.clock(), fx) }) }

// send has a command leave now, run in Redis a while later, and its answer come in.
func (p *process) send(c Command) {
	c.Sent = p.clock()
	p.encoder.Learn(serverEpoch+p.now.Milliseconds(), c.Sent)
	text, keys, args := p.encoder.Encode(&c, false, c.Sent)
	keys, args = slices.Clone(keys), slices.Clone(args)
	there := p.trip()
	p.after(there, func() { p.encoder.Decode(&c, p.Eval(text, keys, args).Int) })
	p.after(there+p.trip(), func() { p.step(func(m Machine, fx *Effects) { m.Answer(p.clock(), &c, fx) }) })
}

func (p *process) subscribe(channel string, on bool) {
	p.listeners[channel] = slices.DeleteFunc(p.listeners[channel], func(l listener) bool { return l == p })
	if on {
		p.listeners[channel] = append(p.listeners[channel], p)
		p.step(func(m Machine, fx *Effects) { m.Subscribed(p.clock(), channel, "", fx) })
	}
}

// hear implements listener: a message comes to the machine a while later.
func (p *process) hear(channel, message string) {
	p.after(p.trip(), func() {
		if p.heard[channel] {
			news := News{Channel: channel}
			number, _ := strconv.ParseInt(message, 10, 64)
			news.Add(number)
			p.step(func(m Machine, fx *Effects) { m.Message(p.clock(), news, fx) })
		}
	})
}

// caller keeps the name for a while when it gets it, and then wants it again.
type caller struct {
	*process
	waiter Waiter
	of     Hold
}

func (c *caller) ask() {
	c.of = Hold{By: c, Entry: c.entry}
	c.waiter = Waiter{By: c, Hold: &c.of, LeaseTime: c.cfg.LeaseTime, Watch: true, Entry: c.entry}
	c.step(func(m Machine, fx *Effects) { m.Ask(c.clock(), &c.waiter, fx) })
}

// Settle implements Settler.
func (c *caller) Settle(out Outcome) bool {
	if c.inside++; out.Why != Granted || c.inside != 1 {
		c.Fatalf("a caller is told %s, and %d have the name", whyNames[out.Why], c.inside)
	}
	c.grants++
	c.after(c.rivalry.hold+time.Microsecond, func() {
		c.inside--
		c.step(func(m Machine, fx *Effects) { m.Unlock(c.clock(), &c.of, nil, fx) })
		c.after(10*time.Microsecond, c.ask)
	})
	return true
}

// End implements Ender.
func (c *caller) End(why Why) { c.Fatalf("a hold has ended: %s", whyNames[why]) }

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

// takes tries to take the name: as SET NX PX does, or as Redisson's tryLock.
func (s *stranger) takes() bool {
	if s.kind == SimpleKind {
		return s.Do("SET", stock, s.owner, "PX", "30000", "NX").Kind != redismodel.Nil
	}
	if s.Do("EXISTS", stock).Int == 1 {
		return false
	}
	s.Do("HSET", stock, s.owner, "1")
	s.Do("PEXPIRE", stock, "30000")
	return true
}

// ask is its question arriving in Redis.
func (s *stranger) ask() {
	if !s.takes() {
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
		if s.Do("DEL", stock); s.kind != SimpleKind {
			s.Do("PUBLISH", scripts.LockChannel(stock), "0")
		}
		s.after(2*s.trip()+s.upTo(s.think), s.want)
	})
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
	channel := scripts.LockChannel(stock)
	c.listeners[channel] = append(c.listeners[channel], r)
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
