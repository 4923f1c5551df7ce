package dispatcher

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/wheel"
)

// leaver is a caller that goes away before it is answered.
type leaver struct{ waiter gate.Waiter }

func (*leaver) Settle(gate.Outcome) bool { return false }

// At most one command of a name is in flight, and an entry serves one name. Sequence: 1. A caller goes away, and
// its event waits in the mailbox. 2. The answer to its request comes, and its name is idle. 3. The loop reads the event,
// which must not free the entry a second time.
// invariant: one-command-per-name
func TestALateEventFreesNoEntryTwice(t *testing.T) {
	cfg := &gate.Config{LeaseTime: 30 * time.Second, PollCap: 2 * time.Second, Stats: &gate.Stats{}}
	l := newLoop(Config{Gate: cfg, Clock: wheel.NewClock()})
	l.nodes.all = []*node{{}}
	l.deadlines.wakeAt = func(wheel.Tick) {}
	l.deadlines.timer.start(func() {})
	defer l.deadlines.timer.timer.Stop()
	request := func(name string) *leaver {
		caller := &leaver{gate.Waiter{LeaseTime: 30 * time.Second, Watch: true, Try: true}}
		caller.waiter.By, caller.waiter.Hold = caller, &gate.Hold{}
		(&ask{&caller.waiter, name, gate.MutexKind, 1}).deliver(l, 0)
		return caller
	}
	taken := func() { // says Redis
		c := l.gates.fx.Commands[gate.Acquire][0]
		l.gates.fx.Commands[gate.Acquire] = l.gates.fx.Commands[gate.Acquire][:0]
		c.Result, c.Reply = gate.Answered, -10_002
		l.gates.answer(0, &c)
		l.setAlarms(l.clock.Now())
	}

	first := request("stock:7")
	used := l.gates.names.find("stock:7")
	taken()
	if l.gates.names.live != 0 || len(l.gates.free) != 1 || l.gates.free[0] != used {
		t.Fatalf("%d names live and %d entries are free, want 0 and 1", l.gates.names.live, len(l.gates.free))
	}
	abandon{&first.waiter}.deliver(l, 0)
	l.setAlarms(l.clock.Now())
	if n := len(l.gates.free); n != 1 {
		t.Errorf("%d entries are free after the event, want 1", n)
	}
	request("stock:8")
	request("stock:9")
	if l.gates.names.find("stock:8") == l.gates.names.find("stock:9") {
		t.Error("two names have one entry")
	}
}

// A round trip that took long because many engines started at once is soon forgotten, even if few follow.
func TestTheTimeOfARoundTripFallsAtOnce(t *testing.T) {
	g := &gates{cfg: &gate.Config{}}
	for _, step := range []struct{ took, want time.Duration }{
		{80 * time.Millisecond, 80 * time.Millisecond},
		{time.Millisecond, time.Millisecond},
		{9 * time.Millisecond, 2 * time.Millisecond},
	} {
		if g.measure(step.took); g.cfg.RTT != step.want {
			t.Errorf("after one of %v it is %v, want %v", step.took, g.cfg.RTT, step.want)
		}
	}
}
