// Command loadgen puts a lock under contention and measures what that costs: to compare lock libraries, and
// to find out how large a Redis has to be. Alone it starts a Redis of its own, loads it for ten seconds and
// leaves nothing behind:
//
//	go run ./cmd/loadgen
//
// It never runs against a server that nobody named:
//
//	go run ./cmd/loadgen --redis redis://user:password@staging:6379 --names 500 --hold 2ms --duration 1m
//
// loadgen -h explains every flag, with examples. What a run prints:
//
//	loadgen: private redis-server 7.0.15 on unix socket /tmp/loadgen-1/redis.sock: client and server share ...
//	64 blocking callers · closed loop · 16 names · leases renewed by the watchdog · 1 process · seed 7
//
//	                    ───────── acquire ───────── ─── hand-over ───
//	   time    pairs/s       p50       p99       max       p50       p99  handoffs  waiting
//	    1 s    181,204    288 µs   1.31 ms   10.2 ms   1.92 µs    310 µs     93.4%       47
//	    2 s    179,118    291 µs   1.36 ms   9.71 ms   1.93 µs    322 µs     93.2%       48
//	    ...
//
// and then a table of the whole: pairs a second, percentiles, fairness, and what a pair costs Redis and the
// client. The exit code says whether the lock was one: 0 it was, 1 it was not (two callers in one critical
// section, a key left behind, a waiter forgotten), 2 the flags are wrong, 3 the load could not run.
//
// flags.go and help.go are what a user sees first, session.go is one run from the server's start to the
// verdict. The load runs in this process (solo.go) or in several (crew.go, child.go). The rooms below are
// internal/load (the callers and their checks), internal/target (the Redis) and internal/report.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/target"
)

// Exit codes.
const (
	exitOK     = 0
	exitBroken = 1 // a violation, a key left, a waiter stranded
	exitUsage  = 2
	exitFailed = 3 // the load could not run, or not to its end
)

func main() { os.Exit(roles(os.Args[1:])) }

// The first argument of the processes that loadgen starts for itself.
const (
	keeperRole = "-keep-a-redis-server" // see target.Keep
	childRole  = "-run-a-share"         // see child.go
)

// roles runs whichever process this is.
func roles(args []string) (exit int) {
	if len(args) == 1 {
		switch args[0] {
		case keeperRole:
			return target.Keep(os.Stdin, os.Stdout)
		case childRole:
			return child(os.Stdin, os.Stdout)
		}
	}
	end, hurry, release := signals()
	defer release()
	return run(end, hurry, args, os.Stdout, os.Stderr)
}

// signals gives two contexts: the first Ctrl-C, or request to terminate, ends one, the second the other.
func signals() (end, hurry context.Context, release func()) {
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
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
	if err != nil {
		fmt.Fprintf(stderr, "loadgen: %v\n", err)
		return exitFailed
	}
	s := session{end: end, hurry: hurry, self: self, stdout: stdout, stderr: stderr}
	return s.run(args)
}

func (s *session) run(args []string) (exit int) {
	settings, err := parse(args)
	switch {
	case errors.Is(err, errHelp):
		io.WriteString(s.stdout, help)
		return exitOK
	case err != nil:
		fmt.Fprintf(s.stderr, "loadgen: %v; loadgen -h explains the flags\n", err)
		return exitUsage
	}
	s.settings = settings
	result, err := s.measure()
	if err != nil {
		fmt.Fprintf(s.stderr, "loadgen: %v\n", err)
		return exitFailed
	}
	switch {
	case result.Broken():
		return exitBroken
	case !result.OK:
		return exitFailed
	default:
		return exitOK
	}
}
