package bench

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// BenchmarkHops measures what goroutines between a caller and its connection cost when there is only one caller: a
// bare acquire and release, by the caller itself and by the last of so many goroutines, to which each hands on the
// command, and from which each hands back the answer. An engine's Lock has two, the loop and a connection's sender.
func BenchmarkHops(b *testing.B) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redistest.Start(b).Addr()}, DisableCache: true})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	acquire, release := load(b, client, scripts.Acquire), load(b, client, scripts.Release)
	connection, done := client.Dedicate()
	defer done()
	const owner = "7eee6b7e-3cac-43bf-a9a1-ccbfe8a8b4f3:1"
	send := func(sha string, keys []string, args ...string) {
		c := connection.B().Evalsha().Sha1(sha).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()
		if err := connection.Do(context.Background(), c).Error(); err != nil {
			b.Error(err)
		}
	}
	for hops := range 4 {
		b.Run(fmt.Sprint(hops), func(b *testing.B) {
			call := through(b, hops)
			var waits []time.Duration
			for turn := 0; b.Loop(); turn++ {
				key := distinct(0, turn)
				asked := time.Now()
				call(func() { send(acquire, []string{key}, "0", owner, "30000") })
				waits = append(waits, time.Since(asked))
				call(func() { send(release, []string{key, scripts.LineKey(key)}, "PUBLISH", owner, scripts.LockChannel(key)) })
			}
			slices.Sort(waits)
			b.ReportMetric(float64(waits[len(waits)/2].Microseconds()), "p50-µs/lock")
		})
	}
}

// through has a command done by the last of so many goroutines in a row.
func through(b *testing.B, hops int) func(do func()) {
	next := func(do func()) { do() }
	for range hops {
		there, back, beyond := make(chan func()), make(chan struct{}), next
		b.Cleanup(func() { close(there) })
		go func() {
			for do := range there {
				beyond(do)
				back <- struct{}{}
			}
		}()
		next = func(do func()) { there <- do; <-back }
	}
	return next
}
