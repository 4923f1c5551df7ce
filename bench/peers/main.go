// Command peers does the same work with wheellock and with the Go lock libraries one would use instead,
// and prints what each of them made of it.
//
// How a figure comes about, in the order of the files:
//
//   - main.go reads the flags; work.go is the list of works, contestant.go the list of contestants.
//   - server.go starts a redis-server of its own, or several, and latency.go puts it at a distance; run.go takes the works
//     one by one and, in every round, lets all contestants have a turn: A B C, A B C. What the machine does in the meantime
//     hits all of them.
//   - turn.go is one turn. It starts the contestant in processes of its own (this program again) and reads Redis' own counters at both
//     ends of the measured time. The load, and what catches two holders of one name, also across processes, is internal/load.
//   - fleet.go is the works of many processes that want one name, with their tables.
//   - outage.go, instead of works: what becomes of the requests of a handler (site.go) when Redis is gone; outagereport.go reports it.
//   - The ceiling, what Redis can do without any client library, is pipeline.go.
//   - result.go puts a turn in relation to its pairs, summary.go takes medians; report.go writes the files, with the
//     tables of markdown.go and the pictures of plot.go. "go test -run Results . -update" draws both anew from results.json.
//
// contestant_*.go and wheellock.go hold one contestant each: its settings, and how it takes and gives back a lock. driven.go has programs
// of other languages do the works: redisson.go, redispy.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/wheellock/wheellock/internal/load/crew"
	"github.com/wheellock/wheellock/internal/testkit/child"
)

// options are the flags, checked.
type options struct {
	rounds   int
	length   time.Duration // of the measured part of one turn
	warmUp   time.Duration // before it, not counted
	works    []work
	entries  []entry
	base     string // the contestant that ratios are against
	out      string
	servers  []string      // commands that start one
	redisCPU string        // that they keep to; empty: any
	away     time.Duration // from the contestants, each way
	outages  bool          // instead of works
}

// others is how many servers there are besides each.
func (o options) others() int {
	if slices.ContainsFunc(o.works, func(w work) bool { return w.Kind == quorum }) {
		return quorumServers - 1
	}
	return 0
}

func main() {
	if len(os.Args) == 2 {
		roles(os.Args[1])
	}
	opts, err := parseFlags(os.Args[1:])
	if err == flag.ErrHelp {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(2)
	}
	// The first Ctrl-C ends the measuring, and what was measured is reported; a second one kills.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	do := compare
	if opts.outages {
		do = goThrough
	}
	if err := do(ctx, opts); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// The only argument of the processes that this program starts for itself.
const (
	crewRole = "-share-a-turn" // see join
	siteRole = "-serve-a-site" // see serveSite
)

// roles is such a process from its begin to its end, if that is what was started.
func roles(role string) {
	parent := os.Stdout
	switch role {
	case crewRole:
		os.Stdout = os.Stderr // what libraries print is not for the parent
		os.Exit(crew.Work(os.Stdin, parent, 1, join))
	case siteRole:
		os.Stdout = os.Stderr
		if err := serveSite(child.Parent(os.Stdin, parent)); err != nil {
			fmt.Fprintln(os.Stderr, "peers:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// compare measures everything that was asked for and reports it. A voided turn is an error, after the report.
func compare(ctx context.Context, opts options) error {
	var servers []*server
	for _, command := range opts.servers {
		s, err := startServer(ctx, command, opts.redisCPU, opts.away)
		if err != nil {
			return err
		}
		defer s.Close()
		servers = append(servers, s)
		if err := s.startOthers(ctx, opts.others(), command, opts.redisCPU, opts.away); err != nil {
			return err
		}
	}
	results := runAll(ctx, opts, servers)
	if len(results) == 0 {
		return fmt.Errorf("nothing was measured")
	}
	report := newReport(opts, servers, results)
	if err := report.write(os.Stdout, opts.out); err != nil {
		return err
	}
	if n := report.voided(); n > 0 {
		return fmt.Errorf("%d of %d turns are void: see the report", n, len(results))
	}
	return nil
}

func parseFlags(args []string) (options, error) {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	opts := options{warmUp: 500 * time.Millisecond}
	flags.IntVar(&opts.rounds, "rounds", 5, "turns of every contestant at every work; medians and spread are over them")
	flags.DurationVar(&opts.length, "for", 3*time.Second, "measured `time` of one turn; half a second of warm-up goes before it, of Redisson 10 s")
	works := flags.String("work", "all", "comma-separated `works`, from the list below, or patterns such as fleet-*-32; all: those of plain locks, without fleets and limits")
	only := flags.String("only", "all", "comma-separated `contestants`, from the list below")
	flags.StringVar(&opts.base, "base", "rueidislock", "`contestant` that the ratios are against")
	flags.StringVar(&opts.out, "out", "results", "`directory` for results.md, results.json and the pictures")
	flags.Func("redis-server", "`command` that starts the server, with arguments if there are any (default redis-server); given several times it compares "+
		"servers", func(command string) error {
		opts.servers = append(opts.servers, command)
		return nil
	})
	flags.StringVar(&opts.redisCPU, "redis-cpu", "", "`processor` that redis-server keeps to, by taskset; else the system moves it about")
	flags.DurationVar(&opts.away, "away", 0, "`time` that a proxy adds on the way to Redis, and as much on the way back")
	flags.BoolVar(&opts.outages, "outages", false, "instead of works: what becomes of the requests of a net/http handler when Redis is killed, frozen, or replaced by its replica; of the other flags only, out and the first redis-server apply")
	jar := flags.String("redisson", "", "`jar` of bench/redisson; adds Redisson, needs java")
	python := flags.String("redis-py", "", "`folder` of internal/interop/suites/polyglot, made ready by .ci/redis-py; adds redis-py")
	flags.Usage = func() { explain(flags) }
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q; -h explains", flags.Arg(0))
	}
	if opts.servers == nil {
		opts.servers = []string{"redis-server"}
	}
	if opts.outages && opts.out == "results" {
		opts.out = filepath.Join(opts.out, "outage")
	}
	if opts.rounds < 1 || opts.length <= 0 || opts.away < 0 {
		return options{}, fmt.Errorf("--rounds and --for must be above zero, --away not below it")
	}
	var err error
	offered := allWorks
	if *works == "all" {
		offered = slices.DeleteFunc(slices.Clone(allWorks), func(w work) bool { return w.Kind != "" || w.Limits || w.Fleet })
	}
	if opts.works, err = choose(*works, offered, func(w work) string { return w.ID }); err != nil {
		return options{}, fmt.Errorf("--work: %w", err)
	}
	all := contestants()
	if *jar != "" {
		all = append(all, redissonEntry(*jar))
	}
	if *python != "" {
		all = append(all, redisPyEntry(*python))
	}
	if opts.entries, err = choose(*only, all, func(e entry) string { return e.name }); err != nil {
		return options{}, fmt.Errorf("--only: %w", err)
	}
	return opts, nil
}

// choose picks the items that have a name or a pattern for it in the list, in their own order; "all" picks every one.
func choose[T any](list string, items []T, name func(T) string) ([]T, error) {
	if list == "all" {
		return items, nil
	}
	chosen := make([]bool, len(items))
	for one := range strings.SplitSeq(list, ",") {
		known := false
		for i, item := range items {
			if fits, err := path.Match(strings.TrimSpace(one), name(item)); err == nil && fits {
				chosen[i], known = true, true
			}
		}
		if !known {
			return nil, fmt.Errorf("there is no %q; -h lists what there is", one)
		}
	}
	var all []T
	for i, item := range items {
		if chosen[i] {
			all = append(all, item)
		}
	}
	return all, nil
}

func explain(flags *flag.FlagSet) {
	out := flags.Output()
	fmt.Fprint(out, `peers lets wheellock and its rivals do the same work against the same Redis, in turns, and compares.

  peers                                      all of plain locks, 5 rounds of 3 s: about 20 minutes
  peers --rounds 1 --for 300ms               a look whether it runs; the figures mean nothing
  peers --work hot-64,hot-2p --only wheellock,rueidislock
  peers --redisson JAR --away 500us --only wheellock,redisson --work handover,handover-fenced,handover-fair
                                             hand-overs by three kinds of locks, with Redis 0.5 ms away
  peers --work 'fleet-*-32*' --rounds 1      32 processes that want one name, by every kind of lock
  peers --work distinct-1024 --redis-server redis-server --redis-server "redis-server --cluster-enabled yes --cluster-announce-ip 127.0.0.1"
                                             the same work on the only master of a cluster
  taskset -c 1 peers --redis-cpu 0 --work distinct-1    contestants on one processor, Redis on another
  peers --only wheellock --redis-server redis-server --redis-server "/opt/valkey/valkey-server --io-threads 2"
                                             servers side by side; ratios are against the first

A pair is one lock and one unlock, with nothing done in between. Every contestant gets the same names (some 24 bytes),
the same lease (30 s), the same longest wait (30 s), a process of its own, an empty Redis.
The hand-over is measured by one clock for both processes, from just before the unlock in one to the grant in the other.
A turn in which more callers held one name at once than may is void, and peers then exits with 1.
Ctrl-C ends early and still reports what was measured, but of outages.

Flags:
`)
	flags.PrintDefaults()
	fmt.Fprintln(out, "\nWorks:")
	for _, w := range allWorks {
		if !w.Fleet {
			fmt.Fprintf(out, "  %-15s %s\n", w.ID, w.Title)
		}
	}
	fmt.Fprintf(out, "  %-15s %s\n", "fleet-KIND-N", fmt.Sprintf("one name, N processes %v with one caller each; from %d on they are clients in one process", fleetCallers, fleetInOne))
	fmt.Fprintf(out, "  %-15s %s\n", "fleet-KIND-N-5ms", "the same with 5 ms inside; KIND: mutex, which rivals do too, fenced, fair, write, semaphore, permit, quorum")
	fmt.Fprintln(out, "\nContestants:")
	for _, e := range contestants() {
		fmt.Fprintf(out, "  %-15s %s\n", e.name, e.settings)
	}
	fmt.Fprintf(out, "  %-15s with --redisson: the Java original\n", "redisson")
	fmt.Fprintf(out, "  %-15s with --redis-py: the Lock of Python's client\n", "redis-py")
}
