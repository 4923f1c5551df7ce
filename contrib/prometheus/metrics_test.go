package wheelprom_test

import (
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"

	wheelprom "github.com/wheellock/wheellock/contrib/prometheus"
)

func newMetrics(tb testing.TB, opts wheelprom.Options) *wheelprom.Metrics {
	tb.Helper()
	m, err := wheelprom.New(opts)
	testkit.Must(tb, err)
	return m
}

// gather is what a scrape would find: metrics by their names.
func gather(t *testing.T, c prometheus.Collector) map[string]*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	testkit.Must(t, err)
	all := make(map[string]*dto.MetricFamily)
	for _, f := range families {
		all[f.GetName()] = f
	}
	return all
}

// label is the value of a label of a metric.
func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// counted is how many events a histogram has, by a label.
func counted(f *dto.MetricFamily, by string) map[string]int {
	counts := make(map[string]int)
	for _, m := range f.GetMetric() {
		counts[label(m, by)] += int(m.GetHistogram().GetSampleCount())
	}
	return counts
}

// Every request and every hold is in its histogram, under the outcome that it had.
func TestEveryOutcomeIsCounted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	metrics := newMetrics(t, wheelprom.Options{})
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Observer = metrics.Observer() })
	metrics.Attach(e)
	testkit.EveryOutcome(t, server, e, metrics.Observer())

	requests := map[string]int{"granted": 4, "reentry": 1, "closed": 1, "invalid": 1, "canceled": 1, "overloaded": 1, "refused": 1, "unavailable": 1, "wait_timeout": 1, "held": 1, "gone": 1}
	holds := map[string]int{"unlocked": 2, "max_hold": 1, "closed": 1, "lost": 1}
	redistest.Await(t, "the ends of all holds", func() bool {
		return maps.Equal(counted(gather(t, metrics)["wheellock_lock_hold_seconds"], "outcome"), holds)
	})
	all := gather(t, metrics)
	if got := counted(all["wheellock_lock_wait_seconds"], "outcome"); !maps.Equal(got, requests) {
		t.Errorf("requests by outcome: %v, want %v", got, requests)
	}
	if got := counted(all["wheellock_lock_wait_seconds"], "kind"); len(got) != 1 || got["mutex"] == 0 {
		t.Errorf("requests by kind: %v", got)
	}
	if got := all["wheellock_locks_lost_total"].GetMetric()[0].GetCounter().GetValue(); got != 2 {
		t.Errorf("%v lost, want 2", got)
	}
}

// What engine.Stats says is there, once there is an engine; and the last engine counts.
func TestStatsAreThoseOfTheEngine(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	metrics := newMetrics(t, wheelprom.Options{})
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Observer = metrics.Observer() })
	shown := gather(t, metrics)
	if _, there := shown["wheellock_up"]; there || shown["wheellock_attached"].GetMetric()[0].GetGauge().GetValue() != 0 {
		t.Error("there are stats without an engine, or nothing tells that there is none")
	}
	metrics.Attach(e)
	h := testkit.MustLock(t, e.Mutex("a"))
	waiter := e.Mutex("a").LockAsync(t.Context())
	value := func(name string) float64 {
		m := gather(t, metrics)[name].GetMetric()[0]
		return m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	want := func(name string, want float64) {
		t.Helper()
		if got := value(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	want("wheellock_attached", 1)
	want("wheellock_up", 1)
	want("wheellock_held", 1)
	want("wheellock_waiting", 1)
	if first := value("wheellock_oldest_hold_seconds"); first <= 0 || value("wheellock_oldest_hold_seconds") <= first {
		t.Error("the oldest hold does not grow older")
	}
	testkit.MustUnlock(t, h)
	h = testkit.MustWait(t, waiter)
	stats := e.Stats()
	want("wheellock_handoffs_total", float64(stats.Handoffs))
	want("wheellock_acquires_total", float64(stats.Attempts))
	testkit.MustUnlock(t, h)
	want("wheellock_held", 0)
	want("wheellock_oldest_hold_seconds", 0)
	server.Kill()
	waiter = e.Mutex("a").LockAsync(t.Context())
	redistest.Await(t, "the link to be down", func() bool { return value("wheellock_up") == 0 })
	waiter.Cancel()

	metrics.Attach(nil)
	if _, there := gather(t, metrics)["wheellock_up"]; there {
		t.Error("there are stats of an engine that was taken off")
	}
}

// grant tells metrics of a grant and the end of its hold, without an engine.
func grant(m *wheelprom.Metrics, name string) {
	o := m.Observer()
	o.Granted(engine.Grant{Name: name, Kind: engine.KindMutex, Waited: time.Millisecond})
	o.Ended(engine.End{Name: name, Kind: engine.KindMutex, Held: time.Millisecond, Err: engine.ErrUnlocked})
}

func TestClasses(t *testing.T) {
	t.Parallel()
	m := newMetrics(t, wheelprom.Options{Class: func(name string) string {
		class, _, _ := strings.Cut(name, ":")
		return class
	}})
	for _, name := range []string{"order:1", "order:2", "\xff:1"} {
		grant(m, name)
	}
	want := map[string]int{"order": 2, "invalid": 1}
	for _, name := range []string{"wheellock_lock_wait_seconds", "wheellock_lock_hold_seconds"} {
		if got := counted(gather(t, m)[name], "class"); !maps.Equal(got, want) {
			t.Errorf("%s by class: %v, want %v", name, got, want)
		}
	}
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	for _, bad := range [][]float64{{1, 1}, {2, 1}, {math.NaN()}, {1, math.NaN()}} {
		if _, err := wheelprom.New(wheelprom.Options{Buckets: bad}); err == nil || !strings.Contains(err.Error(), "Buckets") {
			t.Errorf("Buckets %v: %v", bad, err)
		}
	}
	m := newMetrics(t, wheelprom.Options{Buckets: []float64{0.0005, 1, math.Inf(1)}})
	grant(m, "a")
	if got := gather(t, m)["wheellock_lock_wait_seconds"].GetMetric()[0].GetHistogram().GetBucket(); len(got) != 2 || got[0].GetCumulativeCount() != 0 || got[1].GetCumulativeCount() != 1 {
		t.Errorf("buckets %v", got)
	}
}

// Two engines have their metrics side by side in one registry, and nothing is there twice by mistake.
func TestTwoEngines(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	for _, name := range []string{"a", "b"} {
		m := newMetrics(t, wheelprom.Options{})
		grant(m, "stock:7")
		prometheus.WrapRegistererWith(prometheus.Labels{"engine": name}, registry).MustRegister(m)
	}
	if n, err := testutil.GatherAndCount(registry, "wheellock_lock_wait_seconds"); n != 2 || err != nil {
		t.Errorf("%d histograms, %v; want 2", n, err)
	}
	registry = prometheus.NewPedanticRegistry()
	registry.MustRegister(newMetrics(t, wheelprom.Options{}))
	if err := registry.Register(newMetrics(t, wheelprom.Options{})); err == nil {
		t.Error("the same metrics twice in one registry")
	}
}

// README.md has all metrics with their types and labels, and their names follow Prometheus' rules.
func TestReadmeHasTheMetrics(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	m := newMetrics(t, wheelprom.Options{})
	m.Attach(testkit.Connect(t, server.Addr()))
	grant(m, "a")
	if problems, err := testutil.CollectAndLint(m); len(problems) != 0 || err != nil {
		t.Error(problems, err)
	}
	var want []string
	for name, f := range gather(t, m) {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		want = append(want, name+" "+strings.ToLower(f.GetType().String())+" "+strings.Join(labels, ", "))
	}
	text, err := os.ReadFile("README.md")
	testkit.Must(t, err)
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(wheellock_\\w+)` \\| (\\w+) \\| ([a-z, ]*) ?\\|").FindAllStringSubmatch(string(text), -1) {
		got = append(got, row[1]+" "+row[2]+" "+strings.TrimSpace(row[3]))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("README.md has\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}
