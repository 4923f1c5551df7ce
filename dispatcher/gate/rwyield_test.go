package gate

import (
	"testing"
	"time"
)

// readers is a read-write lock that a caller of ours reads, while somebody outside listens to its channel for ever.
type readers struct {
	*testing.T
	r   *Lock
	fx  *Effects
	now Time
}

func newReaders(t *testing.T) *readers {
	_, m := settledGate()
	x := &readers{T: t, r: NewEntry("stock:7", RWKind, m.cfg).Machine.(*Lock), fx: &Effects{}, now: time.Second}
	x.read()
	x.answer()
	x.now += m.cfg.HandoffTime
	return x
}

func (x *readers) read() *reuser {
	r := asks(0)
	x.r.Ask(x.now, &r.waiter, x.fx)
	return r
}

// answer answers what was asked as Redis does while only readers of ours have the lock.
func (x *readers) answer() {
	for op, commands := range x.fx.Commands {
		for _, c := range commands {
			x.fx.Commands[op] = nil
			c.Sent, c.Result, c.Reply = x.now, Answered, 1 // of a confirmation: who listens
			x.r.Answer(x.now, &c, x.fx)
		}
	}
}

// pass lets time go by, in which Redis answers at once.
func (x *readers) pass(d time.Duration) {
	for end := x.now + d; ; {
		x.answer()
		at := x.r.NextAlarm()
		if at > end {
			x.now = end
			return
		}
		x.now = max(x.now, at)
		x.r.Wake(x.now, x.fx)
	}
}

// TestReadersGoOnAfterMakingWayInVain: who listens need not wait, so readers let it pass for a while only, however long
// those of us who read keep the lock.
func TestReadersGoOnAfterMakingWayInVain(t *testing.T) {
	x := newReaders(t)
	waited := time.Duration(0)
	for n := range 100 {
		reader, began := x.read(), x.now
		for len(reader.heard) == 0 {
			if x.pass(time.Millisecond); x.now-began > time.Second {
				t.Fatalf("reader %d waits for %v beside readers of its own process", n, x.now-began)
			}
		}
		if reader.heard[0].Why != Granted {
			t.Fatalf("reader %d heard %v", n, reader.heard)
		}
		waited += x.now - began
		x.pass(30 * time.Millisecond)
	}
	if waited == 0 {
		t.Error("no reader let anybody pass who may wait to write")
	}
}
