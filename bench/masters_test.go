package bench

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit/resp"
	"github.com/wheellock/wheellock/internal/testkit/usage"
)

// master is a server that BenchmarkMasters compares, with an engine of its own, and what both have spent.
type master struct {
	name    string
	server  *redistest.Server
	engine  *engine.Engine
	client  time.Duration // processor time
	used    time.Duration
	elapsed time.Duration
}

// masters are a single server, and the only master of a cluster twice: by wide calls, and, as DeclaredKeysOnly has it, by a call for each hash
// slot.
func masters(b *testing.B) []*master {
	b.Helper()
	all := []*master{
		{name: "single", server: redistest.Start(b)},
		{name: "wide", server: redistest.StartCluster(b, 1, 0).Nodes[0]},
		{name: "narrow", server: redistest.StartCluster(b, 1, 0).Nodes[0]},
	}
	for _, m := range all {
		var err error
		m.engine, err = engine.Open(context.Background(), engine.Options{
			Redis: rueidis.ClientOption{InitAddress: []string{m.server.Addr()}}, DeclaredKeysOnly: m.name == "narrow",
			AnswerTimeout: time.Minute, // beside other work
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { m.engine.Close() })
	}
	return all
}

// spends has do run, and counts what that takes.
func (m *master) spends(do func()) {
	client, used, began := usage.Now().CPU, serverTime(m.server), time.Now()
	do()
	m.client += usage.Now().CPU - client
	m.used += serverTime(m.server) - used
	m.elapsed += time.Since(began)
}

// report reports the processor time of each of n, in µs.
func (m *master) report(b *testing.B, n int64) {
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(max(1, n)) }
	b.ReportMetric(each(m.used), m.name+"-server-µs")
	if m.client > 0 {
		b.ReportMetric(each(m.client), m.name+"-client-µs")
		b.ReportMetric(float64(n)/m.elapsed.Seconds(), m.name+"-pairs/s")
	}
}

// BenchmarkMastersPairs is the work of BenchmarkDistinct with 1,024 callers, b.N turns of 5,000 pairs on each in turn: other work on the
// machine meets all alike.
func BenchmarkMastersPairs(b *testing.B) {
	const callers, turn = 1024, 5_000
	all := masters(b)
	for round := range b.N {
		for _, m := range all {
			m.spends(func() {
				var wg sync.WaitGroup
				for caller := range callers {
					wg.Go(func() {
						for i := caller; i < turn; i += callers {
							h, err := m.engine.Mutex(distinct(caller, round*turn+i)).Lock(context.Background())
							if err == nil {
								err = h.Unlock(context.Background())
							}
							if err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
	for _, m := range all {
		m.report(b, turn*int64(b.N))
	}
}

// BenchmarkMastersRenewals has each of them keep 100,000 locks for b.N seconds, at the same time: a tenth of them are renewed in each second.
func BenchmarkMastersRenewals(b *testing.B) {
	all := masters(b)
	for _, m := range all {
		var wg sync.WaitGroup
		for i := range 100_000 {
			wg.Go(func() {
				if _, err := m.engine.Mutex(fmt.Sprintf("bench:%018d", i)).Lock(context.Background()); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
	renewed := func(m *master) int64 { return m.server.CommandCounts()["pexpire"] }
	before := make(map[*master]int64)
	for _, m := range all {
		before[m], m.used = renewed(m), -serverTime(m.server)
	}
	time.Sleep(time.Duration(b.N) * time.Second)
	for _, m := range all {
		m.used += serverTime(m.server)
		m.report(b, renewed(m)-before[m])
	}
}

// serverTime is the processor time that a server has used.
func serverTime(s *redistest.Server) (sum time.Duration) {
	used := resp.InfoFields(s.MustDo("INFO", "cpu").Text)
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, _ := strconv.ParseFloat(used[field], 64)
		sum += time.Duration(seconds * float64(time.Second))
	}
	return sum
}
