package faults_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// Every kind at once on real servers, while connections end at random bytes, answers get lost, calls are cancelled and listeners are
// killed: what the kinds promise in virtual time, they promise there. Nobody polls. Then all data are deleted, and all holders are told.
func TestFaultKindsOnRealServers(t *testing.T) {
	t.Parallel()
	const name = "stock:"
	var servers []*redistest.Server
	var proxies []*redistest.Proxy
	var ours, theirs []*engine.Engine
	options := []func(*engine.Options){testkit.Lease(time.Hour), testkit.OnlyMessages, func(o *engine.Options) { o.HandoffTime = time.Millisecond }}
	for range 3 {
		server := redistest.Start(t)
		proxy := redistest.NewProxy(t, server.Addr())
		servers, proxies = append(servers, server), append(proxies, proxy)
		ours, theirs = append(ours, testkit.Connect(t, proxy.Addr(), options...)), append(theirs, testkit.Connect(t, server.Addr(), options...))
	}
	var wg sync.WaitGroup
	var turns atomic.Int64
	want := int64(testkit.Times(t, 2000, 40))
	over := testkit.Reached(want, func() (faults int64) {
		for _, p := range proxies {
			stats := p.Stats()
			faults += stats.Cut + stats.Swallowed
		}
		return faults
	})
	for _, k := range kindsOfAll {
		if k.permits {
			servers[0].MustDo("SET", name+k.name, strconv.Itoa(several))
		}
		r := roundsOn(t, servers[0], &k)
		for i := range 3 {
			wg.Go(func() {
				for isHeld(&k) && !t.Failed() && !over() {
					r.once([][]*engine.Engine{ours, ours, theirs}[i], name+k.name)
					turns.Add(1)
				}
			})
		}
	}
	for i := 0; !over() && !t.Failed(); i++ {
		p, before := proxies[i/3%3], turns.Load()
		switch i % 3 {
		case 0:
			p.Cut()
		case 1:
			p.SwallowReply(redistest.Swallow{Match: "EVALSHA", Nth: 3})
		case 2:
			servers[i/3%3].KillClients("pubsub")
		}
		redistest.Await(t, "calls to go on", func() bool { return turns.Load() > before+20 || over() }) // else a slow machine is never done
	}
	for _, p := range proxies {
		p.SwallowNothing()
	}
	wg.Wait()
	redistest.Await(t, "nothing to be left", func() bool {
		return !slices.ContainsFunc(servers, func(s *redistest.Server) bool {
			return len(left(s.Keys(), func(key string) string { return s.Do("GET", key).Text })) > 0 || s.Subscriptions().Count() > 0
		})
	})

	var brief []*engine.Engine
	for _, server := range servers {
		brief = append(brief, testkit.Connect(t, server.Addr(), testkit.Lease(1500*time.Millisecond)))
	}
	var held []*engine.Hold
	for _, k := range kindsOfAll {
		if k.holders {
			got, err := k.source(brief, name+k.name).get(testkit.Soon(t))
			testkit.Must(t, err)
			held = append(held, got.hold)
		}
	}
	for _, server := range servers {
		server.MustDo("FLUSHALL")
	}
	for _, h := range held {
		if err := testkit.MustEnd(t, h); !errors.Is(err, engine.ErrLost) {
			t.Errorf("%s ended with %v", h.Name(), err)
		}
	}
}

// roundsOn is callers of a kind on a real server.
func roundsOn(t *testing.T, server *redistest.Server, k *kind) *rounds {
	return &rounds{TB: t, kind: k, chance: &chance{r: rand.New(rand.NewPCG(1, 1))}, look: func(name string) ([]string, time.Duration) {
		return testkit.Owners(server, name), time.Duration(server.MustDo("PTTL", name).Int+1) * time.Millisecond
	}}
}
