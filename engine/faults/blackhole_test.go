package faults_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// pacemaker notices when the machine did not let this process run. A hold cannot be told anything then, and
// no lock on leases can help it: only Err, which compares clocks, is right even so.
type pacemaker struct {
	beat  atomic.Int64 // when it last ran, in ns since it began
	stall atomic.Int64 // when it last ran late
	began time.Time
}

// lateBeat is how late a goroutine that sleeps a millisecond may wake up on a machine that works.
const lateBeat = 3 * time.Millisecond

func newPacemaker(t *testing.T) *pacemaker {
	p := &pacemaker{began: time.Now()}
	p.stall.Store(-1)
	testkit.Every(t, time.Millisecond, func() {
		now := time.Since(p.began)
		if now-time.Duration(p.beat.Swap(int64(now))) > time.Millisecond+lateBeat {
			p.stall.Store(int64(now))
		}
	})
	return p
}

// stalled reports whether the process stood still at some moment since then, or stands still now.
func (p *pacemaker) stalled(since time.Time) bool {
	now := time.Since(p.began)
	return now-time.Duration(p.beat.Load()) > time.Millisecond+lateBeat || time.Duration(p.stall.Load()) > since.Sub(p.began)
}

// blackHole is one holder behind a link of its own, and a contender who asks every millisecond.
type blackHole struct {
	t       *testing.T
	e       *engine.Engine
	proxy   *redistest.Proxy
	outside *testkit.Outsider
	pace    *pacemaker
	name    string
}

// until asks every millisecond until the name is granted, and looks in the same moment whether the hold has
// told its end. margin is how long before it had; void: the process stood still around the hold's deadline.
func (b *blackHole) until(h *engine.Hold) (margin time.Duration, void bool) {
	told := make(chan time.Time, 1)
	go func() { <-h.Done(); told <- time.Now() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); <-tick.C {
		granted, taken := b.outside.Try(b.name, time.Minute)
		if !taken {
			continue
		}
		if h.Err() == nil {
			b.t.Errorf("%s was granted to another while the hold was believed to last", b.name)
		}
		if !testkit.Ended(h) {
			if void = b.pace.stalled(h.Deadline().Add(-10 * time.Millisecond)); !void {
				b.t.Errorf("%s was granted to another before the hold was told", b.name)
			}
		}
		return granted.Sub(<-told), void
	}
	b.t.Errorf("%s was not granted within %v", b.name, testkit.Patience)
	return 0, true
}

// once takes the name, loses the link at some moment between two renewals, and heals it.
func (b *blackHole) once(dir redistest.Direction, opts ...engine.LockOption) (margin time.Duration, void bool) {
	h, err := b.e.Mutex(b.name).Lock(testkit.Soon(b.t), opts...)
	if err != nil {
		b.t.Errorf("lock: %v", err)
		return 0, true
	}
	time.Sleep(rand.N(700 * time.Millisecond)) // two renewals come in this time
	b.proxy.BlackHole(dir, true)
	margin, void = b.until(h)
	if err := h.Err(); !testkit.IsAny(err, engine.ErrLost) {
		b.t.Errorf("the hold ended with %v", err)
	}
	b.proxy.BlackHole(redistest.Both, false)
	if !b.outside.Free(b.name) {
		b.t.Errorf("%s was taken from the contender", b.name)
	}
	return margin, void
}

// A holder that Redis cannot be reached from is told before anybody else is granted the lock, each time. The
// margin is 1 % of the lease, here 10 ms.
func TestFaultBlackHoledHolderIsToldFirst(t *testing.T) {
	const holders = 5
	server := redistest.Start(t)
	pace := newPacemaker(t)
	var mu sync.Mutex // guards these three
	smallest, told, voids := time.Hour, 0, 0
	var wg sync.WaitGroup
	for i := range holders {
		proxy := redistest.NewProxy(t, server.Addr())
		b := &blackHole{t: t, proxy: proxy, pace: pace, e: testkit.Connect(t, proxy.Addr(), testkit.Lease(time.Second)),
			outside: testkit.NewOutsider(t, server.Addr()), name: fmt.Sprintf("partitioned:%d", i)}
		wg.Go(func() {
			for round := range testkit.Times(t, 50, 2*holders) / holders {
				dir := []redistest.Direction{redistest.Both, redistest.ClientToServer, redistest.ServerToClient}[(i+round)%3]
				var opts []engine.LockOption
				if (i+round)%4 == 3 { // a fixed lease is not outlived either
					opts = append(opts, engine.WithLease(time.Second))
				}
				margin, void := b.once(dir, opts...)
				mu.Lock()
				if void {
					voids++
				} else {
					smallest, told = min(smallest, margin), told+1
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d holders were told before the contender was granted, the last of them %v before; %d times the machine stood still", told, smallest, voids)
	if told == 0 {
		t.Error("the machine stood still each time: nothing was seen")
	}
}
