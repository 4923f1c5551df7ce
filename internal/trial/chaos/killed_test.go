package chaos

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

var kills = flag.Int("kills", 8, "how many holders are killed, and 2/5 as many waiters and fair waiters each")

// atOnce is how many clients are killed side by side.
const atOnce = 8

// graveyard is where clients are killed while they hold a lock or wait for it, and others come next.
type graveyard struct {
	t      *testing.T
	server *redistest.Server
	first  *engine.Engine
	second *engine.Engine

	mu    sync.Mutex // guards the rest
	waits []time.Duration
	stall []span
	faint []span // of Redis
}

func newGraveyard(t *testing.T) *graveyard {
	g := &graveyard{t: t, server: redistest.Start(t)}
	for _, e := range []**engine.Engine{&g.first, &g.second} {
		// Those who live have the default lease: on a machine that stands still they must not lose what they have.
		*e = testkit.MustOpen(t, func(ctx context.Context) (*engine.Engine, error) {
			return engine.Open(ctx, engine.Options{Redis: rueidis.ClientOption{InitAddress: []string{g.server.Addr()}},
				FairWaiterLease: shortLease, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
		})
		t.Cleanup(func() { _ = (*e).Close() })
	}
	ctx, stop := context.WithCancel(context.Background())
	var pacing sync.WaitGroup
	pacing.Go(func() {
		pace(ctx, paceBeat, func(r record) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.stall = append(g.stall, span{r.At, r.Until})
		})
	})
	pacing.Go(func() {
		pulse(ctx, g.server.Addr(), func(s span) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.faint = append(g.faint, s)
		})
	})
	t.Cleanup(func() { stop(); pacing.Wait() })
	return g
}

// victim starts a client that calls for a lock once, and waits until it has called, or holds it.
func (g *graveyard) victim(p place, holds bool) *process {
	said := make(chan struct{})
	var once sync.Once
	v := startClient(g.t, setting{Addr: g.server.Addr(), Lease: shortLease, Places: []place{p}, Waiters: 1, Hold: true}, func(r record) {
		if r.What == granted || r.What == called && !holds {
			once.Do(func() { close(said) })
		}
	})
	left := restWithin
	if !running(said, &left) {
		g.t.Errorf("a client on %s said nothing", p.Name)
	}
	return v
}

// grave is one victim: it returns when the next one should have been able to come, and when it did.
type grave func(g *graveyard, name string) (from, to instant)

// dig kills n clients, some at once, and reports how long the next one waited.
func (g *graveyard) dig(kind string, n int, bury grave) {
	next := make(chan int)
	var digging sync.WaitGroup
	for range atOnce {
		digging.Go(func() {
			for i := range next {
				from, to := bury(g, fmt.Sprintf("%s:%d", kind, i))
				g.mu.Lock()
				slept := max(span{from, to}.shared(g.stall), span{from, to}.shared(g.faint))
				g.waits = append(g.waits, to.sub(from))
				if wait := to.sub(from); wait > shortLease+50*time.Millisecond+slept+time.Second {
					g.t.Errorf("%s:%d: the next was granted %v after the kill; the machine stood still for %v", kind, i, wait, slept)
				}
				g.mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	digging.Wait()
	slices.Sort(g.waits)
	g.t.Logf("%d clients killed %s: the next was granted after %v (median), %v (p99), %v (worst)", n, kind,
		g.waits[n/2].Round(time.Millisecond), g.waits[min(n-1, n*99/100)].Round(time.Millisecond), g.waits[n-1].Round(time.Millisecond))
	g.awaitEmpty()
}

// awaitEmpty waits until nothing of the dead is left.
func (g *graveyard) awaitEmpty() {
	redistest.Await(g.t, "a Redis without keys and subscriptions", func() bool {
		return len(g.server.Keys()) == 0 && g.server.Subscriptions().Count() == 0
	})
}

// mustHold waits for a grant.
func (g *graveyard) mustHold(h *engine.Hold, err error) *engine.Hold {
	if err != nil {
		g.t.Errorf("lock: %v", err)
		return nil
	}
	return h
}

func (g *graveyard) free(h *engine.Hold) {
	if h == nil {
		return
	}
	if err := testkit.Patiently(h.Unlock); err != nil {
		g.t.Errorf("unlock: %v", err)
	}
}

// Whoever comes after a process that died is granted within a lease and 50 ms, and nothing of the dead stays.
func TestKilledClients(t *testing.T) {
	background := context.Background()
	t.Run("holding", func(t *testing.T) {
		newGraveyard(t).dig("holding", *kills, func(g *graveyard, name string) (from, to instant) {
			v := g.victim(place{Kind: mutexes, Name: name}, true)
			next := g.first.Mutex(name).LockAsync(background)
			from = v.kill()
			h := g.mustHold(next.Wait(background))
			to = now()
			g.free(h)
			return from, to
		})
	})
	t.Run("waiting", func(t *testing.T) {
		newGraveyard(t).dig("waiting", *kills*2/5, func(g *graveyard, name string) (from, to instant) {
			h := g.mustHold(g.first.Mutex(name).Lock(background))
			v := g.victim(place{Kind: mutexes, Name: name}, false)
			next := g.second.Mutex(name).LockAsync(background)
			v.kill()
			from = now()
			g.free(h)
			h = g.mustHold(next.Wait(background))
			to = now()
			g.free(h)
			return from, to
		})
	})
	t.Run("queued for a fair lock", func(t *testing.T) {
		newGraveyard(t).dig("queued", *kills*2/5, func(g *graveyard, name string) (from, to instant) {
			h := g.mustHold(g.first.FairMutex(name).Lock(background))
			v := g.victim(place{Kind: fairs, Name: name}, false)
			redistest.Await(g.t, "the victim's place in the queue", func() bool {
				return g.server.Do("LLEN", "redisson_lock_queue:{"+name+"}").Int == 1
			})
			next := g.second.FairMutex(name).LockAsync(background)
			from = v.kill()
			g.free(h)
			h = g.mustHold(next.Wait(background))
			to = now()
			g.free(h)
			return from, to
		})
	})
}
