package interop

import (
	"context"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// TestStaying: names that stay taken without a hold, and Wanted, beside Redisson. invariant: detached-name-stays
func TestStaying(t *testing.T) {
	t.Parallel()
	p := newPair(t, engine.Options{})
	for _, k := range kinds[:4] {
		t.Run(k.redisson+": Redisson waits until our min hold is over", func(t *testing.T) { p.theyWaitForMinHold(t, k) })
		t.Run(k.redisson+": Redisson forces what we have detached", func(t *testing.T) { p.theyForceDetached(t, k) })
		t.Run(k.redisson+": ours adopts Redisson's", func(t *testing.T) { p.weAdopt(t, k) })
	}
	for _, k := range kinds {
		if !k.polls && k.redisson != "fenced" { // whose waiters are those of lock
			t.Run(k.redisson+": our holder is told that Redisson waits", func(t *testing.T) { p.weAreWanted(t, k) })
		}
	}
}

func (p *pair) theyWaitForMinHold(t *testing.T, k kind) {
	const minHold = 800 * time.Millisecond
	name, ctx := "min-hold:"+k.redisson, context.Background()
	granted := time.Now()
	h, err := k.lock(p.Engine, name).Lock(ctx, engine.WithMinHold(minHold))
	testkit.Must(t, err)
	early := p.java.Start("lock %s %s early", k.redisson, name)
	p.awaitWaiter(t, k, name)
	unlock(t, h)
	if left := minHold - time.Since(granted); left > 300*time.Millisecond { // on a busy machine it may be over
		got := p.java.Do("try %s %s t1 0", k.redisson, name) // with a time it would share early's latch, and could take the message from it
		locked, ttl := p.java.Do("locked %s %s", k.redisson, name), number(p.java.Do("ttl %s %s", k.redisson, name))
		if time.Since(granted) < minHold && (got != "false" || locked != "true" || ttl <= 0 || ttl > minHold.Milliseconds()) {
			t.Errorf("before the min hold is over: tryLock = %s, isLocked = %s, remainTimeToLive = %d ms", got, locked, ttl)
		}
	}
	woken(t, early, "Redisson's waiter")
	if took := time.Since(granted); took < minHold {
		t.Errorf("Redisson's waiter had it after %v", took)
	}
	p.java.Do("unlock %s %s early", k.redisson, name)
	if got := p.java.Do("try %s %s t2 %d", k.redisson, name, byMessage.Milliseconds()); got != "true" {
		t.Errorf("tryLock after the min hold = %s", got)
	}
	p.java.Do("unlock %s %s t2", k.redisson, name)
}

func (p *pair) theyForceDetached(t *testing.T, k kind) {
	name, ctx := "detached:"+k.redisson, context.Background()
	id, err := lock(t, k.lock(p.Engine, name)).Detach(ctx, time.Hour)
	testkit.Must(t, err)
	if got := p.java.Do("try %s %s t1", k.redisson, name); got != "false" {
		t.Errorf("Redisson's tryLock of what is detached = %s", got)
	}
	waiter := k.lock(p.Engine, name).LockAsync(ctx)
	p.awaitWaiter(t, k, name)
	if got := p.java.Do("force %s %s", k.redisson, name); got != "true" {
		t.Errorf("Redisson's forceUnlock of what is detached = %s", got)
	}
	within, cancel := context.WithTimeout(ctx, byMessage)
	defer cancel()
	h, err := waiter.Wait(within)
	if err != nil {
		t.Fatalf("our waiter after Redisson's forceUnlock: %v", err)
	}
	unlock(t, h)
	testkit.WantIs(t, "Adopt after Redisson's forceUnlock", testkit.ResultOf(k.lock(p.Engine, name).Adopt(ctx, id)), engine.ErrLost)
}

func (p *pair) weAdopt(t *testing.T, k kind) {
	name, m, ctx := "adopted:"+k.redisson, k.lock(p.Engine, "adopted:"+k.redisson), context.Background()
	p.java.Do("lock %s %s t1", k.redisson, name)
	p.java.Do("lock %s %s t1", k.redisson, name)
	h, err := m.Adopt(ctx, p.java.Do("owner t1"))
	testkit.Must(t, err)
	if held, count := p.java.Do("heldby %s %s t1", k.redisson, name), p.java.Do("count %s %s t1", k.redisson, name); held != "false" || count != "0" {
		t.Errorf("Redisson's isHeldByCurrentThread after our Adopt = %s, its count %s", held, count)
	}
	if answer, ok := p.java.Try("unlock %s %s t1", k.redisson, name); ok && k.redisson != "fair" { // as after ForceUnlock
		t.Errorf("Redisson's unlock after our Adopt = %s", answer)
	}
	if h.Err() != nil {
		t.Errorf("our hold ended: %v", h.Err())
	}
	if token, fenced := h.Token(); fenced && number(p.java.Do("token %s", name)) < token {
		t.Errorf("Redisson sees the token %s, ours is %d", p.java.Do("token %s", name), token)
	}
	waiter := p.java.Start("lock %s %s t2", k.redisson, name)
	p.awaitWaiter(t, k, name)
	if !k.polls {
		p.awaitSleeper(t)
	}
	unlock(t, h)
	woken(t, waiter, "Redisson's waiter after our Unlock")
	p.java.Do("unlock %s %s t2", k.redisson, name)
}

func (p *pair) weAreWanted(t *testing.T, k kind) {
	name := "wanted:" + k.redisson
	h := lock(t, k.other().lock(p.Engine, name))
	wanted := h.Wanted()
	select {
	case <-wanted:
		t.Error("nobody waits, and it is closed")
	case <-time.After(300 * time.Millisecond):
	}
	waiter := p.java.Start("lock %s %s t1", k.redisson, name)
	redistest.Await(t, "the holder to be told", func() bool {
		select {
		case <-wanted:
			return true
		default:
			return false
		}
	})
	p.awaitSleeper(t)
	unlock(t, h)
	woken(t, waiter, "Redisson's waiter")
	p.java.Do("unlock %s %s t1", k.redisson, name)
}
