package prometheustest

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// The first event of its kind makes a time series that Prometheus has not seen as 0. It sets off the alert all the same, and for no longer
// than the alert looks back.
func TestTheFirstInvalidCallIsAnAlert(t *testing.T) {
	t.Parallel()
	promQL := parser.NewParser(parser.Options{})
	groups, errs := rulefmt.ParseFile("../prometheus/alerts.yml", false, model.UTF8Validation, promQL, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	rules := groups.Groups[0].Rules
	expr := rules[slices.IndexFunc(rules, func(r rulefmt.Rule) bool { return r.Alert == "WheellockInvalidCalls" })].Expr
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000, Timeout: time.Minute, Parser: promQL})
	defer engine.Close()

	began := time.Unix(0, 0)
	var scraped []chunks.Sample
	for at := time.Duration(0); at <= 2*time.Hour; at += 15 * time.Second {
		scraped = append(scraped, sample{at: at.Milliseconds(), value: 1})
	}
	series := storage.NewListSeries(labels.FromStrings("__name__", "wheellock_lock_wait_seconds_count", "outcome", "invalid",
		"class", "all", "kind", "mutex", "job", "shop", "instance", "shop-1"), scraped)
	stored := &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(bool, *storage.SelectHints, ...*labels.Matcher) storage.SeriesSet {
			return &one{SeriesSet: storage.EmptySeriesSet(), series: series}
		},
	}}
	for after, fires := range map[time.Duration]bool{time.Minute: true, 10 * time.Minute: true, time.Hour: false} {
		query, err := engine.NewInstantQuery(t.Context(), stored, nil, expr, began.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := query.Exec(t.Context()).Vector()
		if err != nil || (len(answer) > 0) != fires {
			t.Errorf("%v after a single invalid call: %v, %v; want an alert: %t", after, answer, err, fires)
		}
		query.Close()
	}
}

// one is a set of one series.
type one struct {
	storage.SeriesSet
	series storage.Series
	read   bool
}

func (o *one) Next() bool {
	first := !o.read
	o.read = true
	return first
}

func (o *one) At() storage.Series { return o.series }

// sample is a number at a time.
type sample struct {
	chunks.Sample
	at    int64 // ms
	value float64
}

func (s sample) T() int64                 { return s.at }
func (s sample) ST() int64                { return 0 }
func (s sample) F() float64               { return s.value }
func (s sample) Type() chunkenc.ValueType { return chunkenc.ValFloat }
