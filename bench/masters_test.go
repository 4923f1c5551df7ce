package bench

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit/usage"
)

// BenchmarkMasters compares a single server with the only master of a cluster, which gets wide calls, or, as DeclaredKeysOnly has it, a call
// for each hash slot. It reports the processor time of a pair of BenchmarkDistinct and of a renewal, here and in the server.
func BenchmarkMasters(b *testing.B) {
	single, master := redistest.Start(b), redistest.StartCluster(b, 1, 0).Nodes[0]
	for _, s := range []struct {
		name     string
		server   *redistest.Server
		declared bool
	}{{"single", single, false}, {"wide", master, false}, {"narrow", master, true}} {
		b.Run("pairs/"+s.name, func(b *testing.B) {
			e := openMaster(b, s.server, s.declared)
			spent := spending(s.server)
			pairs(b, e, 1024, distinct)
			spent(b, int64(b.N))
		})
		b.Run("renewals/"+s.name, func(b *testing.B) { renewals(b, openMaster(b, s.server, s.declared), s.server) })
	}
}

func openMaster(b *testing.B, s *redistest.Server, declared bool) *engine.Engine {
	b.Helper()
	e, err := engine.Open(context.Background(), engine.Options{
		Redis: rueidis.ClientOption{InitAddress: []string{s.Addr()}}, DeclaredKeysOnly: declared,
		AnswerTimeout: time.Minute, // beside other work
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	return e
}

// renewals keeps locks for b.N seconds; a tenth of them are renewed in each.
func renewals(b *testing.B, e *engine.Engine, s *redistest.Server) {
	holds := make([]*engine.Hold, 200_000)
	var wg sync.WaitGroup
	for i := range holds {
		wg.Go(func() {
			var err error
			if holds[i], err = e.Mutex(fmt.Sprintf("bench:%018d", i)).Lock(context.Background()); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	spent, before := spending(s), s.CommandCounts()["pexpire"]
	b.ResetTimer()
	time.Sleep(time.Duration(b.N) * time.Second)
	spent(b, s.CommandCounts()["pexpire"]-before)
	b.StopTimer()
	for _, h := range holds {
		wg.Go(func() {
			if err := h.Unlock(context.Background()); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
}

// spending begins to count the processor time of this process and of a server; the function that it returns reports it for each of n.
func spending(s *redistest.Server) func(b *testing.B, n int64) {
	client, server := usage.Now().CPU, serverTime([]*redistest.Server{s})
	return func(b *testing.B, n int64) {
		each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(max(1, n)) }
		b.ReportMetric(each(usage.Now().CPU-client), "client-µs")
		b.ReportMetric(each(serverTime([]*redistest.Server{s})-server), "server-µs")
	}
}
