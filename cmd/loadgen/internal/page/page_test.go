package page

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/load"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
)

// aResult is a run of some seconds, in steps or not.
func aResult(steps int) *report.Result {
	rate, p50 := 2000.0, 500.0
	r := &report.Result{
		Format: report.Format, Started: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), OK: true, Pairs: 6000, Seconds: 3, PairsPerSecond: &rate,
		Plan:   load.Plan{Kind: load.Mutex, Names: 3, Workers: 64, Processes: 1, Duration: 3 * time.Second, Seed: 7, Check: 100},
		Server: report.Server{Meaning: "private redis-server <7.0>"}, Checks: report.Checks{Sections: 6001, InRedis: 61},
	}
	acquire := &report.Latency{Count: 6000, P50: p50, P99: 990, P999: 999, Max: 1000}
	for i := range 6000 {
		acquire.HDR.Record(time.Duration(i) * time.Microsecond)
	}
	r.Latency.Acquire = acquire
	for i := range 3 {
		r.PerSecond = append(r.PerSecond, report.Second{End: float64(i + 1), PairsPerSecond: rate, AcquireP50: p50, AcquireP99: 990, AcquireMax: 1000, Waiting: 3})
	}
	r.PerSecond[1].AcquireP50 = 0 // nothing was recorded
	for i := range steps {
		r.Steps = append(r.Steps, report.Step{Callers: 1 << i, Second: r.PerSecond[0]})
	}
	return r
}

func written(t *testing.T, runs ...*report.Result) string {
	t.Helper()
	var out strings.Builder
	if err := Write(&out, runs); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func want(t *testing.T, page string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(page, word) {
			t.Errorf("the page does not say %q", word)
		}
	}
}

func TestPageOfARun(t *testing.T) {
	page := written(t, aResult(0))
	want(t, page, "64 blocking callers · closed loop · 3 names", "private redis-server &lt;7.0&gt;", "The lock kept its promise", "2,000 pairs/s", "Throughput",
		"Acquire latency over time", "Latency by percentile", "Callers that wait", "<th>Critical sections checked in memory</th><td>6,001</td>",
		"<code>--seed</code></th><td>7</td>", "<th>acquire.p99.9</th>", "p50: 500 µs, second 1")
	for _, word := range []string{"<script", "http:", "https:", "src=", "href=", "url(", "by callers", "NaN"} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %q", word)
		}
	}
}

func TestPageOfRunsWhoseCallersGrow(t *testing.T) {
	other := aResult(5)
	slow := 1000.0
	other.PairsPerSecond = &slow
	page := written(t, aResult(5), other)
	want(t, page, "Throughput by callers", "Acquire latency by callers", "2 runs: figures are medians", "<dd>1,500 pairs/s</dd><dd class=\"range\">1,000 to 2,000</dd>",
		"<th>Pairs of lock and unlock</th><td>12,000</td>", "p99: 990 µs, 16 callers, run 2")
}

func TestPageOfAFailure(t *testing.T) {
	r := aResult(0)
	r.OK, r.Problems, r.EndedEarly = false, []string{"EXCLUSION VIOLATED: 3 times"}, true
	r.Checks.Violations, r.Calls.Errors = 3, map[string]int64{"no answer from Redis, the outcome is unknown": 5}
	page := written(t, r)
	want(t, page, "EXCLUSION VIOLATED: 3 times", "<th>Violations found in memory</th><td>3</td>", "no answer from Redis, the outcome is unknown", "ended early")
	if strings.Contains(page, "kept its promise") {
		t.Error("it says that the lock kept its promise")
	}
	nothing := &report.Result{Format: report.Format, Plan: r.Plan, Problems: []string{"nothing was measured"}}
	want(t, written(t, nothing), "nothing was measured")
}

// The drawings are well-formed, and inside of their frame.
func TestDrawings(t *testing.T) {
	page := written(t, aResult(5))
	drawings := regexp.MustCompile(`(?s)<svg .*?</svg>`).FindAllString(page, -1)
	if len(drawings) != 6 {
		t.Fatalf("%d drawings, want 6", len(drawings))
	}
	for _, drawing := range drawings {
		paths := 0
		for d := xml.NewDecoder(strings.NewReader(drawing)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, drawing)
			}
			if e, is := token.(xml.StartElement); is && e.Name.Local == "path" {
				paths++
			}
		}
		if paths == 0 {
			t.Errorf("nothing is drawn in %s", drawing)
		}
	}
}
