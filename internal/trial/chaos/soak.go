package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// soakKinds is work of all kinds.
var soakKinds = []kind{mutexes, reentrant, fenced, fairs, rws, semaphores, permits, spins, distinct, callbacks}

// soakPlan is a long time of mixed work with a mild fault now and then. Pauses make the work much the same on a machine
// that is busy with something else.
func soakPlan(lasts time.Duration) plan {
	p := plan{name: "soak", kinds: soakKinds, each: 2, clients: 2, workers: 48, habits: everyday, lease: 2 * time.Second,
		faults: pick("CLIENT KILL normal", "SCRIPT FLUSH", "CLIENT KILL pubsub"), slow: 20,
		lasts: lasts, recovery: time.Second, sample: min(max(lasts/360, 250*time.Millisecond), 5*time.Second)}
	p.habits.Pause, p.habits.Forget = 40*time.Millisecond, 1
	if lasts < time.Minute {
		p.slow = 4 // it lasts until each fault has hit
	}
	return p
}

// Measures of a client and of Redis. They may grow by what varies: of each worker one thing or none is under way. After
// half an hour that is little: three bytes lost in each acquisition, or a key in each ten thousand, are too much.
var (
	ofClient = []measure{{"goroutines", 0.05, 32}, {"live heap, kB", 0.2, 1 << 10}, {"RSS, kB", 0.2, 16 << 10}, {"descriptors", 0, 8}}
	ofServer = []measure{{"memory, kB", 0.2, 1 << 10}, {"clients", 0, 8}, {"keys", 0.1, 100}, {"receipts", 0.25, 1000}, {"channels", 0.5, 50}}
)

func (g gauge) values() []float64 {
	return []float64{float64(g.Goroutines), float64(g.Heap) / 1024, float64(g.RSS) / 1024, float64(g.Descriptors)}
}

func (g serverGauge) values() []float64 {
	return []float64{float64(g.Memory) / 1024, float64(g.Clients), float64(g.Keys), float64(g.Receipts), float64(g.Channels)}
}

// soakResult is what a soak found out.
type soakResult struct {
	Seed         uint64
	Lasted       time.Duration // under faults
	Acquisitions int64
	Cancelled    int64
	Lost         int64
	Hits         map[string]int
	Quiet        time.Duration // until Redis was empty in the end
	Trends       []trend
	Violations   []violation
}

// soak carries a soak out.
func soak(tb testing.TB, p plan, seed uint64) *soakResult {
	tb.Helper()
	r := &soakResult{Seed: seed}
	h := carryOut(tb, p, seed)
	ph := h.phase
	r.Lasted, r.Quiet, r.Hits = ph.recoveryFrom.sub(ph.began), h.quiet, h.hits()
	for _, f := range ph.faults {
		if r.Hits[f.name] == 0 {
			h.fail("void", "%s never hit anything", f.name)
		}
	}
	var served [][]float64
	for _, g := range ph.served {
		if g.At >= ph.warm && g.At <= ph.recoveryFrom {
			served = append(served, g.values())
		}
	}
	r.judge("Redis", ofServer, served)
	for _, client := range ph.clients {
		r.take(h, client)
	}
	for _, t := range r.Trends {
		if t.Grew {
			h.fail("flat", "%s: %.0f in the second quarter, %.0f in the last, and %.0f are allowed", t.What, t.Second, t.Last, t.Allowed)
		}
	}
	r.Violations = h.violations
	return r
}

// take reads what a client has said.
func (r *soakResult) take(h *history, p *process) {
	var last *gauge
	var values [][]float64
	for _, said := range p.said() {
		switch g := said.Gauge; {
		case g != nil:
			last = g
			if g.At >= h.phase.warm && g.At <= h.phase.recoveryFrom {
				values = append(values, g.values())
			}
		case said.What == rested && said.N > 0:
			h.fail("quiet", "client %d believes in %d holds and waiters after everybody has left", p.Number, said.N)
		case said.Text != "":
			h.fail("errors", "client %d was told %q", p.Number, said.Text)
		}
	}
	r.judge(fmt.Sprintf("client %d", p.Number), ofClient, values)
	if last == nil {
		return // which judge has said
	}
	r.Acquisitions, r.Cancelled, r.Lost = r.Acquisitions+last.Granted, r.Cancelled+last.Cancelled, r.Lost+last.Lost
	if last.Granted == 0 {
		h.fail("void", "client %d was never granted anything", p.Number)
	}
}

// judge looks at the measures of somebody; values are by sample and by measure.
func (r *soakResult) judge(whose string, measures []measure, values [][]float64) {
	for i, m := range measures {
		series := make([]float64, len(values))
		for n := range values {
			series[n] = values[n][i]
		}
		t := m.judge(series)
		t.What = whose + ", " + m.name
		r.Trends = append(r.Trends, t)
	}
}

// table sums up.
func (r *soakResult) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %v: %d acquisitions, %d cancelled, %d lost, quiet after %v\n", r.Seed, r.Lasted.Round(time.Second),
		r.Acquisitions, r.Cancelled, r.Lost, r.Quiet.Round(time.Millisecond))
	for _, name := range slices.Sorted(maps.Keys(r.Hits)) {
		fmt.Fprintf(&b, "%s: %d times\n", name, r.Hits[name])
	}
	fmt.Fprintf(&b, "%-26s %15s %13s %9s %9s\n", "median", "second quarter", "last quarter", "allowed", "most")
	for _, t := range r.Trends {
		fmt.Fprintf(&b, "%-26s %15.0f %13.0f %9.0f %9.0f\n", t.What, t.Second, t.Last, t.Allowed, t.Most)
	}
	return b.String()
}

// progress is how a soak goes, in a line.
func (ph *phase) progress(g serverGauge) string {
	var b strings.Builder
	var granted int64
	ph.mu.Lock()
	clients := slices.Clone(ph.clients)
	ph.mu.Unlock()
	for _, p := range clients {
		last := p.lastGauge()
		granted += last.Granted
		fmt.Fprintf(&b, "; client %d: %d goroutines, %d kB live, %d kB RSS, %d descriptors", p.Number,
			last.Goroutines, last.Heap>>10, last.RSS>>10, last.Descriptors)
	}
	return fmt.Sprintf("%v: %d acquisitions%s; Redis: %d kB, %d clients, %d keys, %d receipts, %d channels",
		g.At.sub(ph.began).Round(time.Second), granted, &b, g.Memory>>10, g.Clients, g.Keys, g.Receipts, g.Channels)
}
