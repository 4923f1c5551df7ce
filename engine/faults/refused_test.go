package faults_test

import (
	"slices"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// Invariant: a hold never outlives its key. The answer to an acquire is lost, and the server has come to refuse writes when
// the same owner asks again: the key lasts no longer for that, and so nothing may be granted until writes are allowed again.
// invariant: reply-says-what-redis-holds, hold-within-tenure
func TestFaultGrantNeverOutlivesItsKey(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]scripts.Script{
		"mutex": scripts.Acquire, "fenced": scripts.AcquireFenced, "fair": scripts.FairAsk, "reader": scripts.AcquireRead, "writer": scripts.AcquireWrite,
	} {
		k := kindsOfAll[slices.IndexFunc(kindsOfAll, func(k kind) bool { return k.name == name })]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := redistest.NewProxy(t, server.Addr())
			e := testkit.Connect(t, proxy.Addr(), testkit.Lease(3*time.Second))
			proxy.SwallowReply(redistest.Swallow{Match: testkit.Digest(script), Times: -1})
			type answer struct {
				got taken
				err error
			}
			asked := make(chan answer, 1)
			go func() { // 1. Redis takes the lock; the answers are lost
				got, err := k.source([]*engine.Engine{e}, "stock:7").get(testkit.Soon(t))
				asked <- answer{got, err}
			}()
			redistest.Await(t, "the key", func() bool { return len(testkit.Owners(server, "stock:7")) > 0 })
			server.MustDo("CONFIG", "SET", "min-replicas-to-write", "1") // 2. writes are refused: the replica went away
			lost := proxy.Stats().Swallowed
			redistest.Await(t, "an answer from before that to be lost, too", func() bool { return proxy.Stats().Swallowed > lost })
			proxy.SwallowNothing()
			refused := server.CommandCounts()["evalsha"]
			redistest.Await(t, "the engine to ask again, and to be answered", func() bool { return server.CommandCounts()["evalsha"] > refused+2 }) // 3.
			select {
			case a := <-asked:
				t.Fatalf("answered (%v) while the server refuses writes", a.err)
			default:
			}
			server.MustDo("CONFIG", "SET", "min-replicas-to-write", "0")
			a := <-asked
			if a.err != nil {
				t.Fatalf("Lock, once writes are allowed: %v", a.err)
			}
			if err := a.got.back(testkit.Soon(t)); err != nil {
				t.Errorf("Unlock: %v", err)
			}
			redistest.Await(t, "the lock to be free", func() bool { return server.MustDo("EXISTS", "stock:7").Int == 0 })
		})
	}
}
