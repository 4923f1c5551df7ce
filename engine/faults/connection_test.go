package faults_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// An acquire that reaches Redis after its connection was given up, and after the clean-up for it has passed,
// makes no orphan: the script refuses it when it is late, and it is released again when it is not.
// invariant: late-acquire-does-nothing
func TestFaultAcquireDeliveredAfterItsCleanUp(t *testing.T) {
	t.Parallel()
	stood := 0
	virtual.Seeds(t, testkit.Times(t, 1000, 12), func(w *virtual.World, random *rand.Rand) {
		e, l := w.Connect(testkit.Lease(time.Second)) // a short lease finds a dead link fast
		testkit.MustUnlock(w.T, testkit.MustLock(w.T, e.Mutex("before")))
		late := time.Second + time.Duration(random.Int64N(int64(4*time.Second)))
		l.HoldUp(time.Now().Add(late)) // new connections get through
		var callers sync.WaitGroup
		for i := range 20 {
			patience := time.Duration(100+random.IntN(500)) * time.Millisecond
			callers.Go(func() {
				name, day := fmt.Sprintf("late:%d", i), engine.WithLease(24*time.Hour) // so long the key would stand
				if i%2 == 0 {
					if h, err := e.Mutex(name).TryLock(context.Background(), day); err == nil {
						testkit.MustUnlock(w.T, h) // by another connection
					} else if !testkit.IsAny(err, engine.ErrUncertain, engine.ErrNotSent) {
						w.T.Errorf("a try without an answer: %v", err)
					}
					return
				}
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				if h, err := e.Mutex(name).Lock(ctx, day); err == nil {
					testkit.MustUnlock(w.T, h)
				} else if !errors.Is(err, context.DeadlineExceeded) {
					w.T.Errorf("a lock without an answer: %v", err)
				}
			})
		}
		callers.Wait()
		most := 0
		for began := time.Now(); time.Since(began) < late; time.Sleep(time.Millisecond) {
			most = max(most, len(w.Server.Keys()))
		}
		stood = max(stood, most)
		time.Sleep(2 * time.Second)
		w.Quiet(e, 0)
	})
	t.Logf("at most %d keys stood of acquires that were delivered late", stood)
}

// One more connection that cannot be made breaks none that stands: calls go on over those, and holds are renewed. The same is true when one
// of several is cut meanwhile.
func TestFaultOneMoreConnectionCannotBeMade(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		shut func(*redistest.Server)
		cuts bool
	}{
		"the server is full":           {shut: func(s *redistest.Server) { s.MustDo("CONFIG", "SET", "maxclients", "1") }},
		"the password has changed":     {shut: func(s *redistest.Server) { s.MustDo("ACL", "SETUSER", "locks", "resetpass", ">another") }},
		"dials fail":                   {},
		"dials fail, and one was cut":  {cuts: true},
		"the password, and one is cut": {func(s *redistest.Server) { s.MustDo("ACL", "SETUSER", "locks", "resetpass", ">another") }, true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			server.MustDo("ACL", "SETUSER", "locks", "on", ">password", "~*", "&*", "+@all")
			var away atomic.Bool
			e := testkit.Connect(t, server.Addr(), testkit.Lease(time.Second), testkit.OnlyMessages, func(o *engine.Options) {
				o.Redis.Username, o.Redis.Password = "locks", "password"
				o.Redis.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
					if away.Load() {
						return nil, &net.DNSError{Err: "server misbehaving", Name: addr}
					}
					return d.DialContext(ctx, "tcp", addr)
				}
			})
			burst := func() (failed error) {
				var all sync.WaitGroup
				var mu sync.Mutex // guards failed
				for i := range 100 {
					all.Go(func() {
						h, err := e.Mutex(fmt.Sprint("burst:", i)).TryLock(testkit.Soon(t))
						if err == nil {
							err = h.Unlock(testkit.Soon(t))
						}
						mu.Lock()
						defer mu.Unlock()
						failed = cmp.Or(failed, err)
					})
				}
				all.Wait()
				return failed
			}
			held := testkit.MustLock(t, e.Mutex("held"))
			if c.cuts {
				testkit.Must(t, burst()) // over several connections
			}
			if c.shut == nil {
				away.Store(true)
			} else {
				c.shut(server)
			}
			if c.cuts {
				var client []string
				for client == nil { // what it did last is another thing now and then
					client = regexp.MustCompile(`id=(\d+) .* cmd=evalsha user=locks`).FindStringSubmatch(server.MustDo("CLIENT", "LIST").Text)
					_ = burst()
				}
				server.MustDo("CLIENT", "KILL", "ID", client[1])
			}
			var failed []error
			for began := time.Now(); time.Since(began) < 2*time.Second; {
				if err := burst(); err != nil {
					failed = append(failed, err)
				}
				time.Sleep(20 * time.Millisecond) // sleeps: renewals come in between
			}
			if c.cuts && len(failed) == 1 && errors.Is(failed[0], engine.ErrUncertain) {
				failed = nil // it was sent over the one that was cut
			}
			if err := held.Err(); err != nil || !e.Up() || len(failed) > 0 {
				t.Errorf("the hold from before: %v; up %t; %v", err, e.Up(), failed)
			}
		})
	}
}
