package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// The answer to an acquire is lost, and the server has come to refuse writes when the same owner asks again: then the key
// does not last as long as the hold would.
func TestFaultGrantNeverOutlivesItsKey(t *testing.T) {
	t.Parallel()
	for kind, script := range map[string]scripts.Script{
		"Mutex": scripts.Acquire, "FencedMutex": scripts.AcquireFenced, "FairMutex": scripts.FairAsk, "Reader": scripts.AcquireRead, "Writer": scripts.AcquireWrite,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := redistest.NewProxy(t, server.Addr())
			e := connect(t, proxy.Addr(), lease(3*time.Second))
			proxy.SwallowReply(redistest.Swallow{Match: runs(script), Times: -1})
			asked := make(chan error, 1)
			go func() { // 1. Redis takes the lock; the answers are lost
				_, err := kindsWith[kind](e, "stock:7", false)
				asked <- err
			}()
			redistest.Await(t, "the key", func() bool { return len(owners(server, "stock:7")) > 0 })
			server.MustDo("CONFIG", "SET", "min-replicas-to-write", "1") // 2. writes are refused: the replica went away
			lost := proxy.Stats().Swallowed
			redistest.Await(t, "an answer from before that to be lost, too", func() bool { return proxy.Stats().Swallowed > lost })
			proxy.SwallowNothing()
			select { // 3. the engine asks again
			case err := <-asked:
				if !errors.Is(err, engine.ErrRefused) {
					t.Errorf("Lock = %v, want ErrRefused", err)
				}
			case <-time.After(patience):
				t.Error("Lock did not return")
			}
			server.MustDo("CONFIG", "SET", "min-replicas-to-write", "0")
			redistest.Await(t, "the lock to be free", func() bool { return server.MustDo("EXISTS", "stock:7").Int == 0 })
		})
	}
}
