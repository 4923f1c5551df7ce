package bench

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// BenchmarkScripts measures what a pair costs redis-server: its own count of the time in EVALSHA.
func BenchmarkScripts(b *testing.B) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redistest.Start(b).Addr()}, DisableCache: true})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	acquire := load(b, client, scripts.Acquire)
	release := load(b, client, scripts.Release)
	for _, names := range []int{1, 16, 64, 128} {
		b.Run(fmt.Sprint(names), func(b *testing.B) {
			best, before := math.MaxFloat64, evalTime(b, client)
			for turn := 0; b.Loop(); turn++ {
				keys := make([]string, names)
				var lined []string
				take, free := []string{"0"}, []string{"PUBLISH"}
				for i := range keys {
					keys[i] = fmt.Sprintf("bench:%018d", turn*names+i)
					owner := "7eee6b7e-3cac-43bf-a9a1-ccbfe8a8b4f3:" + strconv.Itoa(turn*names+i)
					take = append(take, owner)
					lined = append(lined, keys[i], scripts.LineKey(keys[i]))
					free = append(free, owner, scripts.LockChannel(keys[i]))
				}
				client.Do(ctx, client.B().Evalsha().Sha1(acquire).Numkeys(int64(names)).Key(keys...).Arg(append(take, "30000")...).Build())
				client.Do(ctx, client.B().Evalsha().Sha1(release).Numkeys(int64(2*names)).Key(lined...).Arg(free...).Build())
				after := evalTime(b, client)
				best, before = min(best, (after-before)/float64(names)), after
			}
			b.ReportMetric(best, "best-server-µs/pair")
		})
	}
}

func load(b *testing.B, client rueidis.Client, s scripts.Script) string {
	sha, err := client.Do(context.Background(), client.B().ScriptLoad().Script(s.Text).Build()).ToString()
	if err != nil {
		b.Fatal(err)
	}
	return sha
}

// evalTime is how many microseconds the server has spent in EVALSHA.
func evalTime(b *testing.B, client rueidis.Client) float64 {
	info, err := client.Do(context.Background(), client.B().Info().Section("commandstats").Build()).ToString()
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "cmdstat_evalsha:")
	_, rest, _ = strings.Cut(rest, "usec=")
	usec, _, _ := strings.Cut(rest, ",")
	n, _ := strconv.ParseFloat(usec, 64)
	return n
}
