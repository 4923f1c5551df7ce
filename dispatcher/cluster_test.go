package dispatcher

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/dispatcher/topology"
	"github.com/wheellock/wheellock/scripts"
	"github.com/wheellock/wheellock/wheel"
)

// clustered is the loop of a cluster with one node, which serves nothing yet and has no connection.
func clustered(t *testing.T) (*loop, *node) {
	l := newLoop(Config{Gate: &gate.Config{Stats: &gate.Stats{}}, Logger: slog.New(slog.DiscardHandler)})
	nobody := &node{nodes: &l.nodes}
	l.nodes.cluster = &cluster{Cluster: &Cluster{}, nodes: &l.nodes, slots: topology.NewTable(nobody), unassigned: nobody, survey: topology.NewSurvey()}
	n := &node{nodes: &l.nodes, addr: "a:1", cancel: func() {}, server: redisconn.NewServer(t.Context(), nil, "a:1", nil)}
	n.out.commands = new([gate.Ops][]gate.Command)
	l.nodes.all = []*node{n}
	return l, n
}

// A survey without an answer is followed by another, and so is a command that a node refuses for now.
func TestWhatFailsInAClusterIsSurveyed(t *testing.T) {
	const now, soon = time.Minute, time.Minute + time.Second
	l, n := clustered(t)
	survey := &l.nodes.cluster.survey
	survey.Sent(now)
	l.nodes.cluster.surveyed(now, &connection{Connection: &redisconn.Connection{Err: errors.New("no answer")}, node: n})
	if survey.Due(now) || !survey.Due(soon) {
		t.Errorf("after a failure the next survey is due at %v", survey.Alarm())
	}
	survey.Sent(soon)
	l.nodes.cluster.surveyed(soon, &connection{Connection: &redisconn.Connection{Map: &topology.Map{Ranges: []topology.Range{{First: 0, Last: 100, Addr: "a:1"}}}}, node: n})
	if all := l.nodes.all; len(all) != 1 || l.nodes.cluster.slots.Count(n) != 101 {
		t.Errorf("%d nodes, of which the one that is known serves %d hash slots", len(all), l.nodes.cluster.slots.Count(n))
	}
	if survey.Due(soon) || !survey.Due(soon+time.Second) {
		t.Errorf("while hash slots are served by nobody the next survey is due at %v", survey.Alarm())
	}
	l, n = clustered(t)
	e := gate.NewEntry("stock:7", gate.SemaphoreKind, l.cfg.Gate)
	n.answered(now, &gate.Command{Entry: e, Op: gate.Take, Result: gate.Again})
	if survey := &l.nodes.cluster.survey; !survey.Due(now) {
		t.Errorf("after a refusal the next survey is due at %v", survey.Alarm())
	}
}

// A command that waits while its hash slot moves goes to the new node, without the ASKING that it needed at the old one.
func TestWhatWaitsMovesWithItsSlot(t *testing.T) {
	_, n := clustered(t)
	for id := range uint64(3) {
		n.out.put(&gate.Command{Op: gate.Renew, ID: id, Asking: true})
	}
	var fx gate.Effects
	n.out.withdraw(&fx, func(c *gate.Command) bool { return c.ID != 1 })
	moved := fx.Commands[gate.Renew]
	if len(moved) != 2 || moved[0].ID != 0 || moved[1].ID != 2 || moved[0].Asking || moved[1].Asking {
		t.Errorf("moved: %+v", moved)
	}
	if kept := n.out.commands[gate.Renew]; len(kept) != 1 || kept[0].ID != 1 || !kept[0].Asking {
		t.Errorf("kept: %+v", kept)
	}
}

// A node that serves nothing is kept for a while after it was last named, and as long as there is something to be done.
func TestNodesThatServeNothingAreClosed(t *testing.T) {
	const now = time.Minute
	for _, c := range []struct {
		name   string
		ago    gate.Time
		change func(*loop, *node)
		kept   bool
	}{
		{name: "it was named of late", ago: lingerTime - 1, kept: true},
		{name: "it was named long ago", ago: lingerTime},
		{name: "it is named again", ago: lingerTime, kept: true, change: func(l *loop, n *node) { l.nodes.cluster.nodeAt(now, n.addr) }},
		{name: "it serves a hash slot", ago: lingerTime, kept: true, change: func(l *loop, n *node) { l.nodes.cluster.slots.Assign(7, n) }},
		{name: "a channel is listened to there", ago: lingerTime, kept: true, change: func(l *loop, n *node) { l.routes.byChannel["a"] = route{node: n} }},
		{name: "a connection is away", ago: lingerTime, kept: true, change: func(_ *loop, n *node) { n.all = []*connection{{}} }},
		{name: "a command waits to be sent there", ago: lingerTime, kept: true, change: func(_ *loop, n *node) {
			n.out.put(&gate.Command{Op: gate.Release})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, n := clustered(t)
			n.namedAt = now - c.ago
			if c.change != nil {
				c.change(l, n)
			}
			l.nodes.cluster.closeUnused(now)
			if kept := len(l.nodes.all) == 1; kept != c.kept {
				t.Errorf("kept: %v", kept)
			}
			l.nodes.cluster.gone.Wait()
		})
	}
}

// A caller that does not wait while its link is down is told when its hash slot moves to a node that cannot be reached. A caller on another node
// is told nothing, and that the node of its name is down is not said either.
func TestAMoveToANodeThatIsDownIsTold(t *testing.T) {
	l, up := clustered(t)
	up.link.state = linkUp
	down := l.nodes.cluster.slots.Serves(0)
	down.link.state, down.link.cause = linkDown, "refused"
	l.gates.hashed = true
	l.gates.cfg.Waits = wheel.NewSlots[*gate.Waiter](64, func(wheel.Tick) {})
	comes := func(name string) (*gate.Entry, *asker) {
		l.nodes.cluster.slots.Assign(scripts.HashSlot(name), up)
		a := &asker{}
		a.waiter = gate.Waiter{By: a, Hold: &a.hold, LeaseTime: time.Second, Fast: true}
		(&ask{&a.waiter, name, gate.MutexKind, 1}).deliver(l, time.Minute)
		return l.gates.names.find(name), a
	}
	moving, told := comes("stock:7")
	staying, untold := comes("stock:8")
	l.nodes.cluster.slots.ClearMoved()
	l.nodes.cluster.slots.Assign(moving.Slot, down)
	staying.Stepped = false
	l.nodes.cluster.moveNames(time.Minute)
	if len(told.heard) != 1 || told.heard[0].Why != gate.Doubtful || told.heard[0].ServerMessage != down.link.cause {
		t.Errorf("told %+v", told.heard)
	}
	if len(untold.heard) != 0 || staying.Stepped {
		t.Errorf("another was told %+v; its machine was stepped: %t", untold.heard, staying.Stepped)
	}
	for slot, want := range map[uint16]bool{moving.Slot: true, staying.Slot: false} {
		q := linkQuery{slot, make(chan bool, 1)}
		if q.deliver(l, time.Minute); <-q.down != want {
			t.Errorf("slot %d is down: %t, want %t", slot, !want, want)
		}
	}
}

// A channel whose node does not serve it follows the redirects, as often as a command does. Then, or if the node gives no address, it has no
// node until a survey has told which one serves it.
func TestAChannelFollowsItsSlot(t *testing.T) {
	const channel, moved = "channel", "MOVED 7 b:1"
	l, n := clustered(t)
	c, other := l.nodes.cluster, &node{nodes: &l.nodes, addr: "b:1"}
	l.nodes.all = append(l.nodes.all, other)
	e := &gate.Entry{Name: "stock:7", Slot: 7}
	c.slots.Assign(7, n)
	l.routes.subscribe(channel, e)
	redirect := func(from *node, message string) *node {
		(&redirected{from, channel, message}).deliver(l, time.Minute)
		return l.routes.byChannel[channel].node
	}
	if to := redirect(n, moved); to != other || c.slots.Serves(7) != other {
		t.Errorf("after MOVED it is listened to at %v", to)
	}
	if to := redirect(n, "MOVED 7 a:1"); to != other {
		t.Errorf("after word from a node that it has left it is listened to at %v", to)
	}
	if to := redirect(other, "ASK 7 a:1"); to != other || c.slots.Serves(7) != other {
		t.Errorf("after ASK, which is about one command, it is listened to at %v", to)
	}
	for hops := 2; hops < topology.MaxRedirects; hops++ {
		if to := redirect(other, ""); to != other {
			t.Fatalf("after %d redirects it is listened to at %v", hops+1, to)
		}
	}
	if to := redirect(other, moved); to != nil || !l.routes.unrouted {
		t.Errorf("after too many redirects it is listened to at %v", to)
	}
	l.routes.resubscribe()
	if to := redirect(other, "CLUSTERDOWN the slot is unbound"); to != nil || !l.routes.unrouted {
		t.Errorf("of a slot that nobody serves it is listened to at %v", to)
	}
}

// Nodes are asked in turn who serves what, but for those that are down, or that have no connection to spare.
func TestNodesAreSurveyedInTurn(t *testing.T) {
	l, _ := clustered(t)
	c := l.nodes.cluster
	l.nodes.all = []*node{
		{addr: "down:1", link: link{state: linkDown}, idle: make([]*connection, 1)},
		{addr: "a:1", idle: make([]*connection, 1)},
		{addr: "busy:1"},
		{addr: "b:1", idle: make([]*connection, 2)},
	}
	for _, want := range []string{"a:1", "b:1", "a:1", "b:1"} {
		if n, anyUp := c.informant(); n == nil || n.addr != want || !anyUp {
			t.Fatalf("%v is asked, want %s", n, want)
		}
	}
	l.nodes.all = l.nodes.all[:3]
	l.nodes.all[1].idle = nil
	if n, anyUp := c.informant(); n != nil || !anyUp {
		t.Errorf("%v is asked although all are busy; any is up: %t", n, anyUp)
	}
	l.nodes.all = l.nodes.all[:1]
	if n, anyUp := c.informant(); n != nil || anyUp {
		t.Errorf("%v is asked although none is up; any is up: %t", n, anyUp)
	}
}

// heard notes what becomes of commands.
type heard struct {
	gate.Machine
	commands []gate.Command
}

func (h *heard) Answer(_ gate.Time, c *gate.Command, _ *gate.Effects) {
	h.commands = append(h.commands, *c)
}

// A command follows its redirects, as often as one may be sent on. Its machine sees nothing of them.
// invariant: command-follows-its-slot
func TestACommandFollowsItsSlot(t *testing.T) {
	l, n := clustered(t)
	c, m := l.nodes.cluster, &heard{}
	other := &node{nodes: &l.nodes, addr: "b:1", out: outbox{commands: new([gate.Ops][]gate.Command)}}
	l.nodes.all = append(l.nodes.all, other)
	c.slots.Assign(7, n)
	sentOn := func(message string, hops uint8) *gate.Command {
		*other.out.commands = [gate.Ops][]gate.Command{}
		n.answered(time.Minute, &gate.Command{
			Op: gate.Acquire, ID: 3, Entry: &gate.Entry{Machine: m, Slot: 7, Free: true}, Result: gate.Redirected, ServerMessage: message, Hops: hops,
		})
		if waiting := other.out.commands[gate.Acquire]; len(waiting) == 1 {
			return &waiting[0]
		}
		return nil
	}
	if on := sentOn("ASK 7 b:1", 0); on == nil || !on.Asking || on.Hops != 1 || on.ID != 3 || on.Result != 0 || on.ServerMessage != "" || c.slots.Serves(7) != n {
		t.Errorf("after ASK: %+v", on)
	}
	if on := sentOn("MOVED 7 b:1", 0); on == nil || on.Asking || c.slots.Serves(7) != other || !c.survey.Due(time.Minute) {
		t.Errorf("after MOVED: %+v", on)
	}
	if len(m.commands) != 0 {
		t.Errorf("the machine has heard %+v", m.commands)
	}
	if on := sentOn("MOVED 7 b:1", topology.MaxRedirects); on != nil || len(m.commands) != 1 || m.commands[0].Result != gate.Again {
		t.Errorf("after too many redirects: %+v; the machine has heard %+v", on, m.commands)
	}
}

// What is asked about a hash slot that nobody serves is not sent.
func TestCommandsThatNobodyServesAreNotSent(t *testing.T) {
	l, _ := clustered(t)
	m, nobody := &heard{}, l.nodes.cluster.unassigned
	nobody.link = link{state: linkDown, cause: "nobody serves it"}
	nobody.out.commands = new([gate.Ops][]gate.Command)
	l.gates.fx.Commands[gate.Acquire] = []gate.Command{{Op: gate.Acquire, Entry: &gate.Entry{Machine: m, Free: true}}}
	l.nodes.all = nil
	l.nodes.flush(time.Minute)
	if len(m.commands) != 1 || m.commands[0].Result != gate.NotSent || m.commands[0].ServerMessage != nobody.link.cause {
		t.Errorf("the machine has heard %+v", m.commands)
	}
}
