package bench

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit/resp"
	"github.com/wheellock/wheellock/internal/testkit/usage"
)

// BenchmarkDispatchers is the work of BenchmarkDistinct, and of BenchmarkHot on 16 names, with several dispatchers, on one server and on
// the masters of a cluster. It reports the processor time of a pair: of this process, and of all servers. With -cpuprofile, what of the
// former is the loops' is told by "go tool pprof -top -cum" of dispatcher.(*loop).run.
func BenchmarkDispatchers(b *testing.B) {
	for _, masters := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("masters=%d", masters), func(b *testing.B) {
			var servers []*redistest.Server
			if masters == 1 {
				servers = append(servers, redistest.Start(b))
			} else {
				servers = redistest.StartCluster(b, masters, 0).Nodes
			}
			for _, work := range []struct {
				name string
				of   func(caller, turn int) string
			}{
				{"distinct", distinct},
				{"hot16", func(caller, _ int) string { return fmt.Sprintf("bench:%018d", caller%16) }},
			} {
				for _, n := range []int{1, 2, 4} {
					b.Run(fmt.Sprintf("%s/dispatchers=%d", work.name, n), func(b *testing.B) { dispatched(b, servers, n, work.of) })
				}
			}
		})
	}
}

// dispatched runs pairs of 1,024 callers through an engine with n dispatchers.
func dispatched(b *testing.B, servers []*redistest.Server, n int, name func(caller, turn int) string) {
	e, err := engine.Open(context.Background(), engine.Options{
		Redis: rueidis.ClientOption{InitAddress: []string{servers[0].Addr()}}, Dispatchers: n,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	client, all := usage.Now().CPU, serverTime(servers)
	batches := e.Stats().Batches
	pairs(b, e, 1024, name)
	b.ReportMetric(float64((usage.Now().CPU-client).Nanoseconds())/1000/float64(b.N), "client-µs/pair")
	b.ReportMetric(float64((serverTime(servers)-all).Nanoseconds())/1000/float64(b.N), "servers-µs/pair")
	b.ReportMetric(2*float64(b.N)/float64(max(1, e.Stats().Batches-batches)), "commands/batch")
}

// serverTime is the processor time that servers have used.
func serverTime(servers []*redistest.Server) (sum time.Duration) {
	for _, s := range servers {
		used := resp.InfoFields(s.MustDo("INFO", "cpu").Text)
		for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
			seconds, _ := strconv.ParseFloat(used[field], 64)
			sum += time.Duration(seconds * float64(time.Second))
		}
	}
	return sum
}
