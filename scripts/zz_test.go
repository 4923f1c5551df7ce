package scripts_test

import (
	"fmt"
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/rueidis"
	"github.com/wheellock/wheellock/scripts"
)

func TestZZ(t *testing.T) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:7999"}, DisableCache: true})
	if err != nil { t.Fatal(err) }
	ctx := context.Background()
	usec := func() float64 {
		s, _ := client.Do(ctx, client.B().Info().Section("commandstats").Build()).ToString()
		m := regexp.MustCompile(`cmdstat_evalsha:calls=\d+,usec=(\d+)`).FindStringSubmatch(s)
		if m == nil { return 0 }
		n, _ := strconv.ParseFloat(m[1], 64)
		return n
	}
	base := func(name string) string { b, _ := os.ReadFile("/tmp/ab/base/" + name + ".lua"); return string(b) }
	load := func(text string) string { s, err := client.Do(ctx, client.B().ScriptLoad().Script(text).Build()).ToString(); if err != nil { t.Fatal(err) }; return s }
	type step struct{ sha string; keys, args []string }
	owner := "aaaaaaaa-0000-8000-8000-00000000000a:1"
	for _, batch := range []int{1, 4, 16} {
		pair := func(old bool, kind string) (steps []step) {
			var k1, k2, a1, a2, sh []string
			_ = sh
			for i := range batch {
				name := fmt.Sprint("stock:", i)
				line := scripts.LineKey(name)
				ch := scripts.RWChannel(name)
				switch {
				case kind == "mutex":
					k1 = append(k1, name); a1 = append(a1, owner)
					k2 = append(k2, name, line); a2 = append(a2, owner, scripts.LockChannel(name))
				case kind == "write" && old:
					k1 = append(k1, name); a1 = append(a1, owner+":write", "30000")
					k2 = append(k2, name); a2 = append(a2, owner+":write", ch)
				case kind == "write":
					k1 = append(k1, name); a1 = append(a1, owner+":write", "30000")
					k2 = append(k2, name, line); a2 = append(a2, owner+":write", ch)
				case old:
					h := scripts.HoldKey(name, owner)
					k1 = append(k1, name, h); a1 = append(a1, owner, "30000", ch, "-1")
					k2 = append(k2, name, h); a2 = append(a2, owner, ch)
				default:
					h := scripts.HoldKey(name, owner)
					k1 = append(k1, name, line, h); a1 = append(a1, owner, "30000", "", "-1")
					k2 = append(k2, name, line, h); a2 = append(a2, owner, ch)
				}
			}
			text := func(name string, now scripts.Script) string { if old { return base(name) }; return now.Text }
			switch kind {
			case "mutex":
				return []step{{load(text("acquire", scripts.Acquire)), k1, slices.Concat([]string{"0"}, a1, []string{"30000"})}, {load(text("release", scripts.Release)), k2, slices.Concat([]string{"PUBLISH"}, a2)}}
			case "write":
				return []step{{load(text("acquire_write", scripts.AcquireWrite)), k1, slices.Concat([]string{"0"}, a1)}, {load(text("release_write", scripts.ReleaseWrite)), k2, slices.Concat([]string{"PUBLISH"}, a2)}}
			default:
				return []step{{load(text("acquire_read", scripts.AcquireRead)), k1, slices.Concat([]string{"0", "PUBLISH"}, a1)}, {load(text("release_read", scripts.ReleaseRead)), k2, slices.Concat([]string{"PUBLISH", "0"}, a2)}}
			}
		}
		for _, kind := range []string{"mutex", "write", "read"} {
			var took [2][]float64
			steps := [2][]step{pair(true, kind), pair(false, kind)}
			for range 15 {
				for which := range 2 {
					before := usec()
					for range 400 {
						var cmds rueidis.Commands
						for range 4 { for _, s := range steps[which] {
							cmds = append(cmds, client.B().Evalsha().Sha1(s.sha).Numkeys(int64(len(s.keys))).Key(s.keys...).Arg(s.args...).Build())
						} }
						for _, r := range client.DoMulti(ctx, cmds...) { if n, err := r.AsInt64(); err != nil || n < 0 { t.Fatal(kind, n, err) } }
					}
					took[which] = append(took[which], (usec()-before)/1600/float64(batch))
				}
			}
			for i := range took { slices.Sort(took[i]) }
			fmt.Printf("batch %d %s: %.2f -> %.2f us, %+.1f %%\n", batch, kind, took[0][7], took[1][7], 100*(took[1][7]/took[0][7]-1))
		}
	}
}
