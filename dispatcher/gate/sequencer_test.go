package gate

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
	"github.com/wheellock/wheellock/wheel"
)

// borrower is a caller of a semaphore.
type borrower struct {
	w       Waiter
	seen    *tally
	gone    bool
	granted bool
	done    bool
}

func (b *borrower) Settle(out Outcome) bool {
	b.seen.told(out, !b.gone && !b.done)
	if b.gone || b.done {
		return false
	}
	b.done, b.granted = true, out.Why == Granted
	return true
}

// duel is two engines that share a semaphore, over a network that loses and doubles.
type duel struct {
	*rand.Rand
	t        *testing.T
	redis    *redis
	now      Time
	cfgs     [2]*Config
	entries  [2]*Entry
	encoders [2]Encoder
	boxes    [2][]writtenCommand // on their way
	doubles  []writtenCommand    // copies that arrive late
	callers  [2][]*borrower
	expected [2]int64 // released, and not answered yet
	seen     [2]tally
	heard    [2][]News // messages on their way to each
}

// listener is one of the engines.
type listener struct {
	c *duel
	i int
}

func (l listener) hear(channel, message string) {
	news := News{Channel: channel}
	said, err := strconv.ParseInt(message, 10, 64)
	if err != nil {
		l.c.t.Fatal(err)
	}
	news.Add(said)
	l.c.heard[l.i] = append(l.c.heard[l.i], news)
}

// writtenCommand is a command and what the script gets of it.
type writtenCommand struct {
	Command
	written
}

const poolSize = 5

func newDuel(t *testing.T, seed uint64) *duel {
	c := &duel{Rand: rand.New(rand.NewPCG(seed, 1)), t: t, now: time.Second}
	c.redis = newRedis(&c.now)
	c.redis.do("SET", stock, strconv.Itoa(poolSize))
	for i := range c.entries {
		c.cfgs[i] = &Config{Lease: time.Second, PollCap: 2 * time.Second, UUID: fmt.Sprint("engine", i), Stats: &Stats{},
			Waits: wheel.NewSlots[*Waiter](64, func(wheel.Tick) {})}
		c.entries[i] = NewEntry(stock, SemaphoreKind, c.cfgs[i])
		c.encoders[i] = NewEncoder(fmt.Sprint("engine", i), 0)
	}
	return c
}

// step is one event of engine i's loop.
func (c *duel) step(i int, event func(Machine, *Effects)) {
	var fx Effects
	event(c.entries[i].Machine, &fx)
	for _, commands := range fx.Commands {
		for _, command := range commands {
			c.seen[i].sent(&command)
			text := c.redis.write(&command, c.encoders[i], c.now)
			c.boxes[i] = append(c.boxes[i], writtenCommand{command, text})
		}
	}
	if len(c.boxes[i]) > 1 {
		c.t.Fatalf("engine %d has %d commands in flight", i, len(c.boxes[i]))
	}
	for _, s := range fx.Subscriptions {
		if s.On {
			c.redis.subscribe(s.Channel, listener{c, i})
			c.step(i, func(m Machine, fx *Effects) { m.Subscribed(c.now, s.Channel, "", fx) })
		} else {
			c.redis.unsubscribe(s.Channel, listener{c, i})
		}
	}
}

// carry answers engine i's command: loss says how likely it goes wrong.
func (c *duel) carry(i int, loss float64) {
	if len(c.boxes[i]) == 0 {
		return
	}
	command := c.boxes[i][0]
	c.boxes[i] = nil
	switch fate := c.Float64(); {
	case fate < loss/3: // lost on the way there, or only late
		command.Result = Unknown
		if c.IntN(4) > 0 {
			c.doubles = append(c.doubles, command)
		}
	case fate < loss*2/3: // lost on the way back
		c.redis.run(command.written)
		command.Result = Unknown
	case fate < loss:
		command.Result = NotSent
	default:
		c.encoders[i].Decode(&command.Command, c.redis.run(command.written))
		if loss > 0 && fate > 0.9 {
			command.Unreplicated()
		}
	}
	c.seen[i].back(&command.Command)
	granted := c.cfgs[i].Stats.Granted.Load()
	c.step(i, func(m Machine, fx *Effects) { m.Answer(c.now, &command.Command, fx) })
	if command.Result == UnderReplicated && c.cfgs[i].Stats.Granted.Load() > granted {
		c.t.Fatal("replicas-acknowledge: permits were granted that too few replicas know of")
	}
}

// act does something at random.
func (c *duel) act() {
	i := c.IntN(2)
	switch c.IntN(9) {
	case 0, 1:
		b := &borrower{seen: &c.seen[i]}
		b.w = Waiter{By: b, N: 1 + c.Int64N(3), Try: c.IntN(4) == 0}
		c.callers[i] = append(c.callers[i], b)
		c.step(i, func(m Machine, fx *Effects) { m.Ask(c.now, &b.w, fx) })
	case 2: // a caller goes away
		for _, b := range c.callers[i] {
			if !b.done && !b.gone && c.IntN(3) == 0 {
				b.gone = true
				c.step(i, func(m Machine, fx *Effects) { m.EndWait(c.now, &b.w, GaveUp, fx) })
				return
			}
		}
	case 3:
		c.release(i)
	case 4:
		if len(c.doubles) > 0 {
			c.redis.run(c.doubles[0].written)
			c.doubles = c.doubles[1:]
			return
		}
	case 5:
		c.now += time.Duration(c.IntN(40)) * time.Millisecond
		c.wake()
	case 6:
		c.hear(i, 0.3)
	default:
		c.carry(i, 0.5)
	}
	c.check()
}

// hear has a message reach engine i, or lose its way.
func (c *duel) hear(i int, loss float64) {
	if len(c.heard[i]) == 0 {
		return
	}
	news := c.heard[i][0]
	c.heard[i] = c.heard[i][1:]
	if c.Float64() >= loss {
		c.step(i, func(m Machine, fx *Effects) { m.Message(c.now, news, fx) })
	}
}

func (c *duel) release(i int) bool {
	for k, b := range c.callers[i] {
		if b.granted {
			c.callers[i] = append(c.callers[i][:k], c.callers[i][k+1:]...)
			c.expected[i] += b.w.N
			c.step(i, func(m Machine, fx *Effects) {
				give := ChangeCount(Give, b.w.N)
				give.Ack = &returned{c, i, b.w.N}
				m.(*Sequencer).Change(c.now, give, fx)
			})
			return true
		}
	}
	return false
}

// returned is the answer to a release.
type returned struct {
	c *duel
	i int
	n int64
}

func (r *returned) Settle(out Outcome) bool {
	if out.Why != Granted {
		r.c.t.Fatalf("a release was answered %v", out)
	}
	r.c.expected[r.i] -= r.n
	return true
}

func (c *duel) wake() {
	for i := range c.entries {
		if c.entries[i].Machine.NextAlarm() <= c.now {
			c.step(i, func(m Machine, fx *Effects) { m.Wake(c.now, fx) })
		}
	}
}

// permits are those in Redis.
func (c *duel) permits() int64 {
	n, err := strconv.ParseInt(c.redis.do("GET", stock).Str, 10, 64)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// out is what callers have.
func (c *duel) out() (n int64) {
	for _, callers := range c.callers {
		for _, b := range callers {
			if b.granted {
				n += b.w.N
			}
		}
	}
	return n
}

func (c *duel) check() {
	for i := range c.entries {
		if differ := c.seen[i].compare(c.cfgs[i].Stats, true, false); differ != "" {
			c.t.Fatalf("engine %d: %s", i, differ)
		}
		if asked := early(c.entries[i].Machine, c.now, &Effects{}); asked != nil {
			c.t.Fatalf("engine %d, woken before its alarm, asks for %v", i, asked)
		}
	}
	if permits := c.permits(); permits < 0 || permits+c.out() > poolSize {
		c.t.Fatalf("%d in Redis and %d with callers, of %d", permits, c.out(), poolSize)
	}
}

// settle lets the network work until nothing moves.
func (c *duel) settle() {
	for range 500 { // five seconds: longer than the poll cap, and than a call is in doubt
		c.now += 10 * time.Millisecond
		c.wake()
		for i := range c.boxes {
			c.hear(i, 0)
			c.carry(i, 0)
		}
		c.check()
	}
}

// invariant: change-has-one-effect
func TestPermitsByReplay(t *testing.T) {
	for seed := range uint64(usually(30, 100)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			c := newDuel(t, seed)
			for range 400 {
				c.act()
			}
			c.settle()
			for c.release(0) || c.release(1) { // whoever waits gets his turn
				c.settle()
			}
			for i := range c.entries {
				if n := c.entries[i].Machine.Waiting(); n != 0 || !c.entries[i].Machine.Idle() {
					t.Errorf("engine %d: %d wait, idle %v", i, n, c.entries[i].Machine.Idle())
				}
			}
			if c.permits() != poolSize || c.expected != [2]int64{} {
				t.Errorf("%d permits in Redis, want %d; releases not answered: %v", c.permits(), poolSize, c.expected)
			}
		})
	}
}

// A question that took something writes also when it is asked again. So a server that has come to refuse writes does not say
// that nothing was taken, however late: the question is asked again, and what it took is somebody's.
// invariant: change-has-one-effect
func TestARefusalNeverHidesWhatAnEarlierCopyTook(t *testing.T) {
	c := newDuel(t, 1)
	b := &borrower{seen: &c.seen[0]}
	b.w = Waiter{By: b, N: 2}
	c.step(0, func(m Machine, fx *Effects) { m.Ask(c.now, &b.w, fx) })
	answer := func(ran bool, result Result, reply scripts.Reply) {
		t.Helper()
		if len(c.boxes[0]) != 1 || c.boxes[0][0].Op != Take {
			t.Fatalf("on their way are %v, want a Take", c.boxes[0])
		}
		command := c.boxes[0][0]
		c.boxes[0] = nil
		if ran {
			reply = scripts.Reply(c.redis.run(command.written))
		}
		command.Result, command.Reply = result, reply
		c.step(0, func(m Machine, fx *Effects) { m.Answer(c.now, &command.Command, fx) })
	}
	again := func(later time.Duration) {
		c.now += later
		c.step(0, func(m Machine, fx *Effects) { m.Wake(c.now, fx) })
	}
	answer(true, Unknown, 0) // 1. it took two permits; the answer was lost
	again(LateWindow + time.Second)
	answer(false, Answered, -1<<51-scripts.Reply(scripts.NoReplicas)) // 2. asked again, where writes are refused now
	again(time.Second)
	answer(true, Answered, 0) // 3. and once more, where they are not any more
	if !b.granted {
		t.Errorf("%d of %d permits are left, and nobody has the others", c.permits(), poolSize)
	}
}

// Permits that came for a caller who has gone are the engine's to give back, also where Redis refuses that for a reason that does
// not pass by itself: nobody else will.
// invariant: change-has-one-effect
func TestPermitsOfNobodyAreGivenBackUntilRedisTakesThem(t *testing.T) {
	c := newDuel(t, 1)
	b := &borrower{seen: &c.seen[0]}
	b.w = Waiter{By: b, N: 2}
	c.step(0, func(m Machine, fx *Effects) { m.Ask(c.now, &b.w, fx) })
	b.gone = true
	c.step(0, func(m Machine, fx *Effects) { m.EndWait(c.now, &b.w, GaveUp, fx) })
	c.carry(0, 0)
	for range 100 { // refused for longer than a change of a caller is repeated
		if len(c.boxes[0]) != 1 || c.boxes[0][0].Op != Give || c.boxes[0][0].Args.Count().N != 2 {
			t.Fatalf("on their way are %v, want a Give of 2", c.boxes[0])
		}
		command := c.boxes[0][0]
		c.boxes[0] = nil
		command.Result, command.Reply = Answered, scripts.Reply(-1<<51-scripts.Reply(scripts.NoPerm))
		c.step(0, func(m Machine, fx *Effects) { m.Answer(c.now, &command.Command, fx) })
		at := c.entries[0].Machine.NextAlarm()
		if len(c.boxes[0]) != 0 || at < c.now+100*time.Millisecond || at > c.now+2*time.Second || c.entries[0].Machine.Idle() {
			t.Fatalf("refused, it sent %v at once, and would wake after %v", c.boxes[0], at-c.now)
		}
		c.now = at
		c.wake()
	}
	c.settle()
	if c.permits() != poolSize || !c.entries[0].Machine.Idle() {
		t.Errorf("%d of %d permits are there", c.permits(), poolSize)
	}
}
