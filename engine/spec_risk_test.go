package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// risks is an observer that keeps what it is told of risks and of the ends of holds.
func (r *record) risks() *engine.Observer {
	return &engine.Observer{Risk: r.risk, Ended: r.observer().Ended}
}

func (r *record) risk(k engine.Risk) {
	switch {
	case k.Err == nil:
		r.add("%s %s renewed", k.Kind, k.Name)
	case k.Left > 15*time.Second || k.Left < 11*time.Second || k.Owner == "": // of a lease of 30 s
		r.add("%s %s of %s at risk, %v left", k.Kind, k.Name, k.Owner, k.Left)
	default:
		r.add("%s %s at risk: %s", k.Kind, k.Name, riskOf(k.Err))
	}
}

// riskOf names why a hold is at risk.
func riskOf(err error) string {
	for name, target := range map[string]error{
		"not sent": engine.ErrNotSent, "refused": engine.ErrRefused, "uncertain": engine.ErrUncertain, "too few replicas": engine.ErrNotReplicated,
	} {
		if errors.Is(err, target) {
			return name
		}
	}
	return fmt.Sprint(err)
}

// specRisk is spec for an engine with such an observer.
func specRisk(opts engine.Options, test func(b *bubble, r *record)) func(*testing.T) {
	r := &record{}
	opts.Observer = r.risks()
	return spec(opts, func(b *bubble) { test(b, r) })
}

// invariant: warned-once
func TestSpecRisk(t *testing.T) {
	t.Parallel()
	t.Run("a holder is told while the link is cut, and when it was renewed", specRisk(engine.Options{}, func(b *bubble, r *record) {
		h := b.lock(b.Mutex("stock:7"))
		b.redis.SetDown(true)
		time.Sleep(14 * time.Second)
		b.wantSaid(r)
		time.Sleep(4 * time.Second)
		b.wantSaid(r, "mutex stock:7 at risk: not sent")
		b.wantAtRisk(1)
		time.Sleep(5 * time.Second)
		b.redis.SetDown(false)
		time.Sleep(2 * time.Second)
		b.wantSaid(r, "mutex stock:7 renewed")
		b.wantAtRisk(0)
		time.Sleep(manyLeases)
		b.wantHeld(h)
		b.unlock(h)
		b.wantSaid(r, "mutex stock:7 ended after 10m25s: unlocked")
	}))
	t.Run("it is told once, before the loss", specRisk(engine.Options{}, func(b *bubble, r *record) {
		h := b.lock(b.Mutex("stock:7"))
		b.redis.SetDown(true)
		<-h.Done()
		b.wantSaid(r, "mutex stock:7 at risk: not sent", "mutex stock:7 ended after 29.7s: lost")
		b.wantAtRisk(0)
	}))
	t.Run("nothing is told of what is unlocked or renewed in time", specRisk(engine.Options{}, func(b *bubble, r *record) {
		h := b.lock(b.Mutex("stock:7"))
		for range 10 {
			time.Sleep(9500 * time.Millisecond)
			b.redis.SetDown(true)
			time.Sleep(3 * time.Second)
			b.redis.SetDown(false)
			time.Sleep(time.Second)
		}
		b.wantHeld(h)
		b.redis.SetDown(true)
		time.Sleep(12 * time.Second)
		h.UnlockAsync()
		time.Sleep(time.Minute)
		b.wantSaid(r, "mutex stock:7 ended after 2m27s: unlocked")
	}))
	t.Run("what is unlocked at risk ends, and nothing else is told", specRisk(engine.Options{}, func(b *bubble, r *record) {
		h := b.lock(b.Mutex("stock:7"))
		b.redis.SetDown(true)
		time.Sleep(20 * time.Second)
		h.UnlockAsync()
		b.redis.SetDown(false)
		time.Sleep(time.Minute)
		b.wantSaid(r, "mutex stock:7 at risk: not sent", "mutex stock:7 ended after 20s: unlocked")
		b.wantAtRisk(0)
	}))
	t.Run("a server that does not answer", specRisk(engine.Options{}, func(b *bubble, r *record) {
		h := b.lock(b.Mutex("stock:7"))
		b.redis.SetLatency(time.Hour)
		time.Sleep(20 * time.Second)
		b.wantSaid(r, "mutex stock:7 at risk: not sent")
		b.redis.SetLatency(0)
		time.Sleep(5 * time.Second)
		b.wantSaid(r, "mutex stock:7 renewed")
		b.wantHeld(h)
	}))
	t.Run("a server that refuses", specRisk(engine.Options{}, func(b *bubble, r *record) {
		h := b.lock(b.Mutex("stock:7"))
		for range 12 {
			b.redis.FailNext("stock:7", enginetest.NoPermission)
		}
		time.Sleep(20 * time.Second)
		b.wantSaid(r, "mutex stock:7 at risk: refused", "mutex stock:7 renewed")
		b.wantHeld(h)
	}))
	t.Run("answers that are lost", specRisk(engine.Options{}, func(b *bubble, r *record) {
		h := b.lock(b.Mutex("stock:7"))
		for range 1000 {
			b.redis.FailNext("stock:7", enginetest.LostAnswer)
		}
		<-h.Done()
		b.wantSaid(r, "mutex stock:7 at risk: uncertain", "mutex stock:7 ended after 29.7s: lost")
	}))
	t.Run("every kind that is renewed, and no fixed lease", specRisk(engine.Options{}, func(b *bubble, r *record) {
		permits := b.permitPool(b.Engine, 2)
		for _, l := range []*engine.Mutex{b.Mutex("m"), b.FencedMutex("f"), b.SpinMutex("s"), b.FairMutex("q"), b.RWMutex("r").Reader(), b.RWMutex("w").Writer()} {
			b.lock(l)
		}
		b.acquire(permits, 2)
		b.lock(b.Mutex("fixed"), engine.WithLease(25*time.Second))
		b.redis.SetLatency(time.Hour)
		time.Sleep(20 * time.Second)
		got := r.lines()
		slices.Sort(got)
		b.wantLines(got, "fair q at risk: not sent", "fenced f at risk: not sent", "mutex m at risk: not sent",
			"permits pool at risk: not sent", "read r at risk: not sent", "spin s at risk: not sent", "write w at risk: not sent")
		b.wantAtRisk(7)
		b.redis.SetLatency(0)
		time.Sleep(10 * time.Second)
		got = r.lines()
		slices.Sort(got)
		b.wantLines(got, "fair q renewed", "fenced f renewed", "mutex fixed ended after 24.75s: lost", "mutex m renewed", "permits pool renewed", "read r renewed", "spin s renewed", "write w renewed")
		b.wantAtRisk(0)
	}))
	t.Run("who re-enters is told as well", specRisk(engine.Options{}, func(b *bubble, r *record) {
		me := engine.WithOwner(engine.NewOwner())
		h := b.lock(b.Mutex("stock:7"), me)
		b.redis.SetLatency(time.Hour)
		time.Sleep(18 * time.Second)
		b.wantSaid(r, "mutex stock:7 at risk: not sent")
		again := b.lock(b.Mutex("stock:7"), me)
		b.wantSaid(r, "mutex stock:7 at risk: uncertain")
		b.wantAtRisk(2)
		b.unlock(h)
		b.wantAtRisk(1)
		b.redis.SetLatency(0)
		time.Sleep(10 * time.Second)
		b.wantSaid(r, "mutex stock:7 ended after 18s: unlocked", "mutex stock:7 renewed")
		b.unlock(again)
	}))
	t.Run("the end waits for a function that blocks", func(t *testing.T) {
		free := make(chan struct{})
		r := &record{}
		o := r.risks()
		spec(engine.Options{Observer: &engine.Observer{Ended: o.Ended, Risk: func(k engine.Risk) { <-free; o.Risk(k) }}}, func(b *bubble) {
			free = make(chan struct{})
			h := b.lock(b.Mutex("stock:7"))
			b.redis.SetLatency(time.Hour)
			time.Sleep(20 * time.Second)
			h.UnlockAsync()
			b.wantSaid(r)
			close(free)
			b.wantSaid(r, "mutex stock:7 at risk: not sent", "mutex stock:7 ended after 20s: unlocked")
		})(t)
	})
	t.Run("a function that panics or ends its goroutine", func(t *testing.T) {
		r := &record{}
		o := r.risks()
		spec(engine.Options{Observer: &engine.Observer{Ended: o.Ended, Risk: func(k engine.Risk) {
			o.Risk(k)
			if k.Name == "panics" {
				panic(k)
			}
			runtime.Goexit()
		}}}, func(b *bubble) {
			for _, name := range []string{"panics", "ends"} {
				b.lock(b.Mutex(name))
			}
			b.redis.SetDown(true)
			time.Sleep(time.Minute)
			got := r.lines()
			slices.Sort(got)
			b.wantLines(got, "mutex ends at risk: not sent", "mutex ends ended after 29.7s: lost", "mutex panics at risk: not sent", "mutex panics ended after 29.7s: lost")
		})(t)
	})
	t.Run("the log has one line, and the number of the others", specLogged(engine.Options{}, func(b *bubble, log *lockedLog) {
		for i := range 1000 {
			b.lock(b.Mutex(fmt.Sprint("stock:", i)))
		}
		b.redis.SetLatency(time.Hour)
		time.Sleep(26 * time.Second)
		synctest.Wait()
		text := log.read()
		for _, line := range []string{
			`kind=mutex left=13.7s cause="wheellock: renew \"stock:`,
			`level=WARN msg="wheellock: more renewals are overdue" locks=999 within=10s`,
		} {
			if strings.Count(text, "overdue") != 2 || !strings.Contains(text, line) {
				b.Errorf("the log lacks %s, or has more:\n%s", line, text)
			}
		}
	}))
}

// invariant: warned-once
func TestSpecRiskOfSeveralLocks(t *testing.T) {
	t.Parallel()
	t.Run("a MultiLock is at risk when one of its locks is", specRisk(engine.Options{}, func(b *bubble, r *record) {
		multi, err := engine.Multi(b.Mutex("a"), b.Mutex("b"))
		b.wantNil("Multi", err)
		h := b.lock(multi)
		b.redis.SetDown(true)
		time.Sleep(20 * time.Second)
		b.wantSaid(r, "multi a,b at risk: not sent")
		b.wantAtRisk(2)
		b.redis.SetDown(false)
		time.Sleep(5 * time.Second)
		b.wantSaid(r, "multi a,b renewed")
		b.unlock(h)
		b.wantSaid(r, "multi a,b ended after 25s: unlocked")
	}))
	t.Run("a QuorumLock is at risk when too few parts are not", specRisk(engine.Options{}, func(b *bubble, r *record) {
		engines, servers := []*engine.Engine{b.Engine}, []*enginetest.Server{b.redis}
		for range 2 {
			e, server := enginetest.New(b.T, engine.Options{})
			engines, servers = append(engines, e), append(servers, server)
		}
		q, err := engine.Quorum("q", engines...)
		b.wantNil("Quorum", err)
		h := b.lock(q)
		synctest.Wait()
		servers[1].SetDown(true)
		time.Sleep(20 * time.Second)
		b.wantSaid(r)
		servers[2].SetDown(true)
		time.Sleep(18 * time.Second)
		b.wantSaid(r, "quorum q at risk: not sent")
		servers[2].SetDown(false)
		time.Sleep(5 * time.Second)
		b.wantSaid(r, "quorum q renewed")
		b.wantHeld(h)
		b.unlock(h)
		b.wantSaid(r, "quorum q ended after 43s: unlocked")
	}))
}

func (b *bubble) wantAtRisk(want int64) {
	b.Helper()
	synctest.Wait()
	if got := b.Stats().AtRisk; got != want {
		b.Errorf("Stats().AtRisk is %d, want %d", got, want)
	}
}

func (b *bubble) wantLines(got []string, want ...string) {
	b.Helper()
	if !slices.Equal(got, want) {
		b.Errorf("the observer was told\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// Whatever befalls whom, what is told of a hold comes in turn: the grant, then risks and renewals by turns, then the end, and nothing
// after it. Each hold has a name of its own, by which it is known.
// invariant: warned-once
func TestSpecRiskComesInTurn(t *testing.T) {
	var mu sync.Mutex
	at, risks := map[string]string{}, 0
	turn := func(name, to string, from ...string) {
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(from, at[name]) {
			t.Errorf("%s: %s after %q", name, to, at[name])
		}
		at[name] = to
	}
	opts := engine.Options{Lease: 3 * time.Second, Observer: &engine.Observer{
		Granted: func(g engine.Grant) { turn(g.Name, "granted", "") },
		Ended:   func(e engine.End) { turn(e.Name, "ended", "granted", "risk", "renewed") },
		Risk: func(k engine.Risk) {
			if k.Err == nil {
				turn(k.Name, "renewed", "risk")
				return
			}
			turn(k.Name, "risk", "granted", "renewed")
			mu.Lock()
			defer mu.Unlock()
			if risks++; k.Left < 870*time.Millisecond || k.Left > 1500*time.Millisecond {
				t.Errorf("%s: %v left", k.Name, k.Left)
			}
		},
	}}
	spec(opts, func(b *bubble) {
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(i)))
				for n := range 20 {
					name := fmt.Sprintf("%d:%d", i, n)
					l := []engine.Locker{b.Mutex(name), b.FairMutex(name), b.RWMutex(name).Reader(), b.RWMutex(name).Writer()}[r.IntN(4)]
					if r.IntN(4) == 0 {
						l, _ = engine.Multi(b.Mutex(name))
					}
					h, err := l.Lock(b.Context())
					if err != nil {
						b.Errorf("Lock(%s): %v", name, err)
						return
					}
					time.Sleep(time.Duration(r.Int64N(int64(6 * time.Second))))
					if r.IntN(2) == 0 {
						h.UnlockAsync()
					} else {
						h.Unlock(b.Context()) // or it was lost
					}
				}
			})
		}
		end := make(chan struct{})
		go func() { all.Wait(); close(end) }()
		for r := rand.New(rand.NewPCG(2, 2)); !isClosed(end); {
			b.redis.SetDown(true)
			time.Sleep(time.Duration(r.Int64N(int64(4 * time.Second))))
			b.redis.SetDown(false)
			time.Sleep(time.Duration(r.Int64N(int64(3 * time.Second))))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		b.wantAtRisk(0)
		for name, last := range at {
			if last != "ended" {
				b.Errorf("%s: the last that was told is %q", name, last)
			}
		}
		if len(at) != 4000 || risks < 100 {
			b.Errorf("%d holds were told of, and %d risks", len(at), risks)
		}
	})(t)
}
