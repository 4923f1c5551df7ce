package gate

import (
	"flag"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
	"time"
)

var depthFlag = flag.Int("gate.depth", 0, "how many events in a row TestEveryOrder plays; 0: 4, or 5 with -gate.long")

// board is a process with two callers, and all that can happen to them next.
type board struct {
	*world
	a    *process
	lost []*inFlightCommand // given up by the process, but still on their way
}

// beginnings are what the two callers want. A stranger has the name first, or nobody.
var beginnings = map[string][2]wants{
	"two who wait":           {{}, {}},
	"one with a short lease": {{}, {lease: 300 * time.Millisecond}},
	"two short leases":       {{lease: 300 * time.Millisecond}, {lease: 500 * time.Millisecond}},
	"the same owner":         {{owner: 7}, {owner: 7, lease: 2 * time.Second}},
	"one who asks once":      {{try: true}, {}},
}

func newBoard(want [2]wants, taken bool) *board {
	b := &board{world: bareWorld()}
	b.broken = func(rule string) { panic(brokenRule(rule)) }
	b.a = b.newProcess("A")
	if taken {
		b.redis.take(stock, "java:1", 3*time.Second)
	}
	for _, want := range want {
		b.a.ask(stock, want)
	}
	return b
}

// move is one event. do is nil when it cannot happen now.
type move struct {
	name string
	do   func()
}

// moves are what can happen now.
func (b *board) moves() []move {
	var can []move
	add := func(name string, possible bool, do func()) {
		if possible {
			can = append(can, move{name, do})
		}
	}
	if len(b.a.outbox) > 0 {
		c := b.a.outbox[0]
		add("run", !c.ran, c.run)
		add("answer", true, c.answer)
		add("lose", true, func() {
			if !c.ran {
				b.lost = append(b.lost, c)
			}
			c.lose()
		})
		add("not sent", !c.left, c.notSent)
		add("denied", !c.ran, c.denied)
	}
	add("arrive late", len(b.lost) > 0, func() { b.lost[0].run(); b.lost = b.lost[1:] })
	add("subscribe", len(b.a.wishes) > 0, b.a.subscribe)
	add("message", len(b.a.messages) > 0, b.a.listen)
	for i, c := range b.a.callers {
		add(fmt.Sprintf("cancel %d", i+1), !c.answered && !c.gone, c.cancel)
		add(fmt.Sprintf("unlock %d", i+1), c.holds(), c.unlock)
	}
	add("stranger goes", b.redis.owner(stock) == "java:1", func() { b.redis.free(stock, "java:1") })
	add("stranger comes", b.redis.owner(stock) == "", func() { b.redis.take(stock, "java:1", 3*time.Second) })
	at, _, entry := b.nextAlarm()
	add("alarm", at != Never, func() { b.passTo(max(at, b.now)); b.a.wake(entry) })
	add("age", true, func() { b.pass(b.a.cfg.HandoffTime) })
	return can
}

// state is all that what happens next depends on.
func (b *board) state(seed maphash.Seed) uint64 {
	var s strings.Builder
	k, taken := b.redis.key(stock)
	fmt.Fprint(&s, b.now, k, taken, len(b.redis.listeners[stockChannel]), b.a.wishes, len(b.a.messages), b.a.cfg.LastID, b.a.cfg.Epoch)
	for _, c := range append(slices.Clone(b.a.outbox), b.lost...) {
		fmt.Fprint(&s, c.Op, c.ID, c.Args, c.Lease, c.Sent, c.Command.Epoch, c.left, c.ran, c.Reply, "|")
	}
	for _, c := range b.a.callers {
		fmt.Fprint(&s, c.answered, c.gone, c.out.Why, c.unlocked, c.over, c.hold.Tenure, c.hold.alive, c.hold.until, c.hold.Deadline(), "|")
	}
	if c := b.a.entries[stock]; c != nil {
		m := c.Machine.(*Lock)
		fmt.Fprint(&s, m.lease.phase, m.flight, m.again, m.lease.suspected, m.contest.askAt, m.lease.Tenure, m.lease.watched, m.contest.acks.ack != nil)
		for w := m.contest.queue.head; w != nil; w = w.next {
			fmt.Fprint(&s, w.By)
		}
		rivals := *m.contest.rivals
		rivals.growing, rivals.orphans = nil, nil
		fmt.Fprint(&s, rivals, len(m.contest.rivals.growing))
		for _, g := range m.contest.rivals.orphans {
			fmt.Fprint(&s, g.id, g.at, g.ends)
		}
	}
	return maphash.String(seed, s.String())
}

// explorer plays every order of events up to a depth, and from each lets all go well to the end.
type explorer struct {
	t     *testing.T
	begin func() *board
	seed  maphash.Seed
	seen  map[uint64]int // how deep a state was explored
	path  []int
}

// replay plays the path from the beginning. Only its last event may break a rule: the others were played before.
func (x *explorer) replay(unsubscribed bool) (b *board, broken string) {
	defer func() {
		if p := recover(); p != nil {
			broken = fmt.Sprint(p)
		}
	}()
	b = x.begin()
	b.unsubscribed = unsubscribed
	for _, i := range x.path {
		m := b.moves()[i]
		b.note("[%s]", m.name)
		m.do()
	}
	return b, ""
}

func (x *explorer) explore(depth int) {
	b, broken := x.replay(true)
	if broken == "" {
		state := b.state(x.seed)
		if explored, seen := x.seen[state]; seen && explored >= depth {
			return
		}
		x.seen[state] = depth
	}
	if broken == "" && depth > 0 {
		for i := range b.moves() {
			x.path = append(x.path, i)
			x.explore(depth - 1)
			x.path = x.path[:len(x.path)-1]
		}
	}
	if broken == "" {
		broken = b.rest()
	}
	if broken != "" {
		if b, broken = x.replay(false); broken == "" {
			broken = b.rest()
		}
		x.t.Fatalf("%s\n%s", broken, lastLines(b.diary.String(), 80))
	}
}

// rest lets all go well from here. What is still on its way arrives first, as late as it can.
func (b *board) rest() (broken string) {
	defer func() {
		if p := recover(); p != nil {
			broken = fmt.Sprint(p)
		}
	}()
	b.redis.free(stock, "java:1")
	for _, c := range b.lost {
		c.run()
	}
	b.a.linkUp()
	b.settle()
	return ""
}

// TestEveryOrder plays every order of so many events for two callers, and after each lets all go well. Eight
// events, 290,000 different states, take some minutes:
//
//	go test ./dispatcher/gate -run TestEveryOrder -gate.depth 8
func TestEveryOrder(t *testing.T) {
	depth := *depthFlag
	if depth == 0 {
		depth = usually(4, 5)
	}
	for name, want := range beginnings {
		for _, taken := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, taken %v", name, taken), func(t *testing.T) {
				t.Parallel()
				x := &explorer{t: t, seed: maphash.MakeSeed(), seen: make(map[uint64]int)}
				x.begin = func() *board { return newBoard(want, taken) }
				x.explore(depth)
				t.Logf("%d different states", len(x.seen))
			})
		}
	}
}
