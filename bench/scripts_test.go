package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// BenchmarkScripts measures what a pair costs redis-server, of Mutexes and of Limits: its own count of the time in EVALSHA.
func BenchmarkScripts(b *testing.B) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redistest.Start(b).Addr()}, DisableCache: true})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	const uuid = "7eee6b7e-3cac-43bf-a9a1-ccbfe8a8b4f3"
	for _, kind := range []struct {
		name       string
		take, free string // digests
		head       []string
		each       func(name string, number int) (takeKeys, takeArgs, freeKeys, freeArgs []string)
		freeHead   []string
		tail       string
	}{
		{"Mutex", load(b, client, scripts.Acquire), load(b, client, scripts.Release), []string{"0"}, func(name string, number int) (_, _, _, _ []string) {
			owner := uuid + ":" + strconv.Itoa(number)
			return []string{name}, []string{owner}, []string{name, scripts.LineKey(name)}, []string{owner, scripts.LockChannel(name)}
		}, []string{"PUBLISH"}, "30000"},
		{"Limit", load(b, client, scripts.PermitTake), load(b, client, scripts.PermitFree), []string{"PUBLISH", "0", scripts.PermitBytes(uuid), uuid}, func(name string, number int) (_, _, _, _ []string) {
			keys := []string{name, scripts.PermitsKey(name), scripts.ReceiptKey(name, uuid), scripts.LineKey(name)}
			return keys, []string{strconv.Itoa(number), "0", "1x1x30000,/4", "0", "0", scripts.SemaphoreChannel(name)}, keys, []string{strconv.Itoa(number + 1), strconv.Itoa(number) + ",1,0;", "", scripts.SemaphoreChannel(name)}
		}, []string{"PUBLISH", "0", scripts.PermitBytes(uuid)}, ""},
	} {
		for _, names := range []int{1, 16, 64, 128} {
			b.Run(fmt.Sprintf("%s/%d", kind.name, names), func(b *testing.B) {
				best, before := math.MaxFloat64, evalTime(b, client)
				for turn := 0; b.Loop(); turn++ {
					var takeKeys, freeKeys []string
					take, free := slices.Clone(kind.head), slices.Clone(kind.freeHead)
					for i := range names {
						tk, ta, fk, fa := kind.each(fmt.Sprintf("bench:%s:%012d", kind.name, i), 2*(turn*names+i+1))
						takeKeys, take, freeKeys, free = append(takeKeys, tk...), append(take, ta...), append(freeKeys, fk...), append(free, fa...)
					}
					if kind.tail != "" {
						take = append(take, kind.tail)
					}
					for _, c := range []rueidis.Completed{
						client.B().Evalsha().Sha1(kind.take).Numkeys(int64(len(takeKeys))).Key(takeKeys...).Arg(take...).Build(),
						client.B().Evalsha().Sha1(kind.free).Numkeys(int64(len(freeKeys))).Key(freeKeys...).Arg(free...).Build(),
					} {
						if r := client.Do(context.Background(), c); r.Error() != nil {
							b.Fatal(r.Error())
						}
					}
					after := evalTime(b, client)
					best, before = min(best, (after-before)/float64(names)), after
				}
				b.ReportMetric(best, "best-server-µs/pair")
			})
		}
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
