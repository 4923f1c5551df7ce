package dispatcher

import (
	"testing"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// Events come out in the order they went in, of whatever type, and each is the one that was put, also when the slices that
// keep asks and unlocks have grown meanwhile.
func TestMailboxKeepsTheOrder(t *testing.T) {
	m := newMailbox()
	waiters, holds := make([]gate.Waiter, 1000), make([]gate.Hold, 1000)
	mail := new(batch)
	for range 3 { // the second batch uses the slices of the first again
		for i := range waiters {
			m.putAsk(ask{waiter: &waiters[i]})
			m.put(abandon{&waiters[i]})
			m.putUnlock(unlock{hold: &holds[i]})
		}
		mail = m.take(mail)
		if len(mail.events) != 3*len(waiters) {
			t.Fatalf("%d events, want %d", len(mail.events), 3*len(waiters))
		}
		for i := range waiters {
			a, u := mail.events[3*i].(*ask), mail.events[3*i+2].(*unlock)
			if a.waiter != &waiters[i] || mail.events[3*i+1] != event(abandon{&waiters[i]}) || u.hold != &holds[i] {
				t.Fatalf("events %d to %d are not those that were put", 3*i, 3*i+2)
			}
		}
	}
}

// One wake-up tells of any number of events, and none is lost between two takes.
func TestMailboxWakes(t *testing.T) {
	m := newMailbox()
	m.put(closing{})
	m.put(closing{})
	<-m.wake
	if mail := m.take(new(batch)); len(mail.events) != 2 {
		t.Errorf("%d events, want 2", len(mail.events))
	}
	m.put(closing{})
	select {
	case <-m.wake:
	default:
		t.Error("the event after a take does not wake")
	}
}

// A mailbox that refuses turns away requests alone; one that is shut turns away everything and hands out what is left.
// invariant: bounds-refuse-only-new-requests
func TestMailboxEnds(t *testing.T) {
	m := newMailbox()
	if !m.putAsk(ask{}) {
		t.Error("a request is turned away at first")
	}
	m.refuse()
	if m.putAsk(ask{}) {
		t.Error("a request is taken by a mailbox that refuses")
	}
	if !m.putUnlock(unlock{}) || !m.put(closing{}) {
		t.Error("an unlock or an event is turned away by a mailbox that refuses")
	}
	if left := m.shutDown(); len(left) != 3 {
		t.Errorf("%d events are left, want 3", len(left))
	}
	if m.putAsk(ask{}) || m.putUnlock(unlock{}) || m.put(closing{}) {
		t.Error("a mailbox that is shut takes something")
	}
}

// TestRoomOfABurstIsGivenBack: after a million requests at once the engine is as small as before.
func TestRoomOfABurstIsGivenBack(t *testing.T) {
	m := newMailbox()
	for range maxRoom + 1 {
		m.putAsk(ask{})
		m.putUnlock(unlock{})
	}
	mail := m.take(new(batch))
	if len(mail.events) != 2*(maxRoom+1) {
		t.Fatalf("%d events", len(mail.events))
	}
	mail = m.take(mail)
	for _, room := range []int{cap(m.queue.events), cap(m.queue.asks), cap(m.queue.unlocks), cap(mail.events)} {
		if room != 0 {
			t.Errorf("room for %d events is left", room)
		}
	}
}

// Telling the loop of a lock and its unlock allocates nothing.
func TestMailboxAllocatesNothingForALock(t *testing.T) {
	m := newMailbox()
	w, h := &gate.Waiter{}, &gate.Hold{}
	mail := new(batch)
	tell := func() {
		m.putAsk(ask{waiter: w, name: "stock:7"})
		m.put(abandon{w})
		m.putUnlock(unlock{hold: h})
		mail = m.take(mail)
	}
	tell()
	tell()
	if n := testing.AllocsPerRun(1000, tell); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
