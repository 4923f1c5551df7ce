package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// game is one run of loadgen inside of a test.
type game struct {
	stdout, stderr bytes.Buffer
	exit           int
	nameFor        func(caller, name int) string
	programs       []string
	on             map[string]func(line string) // what to do when standard output says something, once
	end, hurry     context.CancelFunc
}

// play runs loadgen to its end.
func (g *game) play(args ...string) {
	s := session{self: os.Args[0], stdout: g, stderr: &g.stderr, nameFor: g.nameFor, programs: g.programs}
	s.end, g.end = context.WithCancel(context.Background())
	defer g.end()
	s.hurry, g.hurry = context.WithCancel(context.Background())
	defer g.hurry()
	g.exit = s.run(args)
}

// Write is the run's standard output.
func (g *game) Write(p []byte) (int, error) {
	g.stdout.Write(p)
	for word, do := range g.on {
		if strings.Contains(string(p), word) {
			delete(g.on, word)
			do(string(p))
		}
	}
	return len(p), nil
}

// want fails unless the run ended with a code, and said these words.
func (g *game) want(t *testing.T, exit int, words ...string) {
	t.Helper()
	if g.exit != exit {
		t.Errorf("exit code %d, want %d", g.exit, exit)
	}
	said := strings.Join(strings.Fields(g.stdout.String()), " ") // lines are broken to fit
	for _, word := range words {
		if !strings.Contains(said, strings.Join(strings.Fields(word), " ")) {
			t.Errorf("it does not say %q", word)
		}
	}
	if t.Failed() {
		t.Logf("standard output:\n%s\nstandard error:\n%s", g.stdout.String(), g.stderr.String())
	}
}

// result reads what --json wrote.
func result(t *testing.T, path string) (r report.Result) {
	t.Helper()
	text, err := os.ReadFile(path)
	testkit.Must(t, err)
	testkit.Must(t, json.Unmarshal(text, &r))
	return r
}

// temporary is, for a program's environment, a directory for temporary files, with a path short enough for unix sockets, that must
// be empty at the end of the test.
func temporary(t *testing.T) (env string) {
	t.Helper()
	tmp, err := os.MkdirTemp("", "t")
	testkit.Must(t, err)
	t.Cleanup(func() {
		if left, err := filepath.Glob(filepath.Join(tmp, "*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %q, %v", left, err)
		}
		os.RemoveAll(tmp)
	})
	return "TMPDIR=" + tmp
}

// prefix is what the keys of a run begin with, from the line that says so.
func prefix(line string) string { return regexp.MustCompile(`loadgen:\w+:`).FindString(line) }

func TestRunAloneStartsAServerAndLeavesNothing(t *testing.T) {
	t.Parallel()
	redistest.Require(t, "redis-server")
	file := filepath.Join(t.TempDir(), "result.json")
	exit, out, said := program(t, []string{temporary(t)},
		"--processes", "2", "--names", "2", "--workers", "8", "--think", "5ms", "--warmup", "100ms", "--duration", "1500ms", "--json", file)
	if exit != exitOK {
		t.Errorf("exit %d, said %s", exit, said)
	}
	wantSaid(t, out, "no violation, no key left behind, nobody stranded")
	if first, _, _ := strings.Cut(out, "\n"); !regexp.MustCompile(`^loadgen: private redis-server \S+ on a unix socket: `).MatchString(first) {
		t.Errorf("the first line is %q", first)
	}
	r := result(t, file)
	if !r.OK || r.Pairs == 0 || len(r.Processes) != 2 || r.Processes[0].Pairs == 0 || r.Processes[1].Pairs == 0 {
		t.Errorf("ok %t, %d pairs, processes %+v", r.OK, r.Pairs, r.Processes)
	}
	c, want := r.Checks, float64(r.Checks.Sections)/leastCheck
	if c.InRedis == 0 || math.Abs(float64(c.InRedis)-want) > 5*math.Sqrt(want) || !c.SharedMemory { // 5 standard deviations
		t.Errorf("%d of %d sections checked in Redis, memory shared: %t; want one in ten, and yes", c.InRedis, c.Sections, c.SharedMemory)
	}
	if a := r.Redis.Across; a.Scripts == nil || *a.Scripts < 1 || a.Messages == nil || *a.Commands < *a.Scripts {
		t.Errorf("costs of a hand-over to another process: %+v; want at least a script call", a)
	}
	if r.Latency.Across == nil || !r.Redis.Known || r.Client.AllocsPerPair == nil {
		t.Errorf("missing: across %v, Redis %+v, client %+v", r.Latency.Across, r.Redis, r.Client)
	}
}

func TestRunWithoutAServerOnThePath(t *testing.T) {
	t.Parallel()
	for _, processes := range []string{"1", "2"} {
		t.Run(processes+" processes", func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "result.json")
			exit, out, said := program(t, []string{"PATH=" + t.TempDir(), temporary(t)},
				"--processes", processes, "--workers", "8", "--think", "20ms", "--warmup", "0", "--duration", "1500ms", "--json", file)
			if exit != exitOK {
				t.Errorf("exit %d, said %s", exit, said)
			}
			wantSaid(t, out, "loadgen: no redis-server on the PATH, so an emulation", "Redis n/a")
			if r := result(t, file); r.Pairs == 0 || r.Server.Kind != "embedded" {
				t.Errorf("%d pairs, server %+v", r.Pairs, r.Server)
			}
		})
	}
}

func TestRunAgainstANamedServerTouchesOnlyItsOwnKeys(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--requirepass", "hunter2")
	server.MustDo("SET", "mine", "x")
	for _, async := range []string{"--async=false", "--async"} {
		var g game
		mine := ""
		g.on = map[string]func(string){
			"every key of this run has": func(line string) { mine = prefix(line) },
			"phase=measured": func(string) {
				for _, key := range server.Keys() {
					if key != "mine" && !strings.Contains(key, mine) {
						t.Errorf("a key outside of %q: %q", mine, key)
					}
				}
			},
		}
		g.play("--redis", server.URL(), async, "--workers", "8", "--hold", "10ms", "--warmup", "50ms", "--duration", "1s")
		g.want(t, exitOK, "your Redis", server.Addr(), "pairs/s")
		if mine == "" || strings.Contains(g.stdout.String()+g.stderr.String(), "hunter2") {
			t.Errorf("prefix %q; the password must not be shown:\n%s", mine, g.stdout.String())
		}
		if keys := server.Keys(); !slices.Equal(keys, []string{"mine"}) {
			t.Errorf("keys after the run: %q", keys)
		}
	}
}

// Whatever the kind, a run proves it and leaves nothing. A second is long enough for a machine that stands still for a while. A run
// in one process is left to the tests of load.
func TestRunKinds(t *testing.T) {
	t.Parallel()
	server, second, third := redistest.Start(t), redistest.Start(t), redistest.Start(t)
	server.MustDo("SET", "mine", "x")
	t.Run("each", func(t *testing.T) {
		for _, kind := range load.Kinds {
			t.Run(string(kind), func(t *testing.T) {
				t.Parallel()
				var g game
				own := ""
				g.on = map[string]func(string){"every key of this run has": func(line string) { own = prefix(line) }}
				args := []string{"--redis", server.URL(), "--kind", string(kind), "--names", "2", "--workers", "8", "--think", "10ms", "--hold", "2ms",
					"--processes", "2", "--warmup", "0", "--duration", "1s"}
				if kind == load.Quorum {
					args = append(args, "--master", second.URL(), "--master", third.URL())
				}
				g.play(args...)
				g.want(t, exitOK, "no violation, no key left behind, nobody stranded")
				for _, key := range slices.Concat(server.Keys(), second.Keys(), third.Keys()) {
					if own == "" || strings.Contains(key, own) {
						t.Errorf("a key after the run %q: %q", own, key)
					}
				}
			})
		}
	})
	if keys := server.Keys(); !slices.Equal(keys, []string{"mine"}) {
		t.Errorf("keys after all runs: %q", keys)
	}
}

// Permits that are not all back in the end, or more than there were, are found out.
func TestRunFindsPermitsThatAreLostOrMade(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, kind := range []string{"semaphore", "permits"} {
		var g game
		own := ""
		g.on = map[string]func(string){
			"every key of this run has": func(line string) { own = prefix(line) },
			"phase=measured":            func(string) { server.MustDo("DECR", own+"0") },
		}
		g.play("--redis", server.URL(), "--kind", kind, "--names", "2", "--permits", "3", "--think", "50ms", "--warmup", "0", "--duration", "1s")
		g.want(t, exitBroken, "PERMITS LOST OR MADE: not all are back, or more: "+own+"0 (2 of 3)")
	}
}

// A server nobody named is not used, wherever other programs would look for one.
func TestRunAgainstNoServerThatNobodyNamed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	host, port, _ := strings.Cut(server.Addr(), ":")
	env := []string{"WHEELLOCK_REDIS=" + server.URL(), "REDIS_URL=" + server.URL(), "REDIS_ADDR=" + server.Addr(), "REDIS_HOST=" + host, "REDIS_PORT=" + port, temporary(t)}
	exit, out, said := program(t, env, "--workers", "8", "--think", "10ms", "--warmup", "0", "--duration", "500ms")
	if exit != exitOK {
		t.Errorf("exit %d, said %s", exit, said)
	}
	wantSaid(t, out, "private redis-server", "the server in WHEELLOCK_REDIS is not loaded: only --redis names one")
	if n := server.CommandCounts()["hello"]; n != 0 {
		t.Errorf("%d clients came to the server that nobody named", n)
	}
}

// A lock that excludes nobody is found out: exit code 1, and it says so.
func TestRunFindsALockThatDoesNotExclude(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	file := filepath.Join(t.TempDir(), "result.json")
	for _, async := range []string{"--async=false", "--async"} {
		var g game
		own := ""
		g.on = map[string]func(string){"every key of this run has": func(line string) { own = prefix(line) }}
		g.nameFor = func(caller, name int) string { return fmt.Sprintf("%s%d for caller %d alone", own, name, caller) }
		g.play("--redis", server.URL(), async, "--names", "1", "--workers", "8", "--hold", "5ms", "--warmup", "0", "--duration", "500ms", "--json", file)
		g.want(t, exitBroken, "EXCLUSION VIOLATED", "VIOLATED: ", "violations=")
		if r := result(t, file); r.OK || r.Checks.Violations == 0 || len(r.Problems) == 0 {
			t.Errorf("ok %t, checks %+v, problems %q", r.OK, r.Checks, r.Problems)
		}
	}
}

func TestRunFindsAKeyLeft(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var g game
	orphan := ""
	g.on = map[string]func(string){"every key of this run has": func(line string) {
		orphan = prefix(line) + "orphan"
		server.MustDo("HSET", orphan, "somebody:1", "1")
	}}
	g.play("--redis", server.URL(), "--think", "5ms", "--warmup", "0", "--duration", "200ms")
	g.want(t, exitBroken, "KEYS LEFT in Redis though nobody holds them: "+orphan)
}

func TestRunEndsEarly(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	file := filepath.Join(t.TempDir(), "result.json")
	for _, processes := range []string{"1", "2"} {
		t.Run(processes+" processes", func(t *testing.T) {
			var g game
			g.on = map[string]func(string){"phase=measured": func(string) { g.end() }}
			g.play("--redis", server.URL(), "--processes", processes, "--warmup", "100ms", "--duration", "1h", "--hold", "30s", "--think", "1h", "--json", file)
			g.want(t, exitOK, "ended early)", "checked ")
			if r := result(t, file); !r.EndedEarly {
				t.Error("the JSON does not say that it ended early")
			}
			if keys := server.Keys(); len(keys) > 0 {
				t.Errorf("keys left: %q", keys)
			}
		})
	}
}

func TestRunThatCannot(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	url := strings.Replace(server.URL(), "redis://", "redis://:hunter2@", 1)
	server.Kill()
	for _, args := range [][]string{
		{"--redis", url}, {"--redis", url, "--processes", "2"}, {"--json", "/nonexistent/result.json"},
	} {
		exit, _, said := program(t, []string{temporary(t)}, args...)
		if exit != exitFailed {
			t.Errorf("%q: exit %d, want %d", args, exit, exitFailed)
		}
		if strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "loadgen: ") || strings.Contains(said, "hunter2") {
			t.Errorf("%q: said %q, want one line without the password", args, said)
		}
	}
}

func TestRunInterruptedBeforeItBegins(t *testing.T) {
	name, tmp, _ := strings.Cut(temporary(t), "=")
	t.Setenv(name, tmp)
	end, cancel := context.WithCancel(context.Background())
	cancel()
	for _, processes := range []string{"1", "2"} {
		var out, said strings.Builder
		if exit := run(end, context.Background(), []string{"--processes", processes}, &out, &said); exit != exitFailed || !strings.Contains(said.String(), "interrupted") {
			t.Errorf("exit %d, said %q", exit, said.String())
		}
	}
}

func TestRunWritesJSONToStandardOutput(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var g game
	g.play("--redis", server.URL(), "--think", "50ms", "--warmup", "0", "--duration", "500ms", "--json", "-")
	var r report.Result
	if err := json.Unmarshal(g.stdout.Bytes(), &r); err != nil || g.exit != exitOK {
		t.Errorf("exit %d, %v, standard output:\n%s", g.exit, err, g.stdout.String())
	}
	if !strings.Contains(g.stderr.String(), "throughput") {
		t.Errorf("the table is not on standard error:\n%s", g.stderr.String())
	}
}

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestATableThatIsNotWritten(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"--version", "-h", "--duration 100ms --warmup 0s"} {
		var said bytes.Buffer
		exit := run(t.Context(), t.Context(), strings.Fields(args), full{}, &said)
		if exit != exitFailed || !strings.Contains(said.String(), "the output is not complete: no space left") {
			t.Errorf("%s: exit %d: %s", args, exit, said.String())
		}
	}
}
