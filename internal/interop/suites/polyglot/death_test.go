package polyglot

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/interop"
	"github.com/wheellock/wheellock/internal/testkit"
)

// lease is that of the tests in which somebody renews or dies, on both sides: a machine may stand still for two thirds of it without taking a
// lock from the living.
const lease = 6 * time.Second

func brief(o *engine.Options) { o.Lease = lease }

// TestRenewals carry a lock of either side through two leases, while the other side waits.
func TestRenewals(t *testing.T) {
	beside(t, every, func(t *testing.T, p *pair) {
		h := testkit.MustLock(t, p.SimpleMutex("ours"))
		p.theirs.Do("lock theirs %d 0", lease.Milliseconds())
		answer := p.theirs.Start("lock ours %d %d", lease.Milliseconds(), 2*lease.Milliseconds())
		waiter := p.SimpleMutex("theirs").LockAsync(context.Background(), engine.WithWait(2*lease))
		renewal := time.NewTicker(lease / 3)
		defer renewal.Stop()
		for over := false; !over; {
			select {
			case <-renewal.C:
				p.theirs.Do("extend theirs")
			case <-waiter.Done():
				over = true
			}
		}
		testkit.WantIs(t, "our Lock beside a hold that they extend", testkit.ResultOf(waiter.Result()), engine.ErrWaitTimeout)
		p.theirs.Do("unlock theirs")
		if got := testkit.Receive(t, "their waiter", answer); got != "ok false" {
			t.Errorf("their lock beside a hold that we renew: %s", got)
		}
		testkit.MustUnlock(t, h)
	}, brief)
}

// TestTheyAreKilled: ours gets in when the lease of the dead is over, and not before.
func TestTheyAreKilled(t *testing.T) {
	beside(t, every, func(t *testing.T, p *pair) {
		p.theirs.Do("lock dead %d 0", lease.Milliseconds())
		waiter := p.SimpleMutex("dead").LockAsync(context.Background())
		p.kill(t, p.theirs, func() { testkit.MustUnlock(t, testkit.MustWait(t, waiter)) })
	}, brief)
}

// TestOursIsKilled: theirs gets in when the lease of the dead is over, and not before.
func TestOursIsKilled(t *testing.T) {
	beside(t, every, func(t *testing.T, p *pair) {
		mortal := (&library{name: "ours", command: libraries[3].command}).process(t, p.server)
		mortal.Do("lock dead 0 1000")
		answer := p.awaitPoller(t, "dead")
		p.kill(t, mortal, func() { p.granted(t, answer) })
	}, brief)
}

// kill ends the holder of dead, whom somebody waits for.
func (p *pair) kill(t *testing.T, holder *interop.Side, granted func()) {
	t.Helper()
	holder.Kill()
	killed := time.Now()
	left := time.Duration(p.server.MustDo("PTTL", "dead").Int) * time.Millisecond
	granted()
	waited := time.Since(killed)
	if left <= 0 || waited < left-2*time.Millisecond {
		t.Errorf("with %v left, the waiter had the lock after %v", left, waited)
	}
	t.Log(fmt.Sprintf("with %v left, the waiter had the lock after %v", left, waited.Round(time.Millisecond)))
}
