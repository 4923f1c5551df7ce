package gate

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
	"github.com/wheellock/wheellock/wheel"
)

// reuser is a caller that uses its waiter for something else as soon as it is answered, as blocking callers do.
type reuser struct {
	waiter Waiter
	hold   Hold
	heard  []Outcome
}

func (r *reuser) End(Why) {}

func (r *reuser) Settle(out Outcome) bool {
	if len(r.heard) > 0 {
		return false
	}
	r.heard = append(r.heard, out)
	r.waiter = Waiter{Owner: 99} // whatever comes next
	return true
}

// asks makes a waiter with a watched lease.
func asks(owner uint64) *reuser {
	r := &reuser{}
	r.hold.By = r
	r.waiter = Waiter{By: r, Hold: &r.hold, Owner: owner, LeaseTime: 30 * time.Second, Watch: true}
	return r
}

func settledGate() (*Entry, *Lock) {
	cfg := &Config{LeaseTime: 30 * time.Second, HandoffTime: 10 * time.Millisecond, PollCap: 2 * time.Second, Stats: &Stats{}, Codes: plainCodes{}, Doubts: true}
	cfg.Waits = wheel.NewSlots[*Waiter](64, func(wheel.Tick) {})
	c := NewEntry("stock:7", MutexKind, cfg)
	return c, c.Machine.(*Lock)
}

// answerAcquire answers the acquire in flight.
func answerAcquire(m *Lock, now Time, fx *Effects, reply scripts.Reply) {
	sent := fx.Commands[Acquire]
	c := sent[len(sent)-1]
	c.Sent, c.Result, c.Reply = now-time.Millisecond, Answered, reply
	m.Answer(now, &c, fx)
}

func TestSettledWaiterIsItsCallersAgain(t *testing.T) {
	t.Run("a time-out leaves the others in the queue", func(t *testing.T) {
		_, m := settledGate()
		fx := &Effects{}
		first, second, third := asks(0), asks(0), asks(0)
		for _, r := range []*reuser{first, second, third} {
			m.Ask(time.Second, &r.waiter, fx)
		}
		answerAcquire(m, time.Second, fx, -10_002) // taken for 10 s
		m.EndWait(2*time.Second, &second.waiter, TimedOut, fx)
		if got := second.heard[0]; got.Why != TimedOut || got.Last != Taken {
			t.Errorf("the one whose time was over heard %+v", got)
		}
		if m.Waiting() != 2 {
			t.Errorf("waiting = %d, want 2", m.Waiting())
		}
		m.Message(3*time.Second, oneMessage, fx)
		answerAcquire(m, 3*time.Second, fx, 1)
		m.Unlock(3*time.Second, &first.hold, nil, fx)
		if len(third.heard) != 1 || third.heard[0].Why != Granted {
			t.Errorf("the one behind it heard %+v, want one grant", third.heard)
		}
	})
	t.Run("a grant lets in what its owner has queued besides", func(t *testing.T) {
		_, m := settledGate()
		fx := &Effects{}
		first, other, again := asks(7), asks(0), asks(7)
		for _, r := range []*reuser{first, other, again} {
			m.Ask(time.Second, &r.waiter, fx)
		}
		answerAcquire(m, time.Second, fx, 1)
		if len(first.heard) != 1 || len(again.heard) != 1 || len(other.heard) != 0 {
			t.Errorf("heard %v, %v, and %v; want grants for the owner's two, nothing for the other", first.heard, again.heard, other.heard)
		}
	})
}

// idle is a caller that does nothing when it is answered.
type idle struct{ waiter Waiter }

func (*idle) Settle(Outcome) bool { return true }

// again is a caller that uses its waiter for another call, which has a time, as soon as it is answered.
type again struct {
	waiter Waiter
	waits  *wheel.Slots[*Waiter]
}

func (a *again) Settle(Outcome) bool {
	a.waits.Put(&a.waiter.Timer, 5)
	return true
}

// The timer of a waiter is stopped before it is answered, and not that of its next call afterwards.
// invariant: answered-once
func TestAnAnswerStopsNoTimerOfTheNextCall(t *testing.T) {
	cfg := &Config{Waits: wheel.NewSlots[*Waiter](64, nil), Stats: &Stats{}}
	a := &again{waits: cfg.Waits}
	a.waiter.By = a
	cfg.Waits.Put(&a.waiter.Timer, 3)
	cfg.Answer(&a.waiter, Outcome{})
	if !a.waiter.Timer.In() {
		t.Error("the next call has no time")
	}
	last := &idle{}
	last.waiter.By = last
	cfg.Waits.Put(&last.waiter.Timer, 3)
	if cfg.Answer(&last.waiter, Outcome{}); last.waiter.Timer.In() {
		t.Error("the call is answered, and its timer runs")
	}
}
