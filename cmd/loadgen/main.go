// Command loadgen puts a lock under contention and measures what that costs: to compare lock libraries, and
// to find out how large a Redis has to be. Alone it starts a Redis of its own, loads it for ten seconds and
// leaves nothing behind:
//
//	go run ./cmd/loadgen
//
// It never loads a server that its command line does not name, whatever the environment says:
//
//	go run ./cmd/loadgen --redis redis://user:password@staging:6379 --names 500 --hold 2ms --duration 1m
//
// loadgen -h explains every flag, with examples. What a run prints:
//
//	loadgen: private redis-server 7.0.15 on a unix socket: it shares the 2 CPUs of
//	         this machine with the load, and no network is between them
//	64 blocking callers · closed loop · 16 names · leases renewed by the watchdog ·
//	1 process · seed 7
//
//	                    ─────── acquire ───────  ── hand-over ──
//	   time    pairs/s      p50     p99     max      p50     p99  handoffs  waiting
//	warm-up    183,367   212 µs 2.25 ms 13.9 ms  8.70 µs  128 µs     87.7%       58
//	    1 s    221,634   213 µs  948 µs 11.6 ms  8.70 µs 86.0 µs     88.4%       55
//	    2 s    236,808   205 µs  831 µs 5.73 ms  8.70 µs 81.5 µs     88.5%       51
//	    ...
//
//	  throughput      204,680 pairs/s   (614,077 pairs in 3.0 s)
//	  latency               p50       p90       p99     p99.9       max
//	    acquire          217 µs    480 µs   1.52 ms   4.65 ms   17.7 ms
//	    hand-over       8.83 µs   18.7 µs   89.1 µs    308 µs   16.1 ms
//	  fairness        1.000 over 64 workers (least 9,489, most 9,721 pairs)
//	  attempts        0.12 per grant
//	  handoffs        88.4% of grants, without asking Redis
//	  Redis           1.32 µs CPU, 0.70 commands per pair, 0.081 of them scripts
//	                  besides 18,093 commands for checks (4.0%), whose CPU is in it
//	  client          3.16 µs CPU, 1.35 allocations (197 B) per pair
//	                  90 goroutines at most
//	  checked         614,079 sections in memory, 6,031 of them in Redis too
//	                  a check in Redis adds 292 µs to its section (p50; p99 1.85 ms)
//	                  no violation, no key left behind, nobody stranded
//
// It does the same for every kind of lock, semaphore and latch (--kind), with the check that fits each. Exit codes: 0 the lock kept its
// promise; 1 it did not (two callers in one critical section, more permits out than there are, a fencing token that went back, a
// key left behind, a waiter forgotten); 2 the flags are wrong; 3 the load could not run; 4 a --fail held; 5 a --rate was not reached.
//
// flags.go, kindflags.go and help.go read the flags, series.go is all runs with their verdict, session.go one run from the server's start
// to what it left, which leftovers.go checks, and compare.go sets two results side by side. The load runs in this process or in several (callers.go). The packages below are
// internal/load (the callers and their checks) at the top of the project, internal/target (the Redis), internal/report and internal/page (the same, for a browser).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/wheellock/wheellock/cmd/internal/notes"
	"github.com/wheellock/wheellock/cmd/internal/output"
	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/cmd/internal/signals"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/target"
	"github.com/wheellock/wheellock/internal/load/crew"
)

// Exit codes.
const (
	exitOK     = 0
	exitBroken = 1 // a violation, a key left, a waiter stranded
	exitUsage  = 2
	exitFailed = 3 // the load could not run, or not to its end

	exitThreshold = 4 // a --fail held
	exitSaturated = 5 // a --rate was not reached
)

func main() { os.Exit(roles(os.Args[1:])) }

// The first argument of the processes that loadgen starts for itself.
const (
	keeperRole = "-keep-a-redis-server" // see target.Keep
	childRole  = "-run-a-share"         // see crew.Work
)

// roles runs whichever process this is.
func roles(args []string) (exit int) {
	if len(args) == 1 {
		switch args[0] {
		case keeperRole:
			return target.Keep(os.Stdin, os.Stdout)
		case childRole:
			return crew.Work(os.Stdin, os.Stdout, exitFailed, connect)
		}
	}
	signals.Keep()
	end, hurry, release := interrupts()
	defer release()
	return run(end, hurry, args, os.Stdout, os.Stderr)
}

// interrupts gives two contexts: the first Ctrl-C, or request to terminate, ends one, the second the other.
func interrupts() (end, hurry context.Context, release func()) {
	caught := make(chan os.Signal, 2)
	signals.Notify(caught, os.Interrupt, syscall.SIGTERM)
	end, first := context.WithCancel(context.Background())
	hurry, second := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		for _, cancel := range []func(){first, second} {
			select {
			case <-caught:
				cancel()
			case <-done:
				return
			}
		}
		signal.Stop(caught) // a third one kills
	}()
	return end, hurry, func() {
		signal.Stop(caught)
		close(done)
		first()
		second()
	}
}

// run is loadgen without the process around it. end ends the load early, hurry also the wait for its last calls.
func run(end, hurry context.Context, args []string, stdout, stderr io.Writer) (exit int) {
	self, err := os.Executable()
	if err != nil { // on Linux without /proc, as in an empty root
		self = os.Args[0]
	}
	out := &output.Stream{Writer: stdout}
	s := session{end: end, hurry: hurry, self: self, stdout: out, stderr: stderr}
	exit = s.run(args)
	if err := out.Err(); err != nil {
		s.complain(err.Error())
		if exit == exitOK {
			exit = exitFailed
		}
	}
	return exit
}

func (s *session) run(args []string) (exit int) {
	if len(args) > 0 && args[0] == "compare" {
		return s.compare(args[1:])
	}
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-version") {
		fmt.Fprintln(s.stdout, notes.Version("loadgen"))
		return exitOK
	}
	settings, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		io.WriteString(s.stdout, help)
		return exitOK
	case err != nil:
		s.complain(redisflags.Explain(err) + "; loadgen -h explains the flags")
		return exitUsage
	}
	s.settings = settings
	runs, err := s.series()
	if err != nil {
		s.complain(redisflags.Explain(err))
		return exitFailed
	}
	return s.verdict(runs)
}

// complain tells an error.
func (s *session) complain(text string) {
	const head = "loadgen: "
	if width, _ := output.Size(s.stderr); width > 0 {
		text = report.Wrap(head, text, width)
	} else {
		text = head + text
	}
	fmt.Fprintln(s.stderr, text)
}
