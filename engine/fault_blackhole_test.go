package engine_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// blackHole is one holder behind a link of its own, and a contender who asks every millisecond.
type blackHole struct {
	t       *testing.T
	e       *engine.Engine
	proxy   *redistest.Proxy
	outside *outsider
	name    string
}

// until asks every millisecond until the name is granted, and looks in the same moment whether the hold has
// told its end. margin is how long before it had.
func (b *blackHole) until(h *engine.Hold) (margin time.Duration) {
	told := make(chan time.Time, 1)
	go func() { <-h.Done(); told <- time.Now() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		granted, taken := b.outside.try(b.name, 10*time.Second)
		if !taken {
			continue
		}
		if err := h.Err(); err == nil {
			b.t.Errorf("%s was granted to another while the hold was believed to last", b.name)
		}
		if !ended(h) {
			b.t.Errorf("%s was granted to another before the hold was told", b.name)
		}
		return granted.Sub(<-told)
	}
	b.t.Errorf("%s was not granted within %v", b.name, patience)
	return 0
}

// once takes the name, loses the link at some moment between two renewals, and heals it.
func (b *blackHole) once(dir redistest.Direction, opts ...engine.LockOption) time.Duration {
	h, err := b.e.Mutex(b.name).Lock(soon(b.t), opts...)
	if err != nil {
		b.t.Errorf("lock: %v", err)
		return 0
	}
	time.Sleep(rand.N(700 * time.Millisecond)) // two renewals come in this time
	if h.Err() == nil {
		b.proxy.BlackHole(dir, true)
	}
	margin := b.until(h)
	if err := h.Err(); !isAny(err, engine.ErrLost) {
		b.t.Errorf("the hold ended with %v", err)
	}
	b.proxy.BlackHole(redistest.Both, false)
	if !b.outside.free(b.name) {
		b.t.Errorf("%s was taken from the contender", b.name)
	}
	return margin
}

// A holder that Redis cannot be reached from is told before anybody else is granted the lock. The margin is
// 1 % of the lease, here 10 ms and never under 5: a machine that keeps the whole process from running for
// longer than that fails this test, as it would fail a user.
func TestFaultBlackHoledHolderIsToldFirst(t *testing.T) {
	const holders = 5
	server := redistest.Start(t)
	var mu sync.Mutex
	smallest, margins := time.Hour, 0
	var wg sync.WaitGroup
	for i := range holders {
		proxy := redistest.NewProxy(t, server.Addr())
		b := &blackHole{t: t, proxy: proxy, e: connect(t, proxy.Addr(), lease(time.Second)),
			outside: newOutsider(t, server.Addr()), name: fmt.Sprintf("partitioned:%d", i)}
		wg.Go(func() {
			for round := range times(t, 50, 2*holders) / holders {
				dir := []redistest.Direction{redistest.Both, redistest.ClientToServer, redistest.ServerToClient}[(i+round)%3]
				var opts []engine.LockOption
				if round%4 == 3 { // a fixed lease is not outlived either
					opts = append(opts, engine.WithLease(time.Second))
				}
				margin := b.once(dir, opts...)
				mu.Lock()
				smallest, margins = min(smallest, margin), margins+1
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d holders were told before the contender was granted, the last of them %v before", margins, smallest)
}
