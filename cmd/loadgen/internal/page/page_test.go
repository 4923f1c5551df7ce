package page

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
	"github.com/wheellock/wheellock/internal/load"
)

// aResult is a run of some seconds, in steps or not.
func aResult(steps int) *report.Result {
	rate, p50, p99, most := 2000.0, 500.0, 990.0, 1000.0
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
		r.PerSecond = append(r.PerSecond, report.Second{End: float64(i + 1), PairsPerSecond: rate, AcquireP50: &p50, AcquireP99: &p99, AcquireMax: &most, Waiting: 3})
	}
	r.PerSecond[1].AcquireP50 = nil // nothing was recorded
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
	want(t, page, "64 blocking callers · closed loop · 3 names", "private redis-server &lt;7.0&gt;", "The lock kept its promise", "<dd>2,000 <span class=\"quiet\">pairs/s</span></dd>", "Throughput",
		"Acquire latency over time", "Latency by percentile", "Callers that wait", "<th>Critical sections checked in memory</th><td>6,001</td>",
		"<code>--seed</code></th><td>7</td>", "<th>acquire.p99.9 <span class=\"quiet\"></span></th>", "<th>throughput <span class=\"quiet\">pairs/s</span></th><td>2,000</td>", "p50: 500 µs, second 1")
	for _, word := range []string{"<script", "http:", "https:", "src=", "href=", "url(", "by step", "NaN"} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %q", word)
		}
	}
}

// What a second says of all of its time is drawn from its beginning, and what is counted at its end is not.
func TestChartsOverTimeBeginAtTheirBeginning(t *testing.T) {
	all := charts([]*report.Result{aResult(0)})
	for i, want := range map[int]float64{0: 0, 1: 0, 3: 1} {
		if got := all[i].Lines[0].Points[0].X; got != want {
			t.Errorf("%s begins at %g, want %g", all[i].Title, got, want)
		}
	}
}

func TestPageOfRunsWhoseCallersGrow(t *testing.T) {
	other := aResult(5)
	slow := 1000.0
	other.PairsPerSecond = &slow
	page := written(t, aResult(5), other)
	want(t, page, "Throughput by step", "Acquire latency by step", "2 runs: figures are medians", "<h2>The best of 5 steps: 1 caller</h2>", "<dd>2,000 <span class=\"quiet\">pairs/s</span></dd><dd class=\"range\">2,000 to 2,000</dd>",
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

func TestPageOfARateThatWasNotReached(t *testing.T) {
	r := aResult(0)
	r.Title, r.Plan.Rate, r.Schedule = "A <title>", 2700, &report.Schedule{Asked: 2700, Got: 2000, Saturated: true}
	page := written(t, aResult(0), r)
	want(t, page, `<p class="verdict warn">asked 2,700/s, got 2,000/s: saturated</p>`, "The lock kept its promise")
	want(t, written(t, r), "<title>loadgen: A &lt;title&gt;</title>", "<h1>A &lt;title&gt;</h1>\n<p>64 blocking callers", "Backlog")
}

func TestPageOfARateThatGrows(t *testing.T) {
	r := aResult(3)
	r.Plan.FromRate, r.Plan.Rate, r.Plan.Steps = 1000, 4000, 3
	for i := range r.Steps {
		asked := []float64{1000, 2000, 4000}[i]
		r.Steps[i].Schedule = &report.Schedule{Asked: asked, Got: min(asked, 2000), Saturated: i == 2}
		r.Steps[i].PairsPerSecond, r.Steps[i].End = min(asked, 2000), float64(i+1)
	}
	r.Schedule = r.Steps[2].Schedule
	page := written(t, r)
	want(t, page, "asked 4,000/s, got 2,000/s: saturated; reached 2,000/s", "<h2>The best of 3 steps: 2,000 calls/s</h2>", "Throughput by step",
		"1,000..4,000 calls/s in 3 steps", "p99: 990 µs, 2,000 calls/s", "dashed: where a step begins, of so many calls/s", `class="step"`, ">4,000/s</text>")
}

func TestPageOfReadersAndWriters(t *testing.T) {
	r := aResult(0)
	r.Plan.Kind, r.Latency.Readers, r.Latency.Writers = load.RW, r.Latency.Acquire, r.Latency.Acquire
	reads, writes := 1800.0, 200.0
	r.ReadersPerSecond, r.WritersPerSecond = &reads, &writes
	page := written(t, r)
	want(t, page, "<dt>Writers, p99</dt>", "<dt>Readers</dt><dd>1,800 ", "writers: 1", "</span>readers</li>")
	if strings.Contains(page, "<dt>Acquire") || strings.Contains(page, "</span>acquire</li>") {
		t.Error("it has figures of readers and writers mixed")
	}
}
