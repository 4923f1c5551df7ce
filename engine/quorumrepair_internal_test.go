package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/internal/redistest"
)

func openEach(t *testing.T, n int) (engines []*Engine) {
	t.Helper()
	for range n {
		e, err := Open(t.Context(), Options{AnswerTimeout: -1, Redis: rueidis.ClientOption{InitAddress: []string{redistest.Start(t).Addr()}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		engines = append(engines, e)
	}
	return engines
}

func mustLock(t *testing.T, l Locker, opts ...LockOption) *Hold {
	t.Helper()
	h, err := l.Lock(t.Context(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// openQuorum makes a QuorumLock of three engines.
func openQuorum(t *testing.T) (*QuorumLock, []*Engine) {
	t.Helper()
	engines := openEach(t, 3)
	q, err := Quorum("stock:7", engines...)
	if err != nil {
		t.Fatal(err)
	}
	return q, engines
}

// wholeOf is a hold of these parts, of which one may be missing.
func wholeOf(t *testing.T, q *QuorumLock, parts []*Hold) *Hold {
	t.Helper()
	h, err := q.whole(parts, &repairs{of: &q.several, servers: make([]missing, 3)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A hold that has fallen below its majority is not saved by a part that comes then, even if nobody has noticed the loss yet: for
// a moment another owner could have had the lock.
//
// invariant: quorum-counts-living-parts
func TestAQuorumThatWasLostIsNotRegained(t *testing.T) {
	t.Parallel()
	q, engines := openQuorum(t)
	blocker := mustLock(t, engines[0].Mutex("another"))
	stuck, release := make(chan struct{}), make(chan struct{})
	blocker.onEnd(func(error) { close(stuck); <-release })
	defer close(release)
	parts := []*Hold{nil, mustLock(t, engines[1].Mutex(q.name)), nil}
	late := mustLock(t, engines[2].Mutex(q.name))
	parts[0] = mustLock(t, engines[0].Mutex(q.name), WithLease(2*time.Second))
	h := wholeOf(t, q, parts)

	// The loop of the first engine is kept from noticing that its part is over, from long before.
	blocker.e.dispatcher.Force(blocker.name, gate.MutexKind, blocker.TenureID(), blocker.core.Tenure, nil)
	<-stuck
	time.Sleep(time.Until(parts[0].Deadline())) // sleeps: a lease that must run out on a real server
	if ended := h.ended.Load(); ended != 0 {
		t.Fatalf("somebody has noticed the loss: %d", ended)
	}
	h.composite().answered(h, answer{place: 2, hold: late})
	if err := h.Err(); !errors.Is(err, ErrLost) {
		t.Errorf("Err is %v, want ErrLost", err)
	}
	if late.Err() == nil {
		t.Error("the late part is held")
	}
}

// A part joins, or the hold has ended and somebody else gives the parts back: nothing is between the two.
//
// invariant: quorum-counts-living-parts
func TestAQuorumTakesNoPartWhileItsPartsAreGivenBack(t *testing.T) {
	t.Parallel()
	q, engines := openQuorum(t)
	parts := []*Hold{mustLock(t, engines[0].Mutex(q.name)), mustLock(t, engines[1].Mutex(q.name)), nil}
	h := wholeOf(t, q, parts)
	late := mustLock(t, engines[2].Mutex(q.name))
	if given := h.composite().close(); len(given) != 2 {
		t.Errorf("%d parts to be given back, want 2", len(given))
	}
	h.composite().answered(h, answer{place: 2, hold: late}) // Err is still nil
	if late.Err() == nil {
		t.Error("the late part is held")
	}
}

// A part that is over before it is known to be one counts as missing, and its server is asked again.
//
// invariant: quorum-counts-living-parts
func TestAPartThatEndsAsItJoinsIsMissing(t *testing.T) {
	t.Parallel()
	q, engines := openQuorum(t)
	h := wholeOf(t, q, []*Hold{mustLock(t, engines[0].Mutex(q.name)), mustLock(t, engines[1].Mutex(q.name)), nil})
	late := mustLock(t, engines[2].Mutex(q.name))
	if err := late.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := h.composite()
	c.answered(h, answer{place: 2, hold: late})
	c.mu.Lock()
	if c.parts[2] != nil || c.repairs.servers[2].timer == nil {
		t.Errorf("part %v, timer %v: want no part, and a timer", c.parts[2], c.repairs.servers[2].timer)
	}
	c.mu.Unlock()
	if err := h.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// A call that was refused by a majority gives back what is granted at that moment.
//
// invariant: quorum-counts-living-parts
func TestAQuorumThatWasRefusedTakesNothing(t *testing.T) {
	t.Parallel()
	e := openEach(t, 1)[0]
	part := mustLock(t, e.Mutex("stock:7"))
	new(compositeCall).takeLate(nil, answer{hold: part})
	if part.Err() == nil {
		t.Error("the part is held")
	}
}

// A hold that has all its parts costs no timer.
//
// invariant: quorum-counts-living-parts
func TestAWholeQuorumHasNoTimer(t *testing.T) {
	t.Parallel()
	q, _ := openQuorum(t)
	h := mustLock(t, q)
	redistest.Await(t, "all servers to have answered", func() bool { held, all := h.Parts(); return held == all })
	c := h.composite()
	c.mu.Lock()
	for i, s := range c.repairs.servers {
		if s.timer != nil {
			t.Errorf("server %d has a timer", i)
		}
	}
	c.mu.Unlock()
	if err := h.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}
