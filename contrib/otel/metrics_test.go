package wheelotel_test

import (
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	api "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"

	wheelotel "github.com/wheellock/wheellock/contrib/otel"
)

func newMetrics(tb testing.TB, class func(string) string) (*wheelotel.Metrics, *metric.ManualReader) {
	tb.Helper()
	reader := metric.NewManualReader()
	m, err := wheelotel.NewMetrics(wheelotel.Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader)), Class: class})
	testkit.Must(tb, err)
	return m, reader
}

// collect returns the instruments by their names.
func collect(t *testing.T, reader *metric.ManualReader) map[string]metricdata.Metrics {
	t.Helper()
	var now metricdata.ResourceMetrics
	testkit.Must(t, reader.Collect(t.Context(), &now))
	all := make(map[string]metricdata.Metrics)
	for _, scope := range now.ScopeMetrics {
		for _, m := range scope.Metrics {
			all[m.Name] = m
		}
	}
	return all
}

// counted is how many events a histogram has, by an attribute.
func counted(m metricdata.Metrics, by attribute.Key) map[string]int {
	counts := make(map[string]int)
	histogram, _ := m.Data.(metricdata.Histogram[float64])
	for _, p := range histogram.DataPoints {
		value, _ := p.Attributes.Value(by)
		counts[value.String()] += int(p.Count)
	}
	return counts
}

// total is the sum of a counter, whatever its attributes.
func total(m metricdata.Metrics) (n int64) {
	sum, _ := m.Data.(metricdata.Sum[int64])
	for _, p := range sum.DataPoints {
		n += p.Value
	}
	return n
}

// Every request and every hold is in its histogram, under the outcome that it had.
func TestEveryOutcomeIsCounted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	metrics, reader := newMetrics(t, nil)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Observer = metrics.Observer() })
	testkit.EveryOutcome(t, server, e, metrics.Observer())

	requests := map[string]int{"granted": 4, "reentry": 1, "closed": 1, "invalid": 1, "canceled": 1, "overloaded": 1, "refused": 1, "unavailable": 1, "wait_timeout": 1, "held": 1, "gone": 1}
	holds := map[string]int{"unlocked": 2, "max_hold": 1, "closed": 1, "lost": 1}
	redistest.Await(t, "the ends of all holds", func() bool {
		all := collect(t, reader)
		return maps.Equal(counted(all["wheellock.lock.hold.duration"], "wheellock.outcome"), holds) && total(all["wheellock.lock.lost"]) == 2
	})
	if got := counted(collect(t, reader)["wheellock.lock.wait.duration"], "wheellock.outcome"); !maps.Equal(got, requests) {
		t.Errorf("requests by outcome: %v, want %v", got, requests)
	}
}

// What engine.Stats says is there, while there is an engine.
func TestStatsAreThoseOfTheEngine(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	metrics, reader := newMetrics(t, nil)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Observer = metrics.Observer() })
	if _, there := collect(t, reader)["wheellock.link.up"]; there {
		t.Error("there are stats without an engine")
	}
	metrics.Attach(e)
	h := testkit.MustLock(t, e.Mutex("a"))
	waiter := e.Mutex("a").LockAsync(t.Context())
	all, stats := collect(t, reader), e.Stats()
	for name, want := range map[string]int64{"wheellock.link.up": 1, "wheellock.lock.held": 1, "wheellock.lock.waiting": 1, "wheellock.redis.acquires": stats.Attempts} {
		if got := total(all[name]); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	if gauge, _ := all["wheellock.lock.oldest_hold"].Data.(metricdata.Gauge[float64]); len(gauge.DataPoints) != 1 || gauge.DataPoints[0].Value <= 0 {
		t.Errorf("the oldest hold: %v", gauge)
	}
	testkit.MustUnlock(t, h)
	h = testkit.MustWait(t, waiter)
	if got, want := total(collect(t, reader)["wheellock.lock.handoffs"]), e.Stats().Handoffs; got != want || want == 0 {
		t.Errorf("%d handoffs, want %d", got, want)
	}
	testkit.MustUnlock(t, h)
	metrics.Attach(nil)
	if _, there := collect(t, reader)["wheellock.link.up"]; there {
		t.Error("there are stats of an engine that was taken off")
	}
}

// named tells the instruments of an engine apart from those of others, as README.md says.
type named struct {
	api.MeterProvider
	engine string
}

func (n named) Meter(scope string, opts ...api.MeterOption) api.Meter {
	return n.MeterProvider.Meter(scope, append(opts, api.WithInstrumentationAttributes(attribute.String("engine", n.engine)))...)
}

// Engines whose scopes have different attributes have instruments of their own: the link of one that is closed is down.
func TestSeveralEngines(t *testing.T) {
	t.Parallel()
	server, reader := redistest.Start(t), metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	for _, name := range []string{"up", "closed"} {
		metrics, err := wheelotel.NewMetrics(wheelotel.Options{MeterProvider: named{provider, name}})
		testkit.Must(t, err)
		e := testkit.Connect(t, server.Addr())
		metrics.Attach(e)
		if name == "closed" {
			e.Close()
		}
	}
	var now metricdata.ResourceMetrics
	testkit.Must(t, reader.Collect(t.Context(), &now))
	links := make(map[string]int64)
	for _, scope := range now.ScopeMetrics {
		name, _ := scope.Scope.Attributes.Value("engine")
		for _, m := range scope.Metrics {
			if m.Name == "wheellock.link.up" {
				links[name.AsString()] = total(m)
			}
		}
	}
	if want := map[string]int64{"up": 1, "closed": 0}; !maps.Equal(links, want) {
		t.Errorf("links %v, want %v", links, want)
	}
}

func TestClasses(t *testing.T) {
	t.Parallel()
	metrics, reader := newMetrics(t, func(name string) string {
		class, _, _ := strings.Cut(name, ":")
		return class
	})
	for _, name := range []string{"order:1", "order:2", "\xff:1"} {
		metrics.Observer().Granted(engine.Grant{Name: name, Kind: engine.KindFair, Waited: time.Millisecond})
	}
	all := collect(t, reader)
	if got, want := counted(all["wheellock.lock.wait.duration"], "wheellock.lock.class"), map[string]int{"order": 2, "invalid": 1}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if lost, _ := all["wheellock.lock.lost"].Data.(metricdata.Sum[int64]); len(lost.DataPoints) != 2 || total(all["wheellock.lock.lost"]) != 0 {
		t.Errorf("lost locks: %v, want 0 of each class, so that the first one is an increase", lost.DataPoints)
	}
}

// refusing is a MeterProvider that makes no instruments.
type refusing struct{ noop.MeterProvider }

type refusingMeter struct{ noop.Meter }

func (refusing) Meter(string, ...api.MeterOption) api.Meter { return refusingMeter{} }

var errRefusing = errors.New("no instruments")

func (refusingMeter) Int64Counter(string, ...api.Int64CounterOption) (api.Int64Counter, error) {
	return nil, errRefusing
}

func TestAProviderThatRefuses(t *testing.T) {
	t.Parallel()
	if m, err := wheelotel.NewMetrics(wheelotel.Options{MeterProvider: refusing{}}); !errors.Is(err, errRefusing) || m != nil {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := wheelotel.NewMetrics(wheelotel.Options{}); err != nil { // the global one
		t.Error(err)
	}
}

// README.md has all instruments with their units and attributes.
func TestReadmeHasTheInstruments(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	metrics, reader := newMetrics(t, nil)
	metrics.Attach(testkit.Connect(t, server.Addr()))
	metrics.Observer().Granted(engine.Grant{Kind: engine.KindMutex})
	metrics.Observer().Ended(engine.End{Kind: engine.KindMutex, Err: engine.ErrLost})
	var want []string
	for name, m := range collect(t, reader) {
		var attributes []string
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			attributes = keys(data.DataPoints[0].Attributes)
		case metricdata.Sum[int64]:
			attributes = keys(data.DataPoints[0].Attributes)
		}
		want = append(want, strings.TrimSpace(name+" "+m.Unit+" "+strings.Join(attributes, ", ")))
	}
	text, err := os.ReadFile("README.md")
	testkit.Must(t, err)
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(wheellock\\.[\\w.]+)` \\| [\\w ]+ \\| (\\S+) \\| ([a-z, ]*) ?\\|").FindAllStringSubmatch(string(text), -1) {
		got = append(got, strings.TrimSpace(row[1]+" "+row[2]+" "+strings.TrimSpace(row[3])))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("README.md has\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// keys are the last parts of the keys of attributes.
func keys(set attribute.Set) (all []string) {
	for _, a := range set.ToSlice() {
		all = append(all, string(a.Key[strings.LastIndexByte(string(a.Key), '.')+1:]))
	}
	slices.Sort(all)
	return all
}
