package polyglot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// long is a wait, or a lease, that nothing here lasts for, in ms.
const long = 600_000

// TestMatrix: each side waits for the other, sees and extends its hold beside the other, and can be forced or adopted.
func TestMatrix(t *testing.T) {
	beside(t, every, func(t *testing.T, p *pair) {
		t.Run("ours holds, theirs waits", p.theyWait)
		t.Run("theirs holds, ours waits", p.weWait)
		t.Run("theirs is seen by us", p.weSee)
		t.Run("both extend", p.extend)
		t.Run("theirs is forced by us", p.weForce)
		t.Run("theirs is adopted by us", p.weAdopt)
		t.Run("ours is deleted", p.theyForce)
	})
}

func (p *pair) theyWait(t *testing.T) {
	h := testkit.MustLock(t, p.SimpleMutex("ours"))
	if got := p.theirs.Do("lock ours %d 0", long); got != "false" {
		t.Errorf("they lock beside our hold: %s", got)
	}
	answer := p.awaitPoller(t, "ours")
	testkit.MustUnlock(t, h)
	p.granted(t, answer)
	p.theirs.Do("unlock ours")
	testkit.MustUnlock(t, testkit.MustLock(t, p.SimpleMutex("ours")))
}

// awaitPoller has them wait for a name, and returns when they have asked for it.
func (p *pair) awaitPoller(t *testing.T, name string) (answer <-chan string) {
	t.Helper()
	seen := p.server.Monitor()
	defer seen.Stop()
	answer = p.theirs.Start("lock %s %d %d", name, long, long)
	redistest.Await(t, "them to ask", func() bool { return strings.Contains(fmt.Sprint(seen.Take()), `"`+name+`"`) })
	return answer
}

// granted wants their waiter to have the lock soon.
func (p *pair) granted(t *testing.T, answer <-chan string) {
	t.Helper()
	if got := testkit.Receive(t, "their waiter", answer); got != "ok true" {
		t.Fatalf("their waiter: %s", got)
	}
}

func (p *pair) weWait(t *testing.T) {
	p.theirs.Do("lock theirs %d 0", long)
	held := new(engine.HeldError)
	if _, err := p.SimpleMutex("theirs").TryLock(testkit.Soon(t)); !errors.Is(err, engine.ErrHeld) || !errors.As(err, &held) || held.TTL <= 0 {
		t.Errorf("our TryLock beside their hold = %v", err)
	}
	waiter := p.SimpleMutex("theirs").LockAsync(context.Background())
	if _, err := p.SimpleMutex("theirs").Lock(context.Background(), engine.WithWait(50*time.Millisecond)); !errors.Is(err, engine.ErrWaitTimeout) || !errors.Is(err, engine.ErrHeld) {
		t.Errorf("our Lock beside their hold = %v", err)
	}
	p.theirs.Do("unlock theirs")
	testkit.MustUnlock(t, testkit.MustWait(t, waiter))
}

func (p *pair) weSee(t *testing.T) {
	m := p.SimpleMutex("seen")
	p.theirs.Do("lock seen %d 0", long)
	state, err := m.Inspect(testkit.Soon(t))
	if err != nil || !state.Locked || state.Ours || state.Count != 1 || state.Kind != engine.KindSimple ||
		state.Owner != p.server.MustDo("GET", "seen").Text || state.TTL <= 0 || state.TTL > long*time.Millisecond {
		t.Errorf("Inspect of their hold = %+v, %v", state, err)
	}
	p.theirs.Do("unlock seen")
	if state, err = m.Inspect(testkit.Soon(t)); err != nil || state.Locked {
		t.Errorf("Inspect after their unlock = %+v, %v", state, err)
	}
}

// extend: each shortens the other's lease by hand, so that the extension shows.
func (p *pair) extend(t *testing.T) {
	left := func() time.Duration { return time.Duration(p.server.MustDo("PTTL", "extended").Int) * time.Millisecond }
	p.theirs.Do("lock extended %d 0", long)
	waiter := p.SimpleMutex("extended").LockAsync(context.Background())
	p.server.MustDo("PEXPIRE", "extended", fmt.Sprint(long/2))
	if p.theirs.Do("extend extended"); left() <= long/2*time.Millisecond {
		t.Errorf("after their extension %v are left", left())
	}
	p.theirs.Do("unlock extended")
	testkit.MustUnlock(t, testkit.MustWait(t, waiter))

	h := testkit.MustLock(t, p.SimpleMutex("extended"), engine.WithLease(testkit.Patience))
	answer := p.awaitPoller(t, "extended")
	if err := h.Extend(testkit.Soon(t), long*time.Millisecond); err != nil || left() <= testkit.Patience {
		t.Errorf("after our Extend %v are left, %v", left(), err)
	}
	testkit.MustUnlock(t, h)
	p.granted(t, answer)
	p.theirs.Do("unlock extended")
}

func (p *pair) weForce(t *testing.T) {
	p.theirs.Do("lock forced %d 0", long)
	if freed, err := p.SimpleMutex("forced").ForceUnlock(testkit.Soon(t)); !freed || err != nil {
		t.Errorf("ForceUnlock of their hold = %t, %v", freed, err)
	}
	h := testkit.MustLock(t, p.SimpleMutex("forced"))
	if answer, ok := p.theirs.Try("extend forced"); ok {
		t.Errorf("they extend what was forced: %s", answer)
	}
	answer, ok := p.theirs.Try("unlock forced")
	t.Logf("they unlock what was forced: %t, %s", ok, answer)
	testkit.MustUnlock(t, h) // it is still ours
}

func (p *pair) weAdopt(t *testing.T) {
	m := p.SimpleMutex("adopted")
	p.theirs.Do("lock adopted %d 0", long)
	state, err := m.Inspect(testkit.Soon(t))
	testkit.Must(t, err)
	h, err := m.Adopt(testkit.Soon(t), state.Owner)
	if err != nil {
		t.Fatalf("Adopt of their hold: %v", err)
	}
	if answer, ok := p.theirs.Try("extend adopted"); ok {
		t.Errorf("they extend what was adopted: %s", answer)
	}
	testkit.MustUnlock(t, h)
}

func (p *pair) theyForce(t *testing.T) {
	h := testkit.MustLock(t, p.SimpleMutex("deleted"))
	p.server.MustDo("DEL", "deleted")
	p.theirs.Do("lock deleted %d 0", long)
	testkit.WantIs(t, "Unlock of what was deleted", h.Unlock(testkit.Soon(t)), engine.ErrLost)
	p.theirs.Do("unlock deleted")
}
