package gate

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/proto"

	"github.com/wheellock/wheellock/scripts"
	"github.com/wheellock/wheellock/wheel"
)

// fairWorld is a fair lock in simulated time: the real scripts on a Redis in memory, and processes whose
// commands, answers, messages and clocks a seed is free to lose, delay and stop.
type fairWorld struct {
	*testing.T
	rng    *rand.Rand
	now    time.Duration
	redis  *miniredis.Miniredis
	client *proto.Client
	procs  []*fairProcess
	late   []*lateRun
	line   []string // who stands in the queue or has taken the lock from it, in the order of arrival, without faults
	quiet  bool
	diary  strings.Builder
}

// lateRun is a command that a broken connection delivers late.
type lateRun struct {
	at   time.Duration
	run  func()
	what string
}

// fairProcess is one engine's loop.
type fairProcess struct {
	w       *fairWorld
	cfg     *Config
	entry   *Entry
	flying  []Command
	hears   map[string]bool // channels that Redis knows of
	wishes  []SubscriptionChange
	calls   []*fairCaller
	frozen  time.Duration // until when it does not run
	closing bool
	seen    tally
}

// fairCaller is one request and its hold.
type fairCaller struct {
	p      *fairProcess
	waiter Waiter
	hold   Hold
	out    *Outcome
	gone   bool // its caller went away
	over   bool // unlocked, or the machine said that it has ended
}

func (c *fairCaller) Settle(out Outcome) bool {
	c.p.seen.told(out, !c.gone)
	if c.gone {
		return false
	}
	if c.out != nil {
		c.p.w.broken("settled twice")
	}
	c.out = &out
	if out.Why == Granted {
		c.p.w.granted(c)
	}
	return true
}

func (c *fairCaller) End(Why) {
	c.over = true
	c.p.seen.lost++
}

// holds reports whether the caller may believe that it has the lock.
func (c *fairCaller) holds() bool {
	return c.out != nil && c.out.Why == Granted && !c.over && c.p.w.now < c.hold.Deadline()
}

const (
	fairEpoch = 1_700_000_000_000
	fairLife  = 600 * time.Millisecond
)

func newFairWorld(t *testing.T, seed uint64, processes int) *fairWorld {
	w := &fairWorld{T: t, rng: rand.New(rand.NewPCG(seed, 4)), now: time.Second, redis: miniredis.NewMiniRedis()}
	w.redis.SetTime(w.clock())
	w.redis.ClockTTL(true)
	conn, err := w.redis.Dial()
	if err != nil {
		t.Fatal(err)
	}
	w.client = proto.NewClient(conn)
	t.Cleanup(func() { closeAll(conn, w.redis) })
	for i := range processes {
		p := &fairProcess{w: w, hears: make(map[string]bool), cfg: &Config{
			UUID: fmt.Sprintf("p%d", i), Lease: time.Second, PollCap: 2 * time.Second, HandoffTime: 10 * time.Millisecond,
			FairWaiterLease: fairLife, Waits: wheel.NewSlots[*Waiter](1024, nil), Stats: &Stats{},
		}}
		p.entry = NewEntry(stock, FairKind, p.cfg)
		w.procs = append(w.procs, p)
	}
	return w
}

func closeAll(conn net.Conn, redis *miniredis.Miniredis) {
	conn.Close()
	redis.Close()
}

func (w *fairWorld) clock() time.Time { return time.UnixMilli(fairEpoch).Add(w.now) }

func (w *fairWorld) note(format string, args ...any) {
	fmt.Fprintf(&w.diary, "%10v  %s\n", w.now, fmt.Sprintf(format, args...))
}

func (w *fairWorld) broken(format string, args ...any) {
	w.Helper()
	w.Fatalf("%s\n%s", fmt.Sprintf(format, args...), w.diary.String())
}

// do is a command of the world's own.
func (w *fairWorld) do(words ...string) any {
	raw, err := w.client.Do(words...)
	if err != nil {
		w.broken("%v: %v", words, err)
	}
	answer, err := proto.Parse(raw)
	if err != nil {
		w.broken("%v answers %s", words, raw)
	}
	return answer
}

func (w *fairWorld) queue() []string {
	var owners []string
	if list, ok := w.do("LRANGE", scripts.FairQueue(stock), "0", "-1").([]any); ok {
		for _, owner := range list {
			owners = append(owners, owner.(string))
		}
	}
	return owners
}

// granted checks that nobody else has the lock and, without faults, that it was this one's turn.
func (w *fairWorld) granted(c *fairCaller) {
	w.note("%s:%d has the lock", c.p.cfg.UUID, c.hold.Tenure)
	for _, p := range w.procs {
		for _, other := range p.calls {
			if other != c && other.holds() && (other.p != c.p || other.hold.Tenure != c.hold.Tenure) {
				w.broken("%s:%d has the lock, too", p.cfg.UUID, other.hold.Tenure)
			}
		}
	}
	me := ownerOf(c.p.cfg.UUID, c.hold.Tenure)
	if at := slices.Index(w.line, me); at >= 0 {
		if w.quiet && at > 0 {
			w.broken("%s came before it: %q", w.line[0], w.line)
		}
		w.line = slices.Delete(w.line, at, at+1)
	}
}

// arrivals notes who has come into the queue, and forgets who has left it unserved.
func (w *fairWorld) arrivals() {
	queue := w.queue()
	for _, owner := range queue {
		if !slices.Contains(w.line, owner) {
			w.line = append(w.line, owner)
		}
	}
	lock := fmt.Sprint(w.do("HKEYS", stock))
	w.line = slices.DeleteFunc(w.line, func(owner string) bool { return !slices.Contains(queue, owner) && !strings.Contains(lock, owner) })
}

// run is a command in Redis.
func (w *fairWorld) run(p *fairProcess, c *Command) scripts.Reply {
	w.redis.SetTime(w.clock())
	server := func(at time.Duration) string { return strconv.FormatInt(fairEpoch+at.Milliseconds(), 10) }
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	lease, keys := number(c.Lease.Milliseconds()), []string{stock, scripts.FairQueue(stock), scripts.FairDeadlines(stock), scripts.FairAlive(stock), scripts.ClaimsKey(stock)}
	owner := c.Args.Release().Owner
	if c.Op != FairRelease || owner == "" {
		owner = ownerOf(p.cfg.UUID, c.ID)
	}
	var script scripts.Script
	var args []string
	switch c.Op {
	case Renew:
		script, keys, args = scripts.Renew, keys[:1], []string{owner, lease}
	case FairAsk:
		a := c.Args.FairAsk()
		args = []string{server(c.Sent + LateWindow), p.cfg.UUID, number(fairLife.Milliseconds()), "PUBLISH", number(int64(c.ID)), string(a.Place), lease, number(a.Joining), number(int64(a.First)), scripts.LockChannel(stock), number(a.Code)}
		script = scripts.FairAsk
	case FairRelease:
		script, args = scripts.FairRelease, []string{"PUBLISH", p.cfg.UUID, owner, number(int64(c.Args.Release().Successor)), lease, scripts.LockChannel(stock)}
	case FairLeave:
		script, args = scripts.FairLeave, []string{"PUBLISH", p.cfg.UUID, number(c.Args.FairLeave().N), number(int64(c.ID)), scripts.LockChannel(stock)}
	default:
		w.broken("a fair lock asks for %v", c.Op)
	}
	text := strings.Replace(script.Text, "call('PUBLISH', channel, message)", "call('RPUSH', '@published', channel)", 1)
	answer := w.do(slices.Concat([]string{"EVAL", text, strconv.Itoa(len(keys))}, keys, args)...)
	reply, ok := answer.(int)
	if !ok {
		w.broken("%v answers %v", c.Op, answer)
	}
	w.note("%s %v id %d %+v: %d", p.cfg.UUID, c.Op, c.ID, c.Args, reply)
	w.arrivals()
	w.publish()
	return scripts.Reply(reply)
}

// publish brings what was published to who listens; under faults not always.
func (w *fairWorld) publish() {
	channels, _ := w.do("LRANGE", "@published", "0", "-1").([]any)
	w.do("DEL", "@published")
	for _, channel := range channels {
		for _, p := range w.procs {
			if p.hears[channel.(string)] && (w.quiet || w.rng.IntN(4) > 0) {
				w.late = append(w.late, &lateRun{w.now + w.upTo(5*time.Millisecond), func() {
					p.step("hears that it is its turn", func(m Machine, fx *Effects) { m.Message(w.now, oneMessage, fx) })
				}, "message"})
			}
		}
	}
}

// step is one event for a process's machine.
func (p *fairProcess) step(what string, event func(Machine, *Effects)) {
	p.w.note("%s %s", p.cfg.UUID, what)
	var fx Effects
	event(p.entry.Machine, &fx)
	for _, commands := range fx.Commands {
		p.flying = append(p.flying, commands...)
		for _, c := range commands {
			p.seen.sent(&c)
		}
	}
	if len(p.flying) > 1 {
		p.w.broken("one-command-per-name: %d commands in flight", len(p.flying))
	}
	if differ := p.seen.compare(p.cfg.Stats, true, true); differ != "" {
		p.w.broken("%s: %s", p.cfg.UUID, differ)
	}
	p.wishes = append(p.wishes, fx.Subscriptions...)
}

// pass lets time go by: alarms ring, waits end and what is late arrives.
func (w *fairWorld) pass(d time.Duration) {
	for end := w.now + d; w.now < end; {
		w.now = min(end, w.now+time.Millisecond)
		for _, l := range slices.Clone(w.late) {
			if l.at <= w.now {
				w.late = slices.DeleteFunc(w.late, func(other *lateRun) bool { return other == l })
				l.run()
			}
		}
		for _, p := range w.procs {
			if asked := early(p.entry.Machine, w.now, &Effects{}); asked != nil {
				w.broken("%s: woken before its alarm, it asks for %v", p.cfg.UUID, asked)
			}
			if p.frozen <= w.now {
				p.ring()
			}
		}
	}
}

func (p *fairProcess) ring() {
	now := p.w.now
	if p.entry.Machine.NextAlarm() <= now {
		p.step("is woken", func(m Machine, fx *Effects) { m.Wake(now, fx) })
		if at := p.entry.Machine.NextAlarm(); at <= now {
			p.w.broken("an alarm of %v is still due after Wake: the loop would spin", at)
		}
	}
	for w := range p.cfg.Waits.Due(wheel.Floor(now, waitTick)) {
		p.step("gives up a wait", func(m Machine, fx *Effects) { m.Timeout(now, w, fx) })
	}
}

func (p *fairProcess) ask(want wants) {
	c := &fairCaller{p: p}
	c.hold.By, c.hold.Entry = c, p.entry
	c.waiter = Waiter{By: c, Hold: &c.hold, Entry: p.entry, Owner: want.owner, Lease: time.Second, Watch: true, Try: want.try}
	if want.lease != 0 {
		c.waiter.Lease, c.waiter.Watch = want.lease, false
	}
	if want.wait != 0 {
		c.waiter.Until = p.w.now + want.wait
		c.waiter.Timer.Value = &c.waiter
		p.cfg.Waits.Put(&c.waiter.Timer, wheel.Ceil(c.waiter.Until, waitTick))
	}
	p.calls = append(p.calls, c)
	p.step(fmt.Sprintf("asks %+v", want), func(m Machine, fx *Effects) { m.Ask(p.w.now, &c.waiter, fx) })
}

func (p *fairProcess) abandon(c *fairCaller) {
	if c.out == nil && !c.gone {
		c.gone = true
		p.cfg.Waits.Remove(&c.waiter.Timer)
		p.step("abandons one", func(m Machine, fx *Effects) { m.Abandon(p.w.now, &c.waiter, fx) })
	}
}

func (p *fairProcess) unlock(c *fairCaller) {
	if c.holds() {
		c.over = true
		p.step("unlocks", func(m Machine, fx *Effects) { m.(Lockable).Unlock(p.w.now, &c.hold, nil, fx) })
	}
}

// carry brings the command in flight to Redis and back, with whatever luck.
func (p *fairProcess) carry(luck int) {
	if len(p.flying) == 0 {
		return
	}
	w, c := p.w, p.flying[0]
	p.flying = nil
	if c.Sent == 0 {
		c.Sent = w.now
	}
	c.Result = Answered
	switch luck {
	case 0:
		c.Result = NotSent
	case 1: // lost on its way there
		c.Result = Unknown
	case 2: // lost on its way back
		w.run(p, &c)
		c.Result, c.Reply = Unknown, 0
	case 3: // and late
		late := c
		w.late = append(w.late, &lateRun{w.now + w.upTo(4*time.Second), func() { w.run(p, &late) }, "late"})
		c.Result = Unknown
	case 4: // too few replicas have it
		c.Reply = w.run(p, &c)
		c.Unreplicated()
	default:
		c.Reply = w.run(p, &c)
	}
	if !c.ran() {
		p.cfg.Epoch++
	}
	relied := p.relied()
	p.seen.back(&c)
	p.step(fmt.Sprintf("is answered: %d, %d", c.Result, c.Reply), func(m Machine, fx *Effects) { m.Answer(w.now, &c, fx) })
	if c.Result == UnderReplicated && p.relied() > relied {
		w.broken("replicas-acknowledge: somebody relies on what too few replicas have")
	}
	if c.Result == NotSent && w.rng.IntN(2) == 0 {
		p.step("has its link again", func(m Machine, fx *Effects) { m.LinkUp(w.now, fx) })
	}
}

// relied is until when callers may rely on what they have, in sum: it grows by grants and renewals.
func (p *fairProcess) relied() (sum Time) {
	for _, c := range p.calls {
		if c.holds() {
			sum += c.hold.Deadline()
		}
	}
	return sum
}

// listen makes the wishes about channels come true.
func (p *fairProcess) listen() {
	wishes := p.wishes
	p.wishes = nil
	for _, s := range wishes {
		delete(p.hears, s.Channel)
		if s.On {
			p.hears[s.Channel] = true
			p.step("listens", func(m Machine, fx *Effects) { m.Subscribed(p.w.now, "", fx) })
		}
	}
}

func (w *fairWorld) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d))) }
