package dispatcher

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/wheel"
)

// TestOutboxNeverEmpty: under a load that always leaves something waiting, what has left takes no place.
func TestOutboxNeverEmpty(t *testing.T) {
	var commands [gate.Ops][]gate.Command
	o := outbox{commands: &commands}
	var batch []gate.Command
	sent, put := uint64(0), uint64(0)
	for range 1000 {
		for range maxBatch {
			put++
			o.put(&gate.Command{Op: gate.Acquire, ID: put})
		}
		if put > 3*maxBatch { // three batches always wait
			batch = o.fill(batch[:0], redisconn.AllCommands)
		}
		for _, c := range batch {
			if sent++; c.ID != sent {
				t.Fatalf("command %d left after %d", c.ID, sent-1)
			}
		}
		batch = batch[:0]
	}
	if waiting := len(commands[gate.Acquire]) - o.heads[gate.Acquire]; waiting != int(put-sent) {
		t.Errorf("%d wait, want %d", waiting, put-sent)
	}
	if room := cap(commands[gate.Acquire]); room > 16*maxBatch {
		t.Errorf("room for %d commands, of which %d wait", room, put-sent)
	}
}

// A hold that is not renewed in time ends, so renewals leave before everything else, in whatever order the commands came.
// invariant: renewals-go-first
func TestRenewalsLeaveFirst(t *testing.T) {
	var commands [gate.Ops][]gate.Command
	o := outbox{commands: &commands}
	for op := gate.Ops - 1; op > gate.None; op-- {
		for range maxBatch {
			o.put(&gate.Command{Op: op})
		}
	}
	renewals := []gate.Op{
		gate.Renew, gate.Confirm, gate.RenewRead, gate.RenewWrite, gate.ConfirmRead, gate.ConfirmWrite, gate.Downgrade, gate.RenewSimple, gate.ConfirmSimple, gate.PermitRenew,
	}
	left := make(map[gate.Op]int)
	for range renewals {
		for _, c := range o.fill(nil, redisconn.AllCommands) {
			left[c.Op]++
			if !slices.Contains(renewals, c.Op) {
				t.Fatalf("%v left while renewals waited", c.Op)
			}
		}
	}
	for _, op := range renewals {
		if left[op] != maxBatch {
			t.Errorf("%d of %d left: %v", left[op], maxBatch, op)
		}
	}
}

// slowMachine takes a second for an answer, and notes when each has come.
type slowMachine struct {
	gate.Machine
	at []gate.Time
}

func (s *slowMachine) Answer(now gate.Time, _ *gate.Command, _ *gate.Effects) {
	s.at = append(s.at, now)
	time.Sleep(time.Second)
}

// A batch that comes back tells how long a round trip takes. Its answers are not all handled by the time at which it came.
func TestABatchComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loopOf(func(wheel.Tick) {})
		n := &node{nodes: &l.nodes, addr: "a:1", server: redisconn.NewServer(t.Context(), &redisconn.Config{}, "a:1", nil), carrying: 1}
		m := &slowMachine{}
		e := &gate.Entry{Machine: m, Free: true}
		time.Sleep(time.Second)
		c := &connection{Connection: &redisconn.Connection{}, node: n}
		for range 2 * clockStride {
			c.Batch = append(c.Batch, gate.Command{Entry: e, Result: gate.Answered, Sent: 300 * time.Millisecond})
		}
		l.nodes.names = len(c.Batch)
		n.returned(c)
		if l.cfg.Gate.RTT != 700*time.Millisecond || l.nodes.names != 0 || n.busy() || len(n.idle) != 1 || len(c.Batch) != 0 {
			t.Errorf("round trip %v, %d names on their way, busy: %t, %d idle, %d answers left", l.cfg.Gate.RTT, l.nodes.names, n.busy(), len(n.idle), len(c.Batch))
		}
		if want := (1 + clockStride) * time.Second; m.at[0] != time.Second || m.at[clockStride] != want {
			t.Errorf("answer %d is handled at %v, want %v; all: %v", clockStride, m.at[clockStride], want, m.at)
		}
		for _, trip := range []struct {
			took gate.Time
			near bool
		}{{nearby, false}, {nearby - 1, true}, {time.Second, true}} { // a server that is near may be busy
			c.Batch = append(c.Batch, gate.Command{Entry: e, Result: gate.Answered, Sent: l.cfg.Clock.Now() - trip.took})
			if n.returned(c); l.nodes.near != trip.near {
				t.Errorf("after a round trip of %v Redis is near: %t", trip.took, l.nodes.near)
			}
		}
	})
}

// Commands leave by a connection of their class, and no other connection leaves without any.
func TestCommandsLeaveByAConnectionOfTheirClass(t *testing.T) {
	l := loopOf(func(wheel.Tick) {})
	n := &node{nodes: &l.nodes, link: link{probeAt: gate.Never}, out: outbox{commands: &l.gates.fx.Commands}}
	for _, class := range []redisconn.Class{redisconn.ReplicatedCommands, redisconn.OtherCommands, redisconn.ReplicatedCommands} {
		n.idle = append(n.idle, &connection{Connection: &redisconn.Connection{Class: class}, node: n})
	}
	n.out.put(&gate.Command{Op: gate.Release})
	n.flush(0)
	if left := l.nodes.leaving; len(left) != 1 || left[0].Class != redisconn.OtherCommands || len(left[0].Batch) != 1 || len(n.idle) != 2 {
		t.Errorf("%d connections leave, %d stay", len(left), len(n.idle))
	}
}

// Commands of few names leave at once, each on a connection of its own; those of many wait for one of three. How many are few depends on
// the round trip.
func TestManyNamesShareConnections(t *testing.T) {
	for _, test := range []struct {
		rtt   gate.Time
		first int // commands in the first batch
		leave int // of ten batches
	}{{0, 1, 4}, {0, 2, 3}, {0, 9, 3}, {5 * timeOfName, 1, 6}, {time.Millisecond, 1, 8}, {time.Millisecond, 10, 8}, {time.Millisecond, 15, 3}, {time.Second, 15, 3}} {
		l := loopOf(func(wheel.Tick) {})
		n := &node{nodes: &l.nodes, link: link{probeAt: gate.Never}, out: outbox{commands: &l.gates.fx.Commands}, nearest: test.rtt}
		for range mostConnections {
			n.idle = append(n.idle, &connection{Connection: &redisconn.Connection{}, node: n})
		}
		for range test.first - 1 {
			n.out.put(&gate.Command{Op: gate.Release})
		}
		for range 10 {
			n.out.put(&gate.Command{Op: gate.Release})
			n.flush(0)
		}
		if left := len(l.nodes.leaving); left != test.leave {
			t.Errorf("round trip %v, %d commands at first: %d connections leave, want %d", test.rtt, test.first, left, test.leave)
		}
	}
}

// unsent notes what becomes of commands, and asks for one more after the first.
type unsent struct {
	gate.Machine
	heard []gate.Command
}

func (u *unsent) Answer(_ gate.Time, c *gate.Command, fx *gate.Effects) {
	if u.heard = append(u.heard, *c); len(u.heard) == 1 {
		fx.Commands[gate.Release] = append(fx.Commands[gate.Release], gate.Command{Op: gate.Release, ID: 9, Entry: c.Entry})
	}
}

// While a node is down each command for it is answered, once, and so is what its machine asks for then.
func TestCommandsForANodeThatIsDownAreNotSent(t *testing.T) {
	l := loopOf(func(wheel.Tick) {})
	n := &node{nodes: &l.nodes, link: link{state: linkDown, cause: "refused", probeAt: gate.Never}, out: outbox{commands: &l.gates.fx.Commands}}
	m := &unsent{}
	for id := range uint64(3) {
		n.out.put(&gate.Command{Op: gate.Acquire, ID: id, Entry: &gate.Entry{Machine: m, Free: true}})
	}
	n.flush(time.Minute)
	for i, want := range []uint64{0, 1, 2, 9} {
		if len(m.heard) != 4 || m.heard[i].ID != want || m.heard[i].Result != gate.NotSent || m.heard[i].ServerMessage != "refused" || m.heard[i].Sent != time.Minute {
			t.Fatalf("heard %+v", m.heard)
		}
	}
	if !n.out.empty() || len(l.nodes.leaving) != 0 {
		t.Error("commands are left, or leave")
	}
}
