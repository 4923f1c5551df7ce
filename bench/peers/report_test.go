package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/figures"
)

var update = flag.Bool("update", false, "draw the results anew")

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	turn := func(contestant string, round int, pairs float64) Result {
		return Result{Work: "hot-64", Contestant: contestant, Round: round, PairsPerSecond: pairs}
	}
	void := turn("fast", 4, 1)
	void.Void = "NO EXCLUSION"
	summaries := summarize([]Result{
		turn("fast", 1, 200), turn("base", 1, 100),
		turn("fast", 2, 20), turn("base", 2, 10), // the machine was busy
		turn("fast", 3, 600), turn("base", 3, 200),
		void, turn("base", 4, 100),
	}, "base")
	fast := summaries[0]
	if fast.Ratio != 2 || fast.PairsPerSecond != (figures.Spread{Median: 200, Min: 20, Max: 600}) {
		t.Errorf("ratio %g, spread %+v", fast.Ratio, fast.PairsPerSecond)
	}
	if fast.Rounds != 3 || fast.Void != 1 {
		t.Errorf("%d rounds and %d void, want 3 and 1", fast.Rounds, fast.Void)
	}
}

func TestServersAreComparedWithTheFirst(t *testing.T) {
	var results []Result
	for round := range 3 {
		for server, pairs := range map[string]float64{"Redis 7.0.15": 100, "Valkey 8.1.1": 150} {
			for contestant, times := range map[string]float64{"wheellock": 1, "ceiling": 2} {
				results = append(results, Result{Work: "distinct-64", Contestant: contestant, Server: server, Round: round, PairsPerSecond: pairs * times})
			}
		}
	}
	slices.SortStableFunc(results, func(a, b Result) int { return strings.Compare(a.Server, b.Server) })
	opts := options{rounds: 3, length: time.Second, base: "rueidislock", works: allWorks, entries: contestants()}
	r := newReport(opts, []*server{{name: "Redis 7.0.15"}, {name: "Valkey 8.1.1"}}, results)
	for _, s := range r.Summaries {
		want := map[string]float64{"Redis 7.0.15": 1, "Valkey 8.1.1": 1.5}[s.Server]
		ceiling := map[string]float64{"wheellock": 0.5, "ceiling": 1}[s.Contestant]
		if s.Rounds != 3 || s.Ratio != want || s.OfCeiling != ceiling {
			t.Errorf("%s: %d rounds, ratio %g, want %g; %g of the ceiling, want %g", on(s.Contestant, s.Server), s.Rounds, s.Ratio, want, s.OfCeiling, ceiling)
		}
	}
	tables := r.markdown(nil)
	for _, want := range []string{"| × Redis 7.0.15 |", "| wheellock, Valkey 8.1.1 | 150 |", ", Redis 7.0.15, Valkey 8.1.1, loopback"} {
		if !strings.Contains(tables, want) {
			t.Errorf("the tables do not say %q:\n%s", want, tables)
		}
	}
}

func TestReport(t *testing.T) {
	opts := options{rounds: 1, length: time.Second, base: "rueidislock", works: allWorks, entries: contestants()}
	r := newReport(opts, []*server{{name: "Redis 7.0.15"}}, []Result{
		{Work: "hot-64", Contestant: "rueidislock", Round: 1, PairsPerSecond: 12345, Wait: Waits{P50: 1, P99: 2500}, JainCallers: 0.5},
		{Work: "hot-64", Contestant: "redsync", Round: 1, Void: "NO EXCLUSION, 3 times"},
		{Work: "handover", Contestant: "rueidislock", Round: 1, PairsPerSecond: 9, Wait: Waits{P50: 400, P99: 900}, Lost: 2},
	})
	folder := t.TempDir()
	var screen strings.Builder
	if err := r.write(&screen, folder); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"12,345", "2.50 ms", "| redsync | void |", "**VOID**: hot-64, redsync, round 1", "2 hand-overs did not come", "![One contended lock: the p99 wait](wait.svg)"} {
		if !strings.Contains(screen.String(), want) {
			t.Errorf("the tables do not say %q:\n%s", want, &screen)
		}
	}
	if strings.Contains(screen.String(), "distinct-1:") {
		t.Error("there is a table for a work that was not measured")
	}
	for _, file := range []string{"results.md", "results.json", "wait.svg", "handover.svg"} {
		if info, err := os.Stat(filepath.Join(folder, file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
	if r.voided() != 1 {
		t.Errorf("%d void, want 1", r.voided())
	}
}

func TestFleetsOfOneSizeStandInOneTable(t *testing.T) {
	turn := func(work string, per float64) Result {
		return Result{Work: work, Contestant: "wheellock", Round: 1, PairsPerSecond: 100, Handovers: 0.5, Scripts: per, Executed: 10 * per}
	}
	opts := options{rounds: 1, length: time.Second, base: "rueidislock", works: allWorks, entries: contestants()}
	r := newReport(opts, []*server{{name: "Redis 7.0.15"}}, []Result{
		turn("fleet-mutex-2-5ms", 1), turn("fleet-write-2-5ms", 2), turn("fleet-mutex-256-5ms", 3),
	})
	folder := t.TempDir()
	var screen strings.Builder
	if err := r.write(&screen, folder); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n| wheellock | 100 | 50 | 20.0 | - |", "|\n| wheellock, write | 100 | 50 | 40.0 |", "(fleet.svg)", "has a process or a client of its own"} {
		if !strings.Contains(screen.String(), want) {
			t.Errorf("the tables do not say %q:\n%s", want, &screen)
		}
	}
	picture, err := os.ReadFile(filepath.Join(folder, "fleet.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<title>wheellock: 20.0</title>", "<title>wheellock: 60.0</title>"} {
		if !bytes.Contains(picture, []byte(want)) {
			t.Errorf("the picture does not say %q", want)
		}
	}
}

func TestFiguresArePlain(t *testing.T) {
	for value, want := range map[float64]string{0: "-", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(value); got != want {
			t.Errorf("thousands(%g) = %q, want %q", value, got, want)
		}
	}
	for us, want := range map[float64]string{0: "-", 0.25: "250 ns", 12.34: "12.3 µs", 1500: "1.50 ms", 2e6: "2.00 s"} {
		if got := microseconds(us); got != want {
			t.Errorf("microseconds(%g) = %q, want %q", us, got, want)
		}
	}
}

// The pictures and tables in results are those of its figures: what is changed in the drawing is drawn again with -update.
func TestResultsAreDrawnAsTheyStand(t *testing.T) {
	for folder, files := range map[string][]string{
		"results":         {"results.md", "distinct.svg", "wait.svg", "handover.svg", "callers.svg"},
		"results/fleet":   {"fleet.svg"},
		"results/servers": nil,
		"results/cluster": nil,
	} {
		drawAnew(t, folder, files, &report{works: allWorks, entries: append(contestants(), redissonEntry(""), redisPyEntry(""))})
	}
	outages := outageReport{entries: contestants()}
	drawAnew(t, "results/outage", []string{"results.md", "outage.svg"}, &outages)
	for _, path := range []string{"../../README.md", "../../docs/BENCHMARKS.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before, excerpt, _ := strings.Cut(string(text), excerptBegins)
		_, excerpt, _ = strings.Cut(excerpt, "\n\n") // its first line; then the table
		_, after, found := strings.Cut(excerpt, "\n\n")
		compareWith(t, path, []byte(before+outages.excerpt()+"\n"+after))
		if !found {
			t.Errorf("%s has no excerpt of the outages", path)
		}
	}
}

// drawAnew compares the files of a folder with what its results.json gives.
func drawAnew(t *testing.T, results string, files []string, r interface{ write(io.Writer, string) error }) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(results, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := r.write(io.Discard, folder); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		got, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		compareWith(t, filepath.Join(results, file), got)
		for _, line := range regexp.MustCompile(`class="line (c\d+)"`).FindAllSubmatch(got, -1) {
			if !bytes.Contains(got, append([]byte("."), append(line[1], " { stroke: "...)...)) {
				t.Errorf("%s: a line of the class %s has no colour", file, line[1])
			}
		}
	}
}

// compareWith compares a file with what it is to be.
func compareWith(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not as it is drawn now (go test -update draws it anew): %v", path, err)
	}
}
