package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// program runs loadgen as a process to its end.
func program(t *testing.T, env []string, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), asProgram+"=1"), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), said.String()
}

// wantSaid fails unless a text has these words, however its lines are broken.
func wantSaid(t *testing.T, text string, words ...string) {
	t.Helper()
	joined := strings.Join(strings.Fields(text), " ")
	for _, word := range words {
		if !strings.Contains(joined, word) {
			t.Errorf("it does not say %q:\n%s", word, text)
		}
	}
}

// wantFits fails if a line for people is wider than a usual terminal. Lines of the log are one record each.
func wantFits(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 && !strings.HasPrefix(line, "t=") {
			t.Errorf("a line of %d places: %s", n, line)
		}
	}
}

func TestRepeatedRunsAndTheirComparison(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	dir := t.TempDir()
	before, after := filepath.Join(dir, "before.json"), filepath.Join(dir, "after.json")
	load := []string{"--redis", server.URL(), "--workers", "4", "--think", "10ms", "--warmup", "0", "--duration", "500ms"}
	exit, out, said := program(t, nil, append(load, "--repeat", "3", "--json", before)...)
	if exit != exitOK {
		t.Fatalf("exit %d, said %s", exit, said)
	}
	wantSaid(t, out, "run 1 ", "run 2 ", "run 3 ", "3 runs median least most spread", "throughput ", "acquire.p99.9 ", "client.allocs ")
	wantFits(t, out)
	runs, err := report.ReadJSON(before)
	if err != nil || len(runs) != 3 || runs[0].Pairs == 0 || runs[2].Pairs == 0 {
		t.Fatalf("%d runs, %v; want 3", len(runs), err)
	}
	other := filepath.Join(dir, "other.json")
	for file, flags := range map[string][]string{after: {"--handoff", "off", "--title", "no handoff"}, other: {"--names", "7"}} {
		if exit, _, said := program(t, nil, append(append(load, "--json", file), flags...)...); exit != exitOK {
			t.Fatalf("exit %d, said %s", exit, said)
		}
	}

	exit, out, said = program(t, nil, "compare", before, after)
	if exit != exitOK || said != "" {
		t.Errorf("compare: exit %d, said %q", exit, said)
	}
	wantSaid(t, out, "A "+before+", 3 runs of ", "B "+after+" (no handoff), 1 run of ", "What differs: handoff.", "A ± B ± change", "throughput ",
		"A side of one run has no spread")
	wantFits(t, strings.ReplaceAll(out, dir, ""))

	for _, bad := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"compare"}, exitUsage, "compare wants two files that --json wrote, not 0"},
		{[]string{"compare", before, after, after}, exitUsage, "not 3"},
		{[]string{"compare", before, "/nonexistent.json"}, exitFailed, "no such file"},
		{[]string{"compare", before, os.Args[0]}, exitFailed, "is not what loadgen --json writes"},
		{[]string{"compare", before, other}, exitUsage, "are different loads: names 16 and 7."},
		{[]string{"compare", "--spread", before}, exitUsage, "there is no flag --spread"},
		{[]string{"compare", "--fail", "throughput<-5", before, after}, exitUsage, `"-5" has a sign, so it is a change`},
	} {
		if exit, out, said := program(t, nil, bad.args...); exit != bad.exit || out != "" || !strings.Contains(said, bad.want) {
			t.Errorf("%q: exit %d, said %q and %q", bad.args, exit, out, said)
		}
	}
	exit, out, _ = program(t, nil, "compare", before, after, "--fail", "throughput>+1000000%", "--fail", "throughput<1M", "--fail", "throughput>-99%")
	if exit != exitThreshold || strings.Count(out, "--fail") != 2 {
		t.Errorf("compare --fail: exit %d, said %s", exit, out)
	}
	wantSaid(t, out, "--fail throughput<1M: it is ", "--fail throughput>-99%: it went from ")
	if exit, out, _ := program(t, nil, "compare", "-h"); exit != exitOK || out != compareHelp {
		t.Errorf("compare -h: exit %d", exit)
	}
	wantFits(t, compareHelp)
}

func TestThresholdsDecideTheExitCode(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	load := []string{"--redis", server.URL(), "--workers", "4", "--think", "10ms", "--warmup", "0", "--duration", "500ms"}
	for _, c := range []struct {
		fail []string
		exit int
		want string
	}{
		{[]string{"acquire.p99>1h", "throughput<1"}, exitOK, "no violation"},
		{[]string{"acquire.p99>1h", "throughput<1M"}, exitThreshold, "--fail throughput<1M: it is "},
		{[]string{"acquire.p50>1ns", "failed>0"}, exitThreshold, "--fail acquire.p50>1ns: it is "},
		{[]string{"across.p99>1h"}, exitThreshold, "--fail across.p99>1h: nothing was measured that could show it"},
	} {
		args := load
		for _, f := range c.fail {
			args = append(args, "--fail", f)
		}
		exit, out, _ := program(t, nil, args...)
		if exit != c.exit {
			t.Errorf("--fail %q: exit %d, want %d", c.fail, exit, c.exit)
		}
		wantSaid(t, out, c.want)
	}
}

// One caller who holds each lock for 10 ms does no more than 100 of 2,000 calls a second, on any machine.
func TestARateThatIsNotReached(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	file := filepath.Join(t.TempDir(), "page.html")
	load := []string{"--redis", server.URL(), "--workers", "1", "--hold", "10ms", "--warmup", "0", "--duration", "500ms", "--html", file}
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"--rate", "2k"}, exitSaturated, "asked 2,000/s, got "},
		{[]string{"--rate", "2k", "--fail", "reached<98%"}, exitThreshold, "--fail reached<98%: it is "},
		{[]string{"--rate", "1k..2k", "--steps", "2"}, exitOK, "asked 1,000/s, got "},
	} {
		exit, out, said := program(t, nil, append(load, c.args...)...)
		if exit != c.exit {
			t.Errorf("%q: exit %d, want %d; said %s", c.args, exit, c.exit, said)
		}
		wantSaid(t, out, c.want, "/s: saturated throughput", "no violation")
		wantFits(t, out)
		page, err := os.ReadFile(file)
		testkit.Must(t, err)
		wantSaid(t, string(page), `<p class="verdict warn">asked `)
	}
}

func TestGrowingCallers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, processes := range []string{"1", "2"} {
		t.Run(processes+" processes", func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "result.json")
			exit, out, said := program(t, nil, "--redis", server.URL(), "--workers", "2..32", "--steps", "3", "--processes", processes, "--think", "5ms",
				"--warmup", "100ms", "--duration", "1500ms", "--json", file)
			if exit != exitOK {
				t.Fatalf("exit %d, said %s", exit, said)
			}
			wantSaid(t, out, "2 to 32 blocking callers in 3 steps", "callers pairs/s p50 p99 max handoffs waiting", "no violation")
			wantFits(t, out)
			runs, err := report.ReadJSON(file)
			testkit.Must(t, err)
			var callers []int
			for _, s := range runs[0].Steps {
				callers = append(callers, s.Callers)
				// A caller that pauses for 5 ms asks at most once in that time.
				if most := float64(s.Callers) * 200; s.PairsPerSecond <= 0 || s.PairsPerSecond > most*1.05 {
					t.Errorf("%d callers: %.0f pairs/s, want some and no more than %.0f", s.Callers, s.PairsPerSecond, most)
				}
			}
			if len(callers) != 3 || callers[0] != 2 || callers[1] != 8 || callers[2] != 32 {
				t.Errorf("callers in steps: %v, want 2 8 32", callers)
			}
			if runs[0].Fairness.Workers != nil {
				t.Error("fairness of callers of whom some came later")
			}
		})
	}
}

func TestQuorumOnServersOfItsOwn(t *testing.T) {
	t.Parallel()
	redistest.Require(t, "redis-server")
	exit, out, said := program(t, []string{temporary(t)}, "--kind", "quorum", "--workers", "4", "--think", "10ms", "--warmup", "0", "--duration", "1s", "--processes", "2")
	if exit != exitOK {
		t.Errorf("exit %d, said %s", exit, said)
	}
	wantSaid(t, out, "3 private redis-servers", "no violation, no key left behind, nobody stranded")
	wantFits(t, out)
}

// The password may come from the environment. It is neither shown nor used for a server of loadgen's own.
func TestPasswordFromTheEnvironment(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--requirepass", "hunter2")
	bare := strings.Replace(server.URL(), ":hunter2@", "", 1)
	load := []string{"--workers", "2", "--think", "10ms", "--warmup", "0", "--duration", "300ms"}
	for _, processes := range []string{"1", "2"} {
		exit, out, said := program(t, []string{"WHEELLOCK_PASSWORD=hunter2"}, append(load, "--redis", bare, "--processes", processes)...)
		if exit != exitOK || strings.Contains(out+said, "hunter2") {
			t.Errorf("exit %d, said %s%s", exit, out, said)
		}
	}
	exit, _, said := program(t, []string{"WHEELLOCK_PASSWORD=sesame"}, append(load, "--redis", bare)...)
	if exit != exitFailed || !strings.Contains(said, "check the user and the password") || strings.Contains(said, "sesame") {
		t.Errorf("a wrong password: exit %d, said %q", exit, said)
	}
	if exit, _, said := program(t, []string{"WHEELLOCK_PASSWORD=hunter2"}, load...); exit != exitOK {
		t.Errorf("a server of its own: exit %d, said %s", exit, said)
	}
	sentinel := redistest.StartOneSentinel(t, redistest.Start(t).Addr(), 1, "--requirepass", "sesame")
	load = append(load, "--redis", "redis://"+sentinel.Addr()+"?master_set="+redistest.MasterName, "--processes", "2")
	if exit, out, said := program(t, []string{"WHEELLOCK_SENTINEL_PASSWORD=sesame"}, load...); exit != exitOK || strings.Contains(out+said, "sesame") {
		t.Errorf("the sentinels' password: exit %d, said %s%s", exit, out, said)
	}
}

// What the engine knows of a connection that fails, loadgen says, in words for who uses flags.
func TestConnectionErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	url := server.URL()
	server.Kill()
	for _, c := range []struct{ url, want string }{
		{url, "is redis-server running there? Else name another one with --redis"},
		{"unix:///nonexistent.sock", "name another one with --redis"},
	} {
		exit, out, said := program(t, nil, "--redis", c.url)
		if exit != exitFailed || out != "" || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit %d, said %q and %q", c.url, exit, out, said)
		}
	}
}

func TestPageForABrowser(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	file := filepath.Join(t.TempDir(), "page.html")
	exit, _, said := program(t, nil, "--redis", server.URL(), "--workers", "4", "--think", "10ms", "--warmup", "0", "--duration", "500ms", "--seed", "4711",
		"--html", file)
	if exit != exitOK {
		t.Fatalf("exit %d, said %s", exit, said)
	}
	page, err := os.ReadFile(file)
	testkit.Must(t, err)
	wantSaid(t, string(page), "4 blocking callers", "The lock kept its promise", "<td>4711</td>", "Latency by percentile", "</html>")
	if exit, out, said := program(t, nil, "--html", "/nonexistent/page.html"); exit != exitFailed || out != "" || !strings.Contains(said, "no such file") {
		t.Errorf("a page that cannot be: exit %d, said %q and %q", exit, out, said)
	}
}
