// Package prometheustest checks the dashboard and the alerting rules of contrib/prometheus with Prometheus' own parsers, against what a
// running exporter shows. It is a module of its own, so that who uses the metrics does not get Prometheus' server with them.
package prometheustest

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"

	wheelprom "github.com/wheellock/wheellock/contrib/prometheus"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestDashboardAndAlertsNameWhatExists has every request and hold of an engine end in every way, and scrapes it. Every expression then
// selects time series that exist, by labels and values that exist, and every label that a text shows is in the result.
func TestDashboardAndAlertsNameWhatExists(t *testing.T) {
	t.Parallel()
	c := checker{promql: parser.NewParser(parser.Options{}), series: scrape(t)}
	t.Run("dashboard", func(t *testing.T) {
		var dashboard struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr, LegendFormat string }
			}
			Templating struct {
				List []struct {
					Name, Type string
					Query      any
				}
			}
		}
		read(t, "dashboard.json", &dashboard)
		for _, p := range dashboard.Panels {
			if len(p.Targets) == 0 {
				t.Errorf("%s: shows nothing", p.Title)
			}
			for _, target := range p.Targets {
				c.check(t, p.Title, target.Expr, names(target.LegendFormat, `\{\{ *(\w+) *\}\}`))
			}
		}
		variables := []string{"datasource"}
		for _, v := range dashboard.Templating.List {
			variables = append(variables, v.Name)
			if v.Type != "query" {
				continue
			}
			query, _ := v.Query.(map[string]any)["query"].(string)
			m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(query)
			if m == nil {
				t.Fatalf("variable %s: %q is no label_values(selector, label)", v.Name, query)
			}
			c.check(t, "variable "+v.Name, m[1], []string{m[2]})
		}
		for _, p := range dashboard.Panels {
			for _, target := range p.Targets {
				for _, name := range names(target.Expr, `\$(\w+)`) {
					if !strings.HasPrefix(name, "__") && !slices.Contains(variables, name) {
						t.Errorf("%s: there is no variable %s", p.Title, name)
					}
				}
			}
		}
	})
	t.Run("alerts", func(t *testing.T) {
		groups, errs := rulefmt.ParseFile("../prometheus/alerts.yml", false, model.UTF8Validation, c.promql, slog.New(slog.DiscardHandler))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for _, group := range groups.Groups {
			for _, rule := range group.Rules {
				var shown []string
				for _, text := range rule.Annotations {
					shown = append(shown, names(text, `\$labels\.(\w+)`)...)
				}
				c.check(t, rule.Alert, rule.Expr, shown)
				if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" || rule.Labels["severity"] == "" {
					t.Errorf("%s: has no summary, description or severity", rule.Alert)
				}
			}
		}
	})
	t.Run("what is wrong is found", func(t *testing.T) {
		for expr, shown := range map[string]string{
			`wheellock_locks`:                                              "",
			`wheellock_up{class="all"}`:                                    "",
			`wheellock_up{job="other"}`:                                    "",
			`wheellock_held{instance=~"a|b"}`:                              "",
			`sum by (class) (wheellock_held)`:                              "",
			`sum by (le) (wheellock_lock_wait_seconds_count)`:              "",
			`wheellock_lock_wait_seconds_count{outcome="lost"}`:            "",
			`wheellock_lock_wait_seconds_count{outcome=~"granted|grated"}`: "",
			`sum(wheellock_up)`:                                            "job",
			`wheellock_held`:                                               "kind",
			`sum(`:                                                         "",
		} {
			if c.complaints(expr, names(shown, `\w+`)) == nil {
				t.Errorf("nothing is said against %s that shows %q", expr, shown)
			}
		}
	})
}

// scrape has an engine do everything, and returns the time series as Prometheus would keep them.
func scrape(t *testing.T) []labels.Labels {
	t.Helper()
	server := redistest.Start(t)
	metrics, err := wheelprom.New(wheelprom.Options{})
	testkit.Must(t, err)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Observer = metrics.Observer() })
	metrics.Attach(e)
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	exporter := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer exporter.Close()
	testkit.EveryOutcome(t, server, e, metrics.Observer())
	var series []labels.Labels
	redistest.Await(t, "every outcome", func() bool {
		series = get(t, exporter)
		return slices.ContainsFunc(series, func(s labels.Labels) bool { return s.Get("outcome") == "max_hold" }) &&
			slices.ContainsFunc(series, func(s labels.Labels) bool {
				return s.Get("outcome") == "closed" && strings.Contains(s.Get("__name__"), "hold")
			})
	})
	return series
}

// get scrapes an exporter once.
func get(t *testing.T, exporter *httptest.Server) (series []labels.Labels) {
	t.Helper()
	answer, err := exporter.Client().Get(exporter.URL)
	testkit.Must(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status)
	}
	text := expfmt.NewTextParser(model.UTF8Validation)
	families, err := text.TextToMetricFamilies(answer.Body)
	testkit.Must(t, err)
	for name, f := range families {
		for _, m := range f.GetMetric() {
			add := func(suffix string, more ...string) {
				b := labels.NewBuilder(labels.FromStrings(append(more, "__name__", name+suffix, "job", "shop", "instance", "shop-1")...))
				for _, l := range m.GetLabel() {
					b.Set(l.GetName(), l.GetValue())
				}
				series = append(series, b.Labels())
			}
			if f.GetType() == dto.MetricType_HISTOGRAM {
				add("_count")
				add("_sum")
				add("_bucket", "le", "+Inf")
			} else {
				add("")
			}
		}
	}
	return series
}

// checker judges expressions by what was scraped.
type checker struct {
	promql parser.Parser
	series []labels.Labels
}

func (c *checker) check(t *testing.T, what, expr string, shown []string) {
	t.Helper()
	for _, complaint := range c.complaints(expr, shown) {
		t.Errorf("%s: %s\n\t%s", what, complaint, expr)
	}
}

// variables are what Grafana puts in place of its variables.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$job", ".*", "$instance", ".*", "$class", ".*")

// complaints are what is wrong with an expression, and with the labels of its result that a text shows.
func (c *checker) complaints(expr string, shown []string) (all []string) {
	parsed, err := c.promql.ParseExpr(variables.Replace(expr))
	if err != nil {
		return []string{err.Error()}
	}
	parser.Inspect(parsed, func(n parser.Node, path []parser.Node) error {
		v, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		found := c.series
		for _, m := range v.LabelMatchers {
			all = append(all, c.misses(found, m)...)
			found = selected(found, m)
		}
		if len(found) == 0 {
			all = append(all, "selects nothing: "+v.String())
			return nil
		}
		wanted := shown // of all labels that aggregations leave
		for _, outside := range path {
			if sum, ok := outside.(*parser.AggregateExpr); ok {
				for _, name := range wanted {
					if !slices.Contains(sum.Grouping, name) {
						all = append(all, "label "+name+" is not in the result")
					}
				}
				wanted = append(wanted[:len(wanted):len(wanted)], sum.Grouping...)
			}
		}
		for _, name := range wanted {
			if !found[0].Has(name) {
				all = append(all, v.Name+" has no label "+name)
			}
		}
		return nil
	})
	return all
}

// misses are the values in a matcher that no series has.
func (c *checker) misses(series []labels.Labels, m *labels.Matcher) (all []string) {
	for value := range strings.SplitSeq(m.Value, "|") {
		one := labels.MustNewMatcher(m.Type, m.Name, value)
		switch one.Type {
		case labels.MatchNotEqual:
			one.Type = labels.MatchEqual
		case labels.MatchNotRegexp:
			one = labels.MustNewMatcher(labels.MatchRegexp, m.Name, value)
		}
		if len(selected(series, one)) == 0 {
			all = append(all, "nothing has "+one.String())
		}
	}
	return all
}

func selected(series []labels.Labels, m *labels.Matcher) (found []labels.Labels) {
	for _, s := range series {
		if s.Has(m.Name) && m.Matches(s.Get(m.Name)) {
			found = append(found, s)
		}
	}
	return found
}

// names are what the first group of a pattern finds in a text, or the whole of it.
func names(text, pattern string) (all []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all = append(all, m[len(m)-1])
	}
	return all
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile("../prometheus/" + name)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	testkit.Must(t, err)
}
