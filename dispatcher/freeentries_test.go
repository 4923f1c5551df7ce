package dispatcher

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/gate"
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
	cfg := &gate.Config{Lease: 30 * time.Second, PollCap: 2 * time.Second, Stats: &gate.Stats{}}
	cfg.Waits = wheel.NewSlots[*gate.Waiter](64, nil)
	d := &Dispatcher{cfg: Config{Gate: cfg, Clock: wheel.NewClock(), MaxPerName: 1}, names: newNames(), nodes: []*node{{}}}
	d.slots = wheel.NewSlots[*gate.Entry](64, nil)
	d.acks, d.lookAt = wheel.NewSlots[*Ack](64, nil), gate.Never
	d.near.start(func() {})
	defer d.near.timer.Stop()
	request := func(name string) *leaver {
		l := &leaver{gate.Waiter{Lease: 30 * time.Second, Watch: true, Try: true}}
		l.waiter.By, l.waiter.Hold = l, &gate.Hold{}
		(&ask{&l.waiter, name, gate.MutexKind}).deliver(d, 0)
		return l
	}
	taken := func() { // says Redis
		c := d.fx.Commands[gate.Acquire][0]
		d.fx.Commands[gate.Acquire] = d.fx.Commands[gate.Acquire][:0]
		c.Result, c.Reply = gate.Answered, -10_002
		d.answer(0, &c)
		d.settleAlarms(d.cfg.Clock.Now())
	}

	first := request("stock:7")
	used := d.names.find("stock:7")
	taken()
	if d.names.live != 0 || len(d.free.entries) != 1 || d.free.entries[0] != used {
		t.Fatalf("%d names live and %d entries are free, want 0 and 1", d.names.live, len(d.free.entries))
	}
	abandon{&first.waiter}.deliver(d, 0)
	d.settleAlarms(d.cfg.Clock.Now())
	if n := len(d.free.entries); n != 1 {
		t.Errorf("%d entries are free after the event, want 1", n)
	}
	request("stock:8")
	request("stock:9")
	if d.names.find("stock:8") == d.names.find("stock:9") {
		t.Error("two names have one entry")
	}
}
