package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	kit "github.com/wheellock/wheellock/internal/testkit/figures"
)

var serverKills = flag.Int("server-kills", 0, "how often the server is killed under hot locks")

// What a client of TestServerKills has beside 64 callers of one hot lock, and the lease: longer than an outage, so that
// what it keeps is lost because Redis comes back without it.
const (
	killKeeps  = 1000
	killQueued = 200
	killLease  = 10 * time.Second
	// toldWithin is when a holder must know that Redis came back without his lock.
	toldWithin = killLease/3 + time.Second
)

// killed is what one kill of the server did to the client.
type killed struct {
	outage
	kind   kind
	down   time.Duration
	after  int64 // resident bytes when all had gone on
	told   time.Duration
	kept   int // holds at the kill
	silent int // of these, holders who were not told within toldWithin
	wild   bool
}

// stand is a server, and a client with a hot lock, with holds and with waiters.
type stand struct {
	t      *testing.T
	server *redistest.Server
	kind   kind
	client *process // nil: the last one had to be killed
	hot    atomic.Int64
	keeps  atomic.Int64
}

// killsOfOne are survived by a client until one with a lock of the other kind takes its turn.
const killsOfOne = 2

// change ends the client; the next one has a hot lock of this kind.
func (s *stand) change(k kind) {
	if s.kind = k; s.client != nil {
		s.client.kill()
		s.client = nil
	}
}

// ensure has a client that is as busy as it should be.
func (s *stand) ensure() {
	if s.client == nil {
		s.hot.Store(0)
		s.keeps.Store(0)
		places := []place{{Kind: s.kind, Name: "hot"}, {Kind: mutexes, Name: "kept"}}
		kept := make(map[uint32]bool) // calls; of the goroutine that listens
		s.client = startClient(s.t, setting{Seed: rand.Uint64(), Addr: s.server.Addr(), Workers: 64, Hot: true, Lease: killLease, Places: places,
			Habits: eager, Keepers: killKeeps, Queued: killQueued}, func(r record) {
			switch {
			case r.What == called && r.Place == 1:
				kept[r.Call] = true
			case r.What == granted && kept[r.Call]:
				s.keeps.Add(1)
			case r.What == granted:
				s.hot.Add(1)
			case r.What == ended:
				s.keeps.Add(-1)
			}
		})
	}
	from := s.hot.Load()
	redistest.Await(s.t, "a client with all its holds and a hot lock", func() bool {
		return s.keeps.Load() == killKeeps && s.hot.Load() > from+200
	})
}

// kill kills the server once and sees how the client fares.
func (s *stand) kill() killed {
	s.ensure()
	time.Sleep(rand.N(100 * time.Millisecond))
	s.server.Kill()
	down := span{from: now()}
	time.Sleep(outageLasts + rand.N(3*time.Second-outageLasts))
	down.to = now()
	s.server.Restart()
	back := now()
	goesOn := func() bool { return s.client.ruin() != "" || s.keeps.Load() == killKeeps }
	for hot := s.hot.Load(); now() < back.plus(outageReturn) || now() < back.plus(toldWithin+time.Second) && !(goesOn() && s.hot.Load() > hot); {
		time.Sleep(10 * time.Millisecond)
	}
	k := s.judge(down, back)
	if k.wild {
		s.client.kill()
		s.client = nil
	}
	return k
}

// judge reads what the client said of an outage.
func (s *stand) judge(down span, back instant) killed {
	ph := &phase{places: []place{{Kind: s.kind, Name: "hot"}, {Kind: mutexes, Name: "kept"}}}
	h := &history{phase: ph, stalls: make(map[*process][]span)}
	h.hear(ph, s.client)
	used := s.client.used()
	k := killed{outage: during(used, down), kind: s.kind, down: down.to.sub(down.from), after: used[len(used)-1].memory}
	var hot []*hold
	for _, c := range h.calls {
		if c.place == &ph.places[0] {
			hot = append(hot, c)
			continue
		}
		if c.grantedAt == 0 || c.grantedAt >= down.from || c.endedAt != 0 && c.endedAt < down.from {
			continue
		}
		k.kept++
		if c.endedAt == 0 || c.endedAt > back.plus(toldWithin) {
			k.silent++
		} else {
			k.told = max(k.told, c.endedAt.sub(back))
		}
	}
	k.resumed(hot, back, never, (span{back, back.plus(outageReturn)}).shared(h.stalls[s.client]))
	k.wild = s.client.ruin() != "" || !slices.ContainsFunc(hot, func(c *hold) bool { return c.grantedAt > back })
	if why := s.client.ruin(); why != "" {
		s.t.Logf("the client %s", why)
	}
	return k
}

// row is the kill in figures.
func (k killed) row() []float64 {
	return []float64{k.down.Seconds(), 100 * k.Share, float64(k.Before >> 20), float64(k.Most >> 20), float64(k.after >> 20),
		float64(max(k.All, 0).Milliseconds()), float64(k.Left), float64(k.kept), float64(k.told.Milliseconds()), float64(k.silent)}
}

const killedHead = "%-8s %6s %7s %7s %7s %7s %9s %6s %6s %8s %6s\n"

func killedRow(name string, v []float64) string {
	return fmt.Sprintf("%-8s %6.1f %7.1f %7.0f %7.0f %7.0f %9.0f %6.0f %6.0f %8.0f %6.0f\n", name, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9])
}

// tableOf prints all kills, the medians and the worst.
func tableOf(all []killed) string {
	var b strings.Builder
	fmt.Fprintf(&b, killedHead, "lock", "down s", "CPU %", "before", "most", "after", "go on ms", "stuck", "held", "told ms", "silent")
	columns := make([][]float64, len(killed{}.row()))
	for _, k := range all {
		name := string(k.kind)
		if k.wild {
			name += " !"
		}
		b.WriteString(killedRow(name, k.row()))
		for i, v := range k.row() {
			columns[i] = append(columns[i], v)
		}
	}
	medians, most := make([]float64, len(columns)), make([]float64, len(columns))
	for i, c := range columns {
		medians[i], most[i] = kit.Median(c), slices.Max(c)
	}
	b.WriteString(killedRow("median", medians) + killedRow("worst", most))
	return b.String()
}

// A process with hot locks, holds and waiters does next to nothing while Redis is gone, and goes on when it is back.
func TestServerKills(t *testing.T) {
	if *serverKills == 0 {
		t.Skip("with -server-kills only: TestChaos kills the server under hot locks, too")
	}
	server := redistest.Start(t)
	s := &stand{t: t, server: server}
	var all []killed
	for i := range *serverKills {
		if i%killsOfOne == 0 {
			s.change([]kind{mutexes, fenced}[i/killsOfOne%2])
		}
		k := s.kill()
		all = append(all, k)
		k.outage.judge(func(format string, args ...any) {
			t.Errorf("kill %d, %s: "+format, append([]any{i, k.kind}, args...)...)
		})
		if k.silent > 0 {
			t.Errorf("kill %d, %s: %d of %d holders were not told within %v of the return", i, k.kind, k.silent, k.kept, toldWithin)
		}
	}
	t.Log("resident memory in MB\n" + tableOf(all))
}
