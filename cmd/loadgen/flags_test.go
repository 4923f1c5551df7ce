package main

import (
	"context"
	"flag"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestFlagsDefaults(t *testing.T) {
	s, err := parse(nil)
	testkit.Must(t, err)
	s.plan.Seed = 0 // another one each time
	want := load.Plan{Kind: load.Mutex, Names: 16, Workers: 64, Check: 100, Processes: 1, Duration: 10 * time.Second, Warmup: time.Second}
	if s.plan != want || s.redis.URL != "" || s.json != "" {
		t.Errorf("%+v\nwant the plan %+v, and no server that nobody named", s, want)
	}
}

func TestFlagsAreUnderstood(t *testing.T) {
	for args, change := range map[string]func(*settings){
		"--names 100k":                 func(s *settings) { s.plan.Names = 100_000 },
		"-names 3":                     func(s *settings) { s.plan.Names = 3 },
		"--workers=2k":                 func(s *settings) { s.plan.Workers = 2000 },
		"--async":                      func(s *settings) { s.plan.Async = true },
		"--rate 20k":                   func(s *settings) { s.plan.Rate = 20_000 },
		"--rate 0.5":                   func(s *settings) { s.plan.Rate = 0.5 },
		"--zipf 0.99":                  func(s *settings) { s.plan.Zipf = 0.99 },
		"--hold 2ms --think 500us":     func(s *settings) { s.plan.Hold, s.plan.Think = 2*time.Millisecond, 500*time.Microsecond },
		"--lease 100ms --wait 1m30s":   func(s *settings) { s.plan.Lease, s.plan.Wait = 100*time.Millisecond, 90*time.Second },
		"--handoff off":                func(s *settings) { s.plan.Handoff = -1 },
		"--handoff 0":                  func(s *settings) { s.plan.Handoff = -1 },
		"--handoff 5ms":                func(s *settings) { s.plan.Handoff = 5 * time.Millisecond },
		"--processes 4":                func(s *settings) { s.plan.Processes, s.plan.Check = 4, 10 },
		"--processes 4 --check 3":      func(s *settings) { s.plan.Processes, s.plan.Check = 4, 3 },
		"--check 0":                    func(s *settings) { s.plan.Check = 0 },
		"--duration 1m --warmup 0":     func(s *settings) { s.plan.Duration, s.plan.Warmup = time.Minute, 0 },
		"--redis redis://h:1 --json x": func(s *settings) { s.redis.URL, s.json = "redis://h:1", "x" },
		"--kind fair":                  func(s *settings) { s.plan.Kind = load.Fair },
		"--kind rw":                    func(s *settings) { s.plan.Kind, s.plan.Readers = load.RW, 0.9 },
		"--kind rw --readers 0":        func(s *settings) { s.plan.Kind = load.RW },
		"--kind semaphore":             func(s *settings) { s.plan.Kind, s.plan.Permits = load.Semaphore, 4 },
		"--permits 1k --kind permits":  func(s *settings) { s.plan.Kind, s.plan.Permits = load.Permits, 1000 },
		"--kind latch":                 func(s *settings) { s.plan.Kind, s.plan.Check = load.Latch, 0 },
		"--seed 18446744073709551615":  func(s *settings) { s.plan.Seed = 1<<64 - 1 },
		"--workers 8..1k":              func(s *settings) { s.plan.From, s.plan.Workers, s.plan.Steps = 8, 1000, 5 },
		"--workers 1..64 --steps 7":    func(s *settings) { s.plan.From, s.plan.Workers, s.plan.Steps = 1, 64, 7 },
		"--rate 1k..64k --steps 7":     func(s *settings) { s.plan.FromRate, s.plan.Rate, s.plan.Steps = 1000, 64_000, 7 },
		"--rate 0.5..2":                func(s *settings) { s.plan.FromRate, s.plan.Rate, s.plan.Steps = 0.5, 2, 5 },
		"--title x --html page.html":   func(s *settings) { s.title, s.html = "x", "page.html" },
		"--repeat 5 --html page.html":  func(s *settings) { s.repeat, s.html = 5, "page.html" },
		"--kind quorum":                func(s *settings) { s.plan.Kind = load.Quorum },
		"--kind quorum --redis redis://a --master redis://b --master redis://c": func(s *settings) {
			s.plan.Kind, s.redis.URL, s.masters = load.Quorum, "redis://a", []string{"redis://b", "redis://c"}
		},
		"--fail acquire.p99>5ms --fail throughput<20k": func(s *settings) { s.fail = thresholds("acquire.p99>5ms", "throughput<20k") },
		"--fail handoffs<=95%":                         func(s *settings) { s.fail = thresholds("handoffs<=95%") },
		"--workers 1M --names 1M --zipf 2":             func(s *settings) { s.plan.Workers, s.plan.Names, s.plan.Zipf = 1_000_000, 1_000_000, 2 },
	} {
		got, err := parse(strings.Fields(args))
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		want, err := parse([]string{"--seed", "0"})
		testkit.Must(t, err)
		if change(&want); want.plan.Seed == 0 {
			got.plan.Seed = 0
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", args, got, want)
		}
	}
}

// thresholds reads what must be right.
func thresholds(texts ...string) (all []report.Threshold) {
	for _, text := range texts {
		if err := threshold(&all, report.ParseThreshold)(text); err != nil {
			panic(err)
		}
	}
	return all
}

// badFlags are command lines that cannot be, and what is to be said about them.
var badFlags = map[string]string{
	"--nmaes 3":                    "there is no flag --nmaes",
	"--names":                      "a value is missing after --names",
	"--hold 5":                     `invalid value "5" for --hold: want a time with its unit`,
	"--hold soon":                  "want a time with its unit",
	"--hold -1s":                   "--hold -1s: must be from 0",
	"--names many":                 `invalid value "many" for --names: want a whole number`,
	"--names 0":                    "--names 0: must be from 1 to 1000000",
	"--names 2M":                   "--names 2000000: must be from 1",
	"--names 1.5":                  "want a whole number",
	"--workers -3":                 "--workers -3: must be from 1",
	"--workers 1e99":               "want a whole number",
	"--processes 65":               "--processes 65: must be from 1 to 64",
	"--processes 4 --workers 3":    "--workers 3 for --processes 4: each needs one at least",
	"--rate 0":                     "--rate 0: must be above 0",
	"--rate -5":                    "--rate -5: must be above 0",
	"--rate NaN":                   "want a number",
	"--rate 100M":                  "at most 10000000 calls a second",
	"--rate 5 --think 1s":          "--think with --rate",
	"--zipf -1":                    "--zipf -1: must be from 0",
	"--zipf 11":                    "to 10",
	"--lease 5ms":                  "--lease 5ms: must be from 10ms",
	"--lease 0":                    "--lease 0s: must be from 10ms",
	"--lease 20ms --hold 15ms":     "--lease 20ms with --hold 15ms: every hold would end before its holder is done (it ends 5ms before the lease)",
	"--wait -1s":                   "--wait -1s: must be from 0",
	"--handoff 4s":                 "--handoff 4s: at most 3s, or off",
	"--handoff soon":               "want a time with its unit, such as 10ms, or off",
	"--duration 0":                 "--duration 0s: must be from 10ms",
	"--duration 25h":               "to 24h",
	"--warmup -1s":                 "--warmup -1s: must be from 0",
	"--check -1":                   "--check -1: must be from 1",
	"--processes 2 --check 11":     "across processes it must be from 1 to 10",
	"--processes 2 --check 0":      "across processes it must be from 1 to 10",
	"--kind mutx":                  `invalid value "mutx" for --kind: want one of mutex fair fenced spin simple rw multi quorum semaphore permits limit latch`,
	"--readers 0.5":                "--readers with --kind mutex: only rw has readers",
	"--kind rw --readers 2":        "--readers 2: must be from 0 to 1",
	"--permits 3":                  "--permits with --kind mutex",
	"--kind permits --permits 0":   "--permits 0: must be from 1",
	"--kind latch --lease 1s":      "it has no holders",
	"--kind rw --lease 1s":         "who is inside is counted",
	"--kind latch --check 1":       "who passes a latch cannot be counted",
	"--kind multi --names 1":       "each call takes two names",
	"--workers 8..":                "want a whole number, such as 64, or two, such as 8..512",
	"--workers ..8":                "want a whole number",
	"--rate 0..5":                  `invalid value "0..5" for --rate: want a number, such as 20k, or two, such as 1k..64k`,
	"--rate 5..":                   "want a number, such as 20k, or two",
	"--rate 5k..1k":                "--rate 5000..1000: it grows from the first to the second",
	"--rate 1..5 --workers 1..5":   "--workers 1..5 with --rate",
	"--rate 1..5 --steps 1":        "--steps 1: must be from 2",
	"--workers 64..8":              "--workers 64..8: they grow from the first to the second",
	"--workers 1..8 --processes 2": "each needs one from the beginning",
	"--workers 1..8 --rate 5":      "--workers 1..8 with --rate",
	"--steps 3":                    "--steps 3: it belongs to a load that grows",
	"--workers 1..8 --steps 1":     "--steps 1: must be from 2 to 100",
	"--workers 1..8 --duration 1s --steps 50": "--duration 1s for --steps 50: each lasts 100ms at least",
	"--repeat 0":                       "--repeat 0: must be from 1 to 100",
	"--html=":                          "--html names no file",
	"--master redis://b":               "--master with --kind mutex: only quorum has several servers",
	"--kind quorum --master redis://b": "--master without --redis",
	"--kind quorum --redis redis://a --master redis://b":            "name the other servers with --master, two at least",
	"--kind quorum --redis redis://a --master b --master redis://c": "--master: ",
	"--fail acquire.p99":                 "want a figure, one of > >= < <=, and a limit",
	"--fail speed>5":                     `there is no figure "speed": want one of throughput throughput.readers`,
	"--fail acquire.p101>5ms":            "there is no figure",
	"--fail acquire.p99>5":               `acquire.p99 is compared with a time with its unit, such as 5ms, not with "5"`,
	"--fail throughput<fast":             `throughput is compared with a number, such as 20k or 0.5, not with "fast"`,
	"--fail throughput=5":                `"=" compares nothing`,
	"--fail throughput<NaN":              `not with "NaN"`,
	"--seed x":                           `invalid value "x" for --seed: want a whole number`,
	"--seed -1":                          `invalid value "-1" for --seed: want a whole number`,
	"--async=maybe":                      `invalid value "maybe" for --async: want true or false`,
	"--json=":                            "--json names no file",
	"--json x --html ./x":                "--json x and --html ./x: each needs a file of its own",
	"--redis=":                           "--redis is empty: name a server, or leave the flag out",
	"--redis localhost":                  "--redis: Redis URL: it has no scheme",
	"--redis redis://h --cacert ca.pem":  "--cacert, --cert and --key are for TLS",
	"--redis redis:// --password-file /": "--password-file: read /: is a directory",
	"--redis redis:// --processes 2 --password-file /dev/null": "of a pipe one process reads what is in it",
	"--user me":                              "--user, --password-file, --cacert, --cert and --key belong to a --redis",
	"--redis ftp://user:hunter2@h":           "--redis: ",
	"ten":                                    `what is "ten"? everything is said with flags`,
	"compar a.json b.json":                   `(did you mean compare?)`,
	"--wokers 5":                             "there is no flag --wokers (did you mean --workers?)",
	"--names 0 --workers 0 --hold -1s --x 1": "there is no flag --x",
	"--names 0 --hold -1s":                   "--names 0: must be from 1 to 1000000; --hold -1s: must be",
}

// Bad flags get one line, on standard error, and exit code 2; nothing is started, and no secret is told.
func TestFlagsThatCannotBe(t *testing.T) {
	t.Setenv("TMPDIR", "/nonexistent") // no server of our own could start
	for args, want := range badFlags {
		var stdout, stderr strings.Builder
		exit := run(context.Background(), context.Background(), strings.Fields(args), &stdout, &stderr)
		said := stderr.String()
		if exit != exitUsage || stdout.Len() > 0 {
			t.Errorf("%s: exit %d, standard output %q; want %d and nothing", args, exit, stdout.String(), exitUsage)
		}
		if !strings.Contains(said, want) || strings.Count(said, "\n") != 1 || !strings.HasSuffix(said, "loadgen -h explains the flags\n") {
			t.Errorf("%s:\nsaid %q\nwant one line with %q", args, said, want)
		}
		if strings.Contains(said, "hunter2") {
			t.Errorf("%s: the password is told", args)
		}
	}
}

func TestHelpExplainsEveryFlag(t *testing.T) {
	for _, ask := range []string{"-h", "--help", "-help"} {
		var stdout, stderr strings.Builder
		if exit := run(context.Background(), context.Background(), []string{ask}, &stdout, &stderr); exit != exitOK || stderr.Len() > 0 || stdout.String() != help {
			t.Errorf("%s: exit %d, standard error %q, %d bytes of help", ask, exit, stderr.String(), stdout.Len())
		}
	}
	flags, _ := define(&settings{})
	flags.VisitAll(func(f *flag.Flag) {
		if !strings.Contains(help, "\n  --"+f.Name+" ") {
			t.Errorf("the help says nothing of --%s", f.Name)
		}
	})
	_, explained, _ := strings.Cut(help, "\n  --kind ")
	explained, _, _ = strings.Cut(explained, "\n  --")
	for _, kind := range load.Kinds {
		if !strings.Contains(explained, " "+string(kind)) {
			t.Errorf("the help says nothing of --kind %s", kind)
		}
	}
	for _, word := range strings.Fields(help) {
		if name, found := strings.CutPrefix(strings.Trim(word, ",.;:"), "--"); found && flags.Lookup(name) == nil {
			t.Errorf("the help speaks of --%s, which there is not", name)
		}
	}
	for line := range strings.Lines(help) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("a line of %d characters: %s", n, line)
		}
		if args, found := strings.CutPrefix(line, "  loadgen "); found && !strings.Contains(args, "[flags]") && !strings.HasPrefix(args, "compare") {
			if _, err := parse(strings.Fields(strings.ReplaceAll(args, "'", ""))); err != nil {
				t.Errorf("the example %q: %v", strings.TrimSpace(line), err)
			}
		}
	}
}
