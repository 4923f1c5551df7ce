// Package virtual runs tests of the engine in virtual time: engines on servers in memory (internal/redisnet), in a bubble of
// testing/synctest. Nothing waits in earnest, so a test may let leases run out, and run hundreds of seeds. One that takes two hours of
// virtual time ends with the stacks of its goroutines.
package virtual

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redismodel"
	"github.com/wheellock/wheellock/internal/redisnet"
	"github.com/wheellock/wheellock/internal/testkit"
)

// travel is how long bytes are on their way, each way: time goes on between a call and its answer.
const travel = 250 * time.Microsecond

// idle has interpreters that have compiled the scripts; each serves one server at a time. A sync.Pool would lose them to the garbage
// collector, and under the race detector by chance, and compiling takes a tenth of the processor time of a world.
var idle = make(chan *redismodel.Interpreter, 100)

// World is one test's servers and engines. Its methods are for the goroutine of the test.
type World struct {
	T      *testing.T // of the bubble
	Server *redisnet.Server

	realTime bool
}

// Test runs test in a bubble, with one server. It may run beside others (t.Parallel before it). What test has opened is closed
// when it returns, and no goroutine may be left then.
func Test(t *testing.T, test func(w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &World{T: t}
		w.Server = w.Serve("redis")
		test(w)
	})
}

// InRealTime is Test without a bubble, for what waits while it has a mutex, as rueidis with RESP2: there time in a bubble stands still.
func InRealTime(t *testing.T, test func(w *World)) {
	w := &World{T: t, realTime: true}
	w.Server = w.Serve("redis")
	test(w)
}

// Seeds is Test once for each of so many seeds, until one fails, which it names; a quarter of them under the race detector, where a
// world costs ten times as much. What test does by chance it asks random.
func Seeds(t *testing.T, seeds int, test func(w *World, random *rand.Rand)) {
	t.Helper()
	if testkit.RaceDetector {
		seeds = max(1, seeds/4)
	}
	for seed := range uint64(seeds) {
		Test(t, func(w *World) { test(w, rand.New(rand.NewPCG(seed, seed))) })
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

// Serve starts another server.
func (w *World) Serve(name string) *redisnet.Server { return serve(w.T, name, !w.realTime) }

// serve starts a server until the end of a test.
func serve(tb testing.TB, name string, inBubble bool) *redisnet.Server {
	var in *redismodel.Interpreter
	select {
	case in = <-idle:
	default:
		in = redismodel.NewInterpreter()
	}
	s := redisnet.New(name, in)
	alarm := time.AfterFunc(limit, stuck)
	tb.Cleanup(func() {
		alarm.Stop()
		s.Stop() // a connection may have been lost without a word
		if inBubble {
			synctest.Wait()
			select {
			case idle <- in:
			default:
			}
		}
	})
	return s
}

// limit is how long a server is there in a bubble at most. If a call never returns, the timers of the engine go on, and time runs until the
// test binary is ended, which does not tell what was waited for.
const limit = 2 * time.Hour

// stuck ends the test binary, and tells what the goroutines of the bubble wait for.
func stuck() {
	buffer := make([]byte, 16<<20)
	all := strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n")
	bubble := regexp.MustCompile(`synctest bubble \d+`).FindString(all[0])
	ours := slices.DeleteFunc(all, func(stack string) bool { return !strings.Contains(stack, bubble+"]") })
	panic(fmt.Sprintf("the test has run for %v of virtual time: a call does not return?\n\n%s", limit, strings.Join(ours, "\n\n")))
}

// by is how an engine comes to a server by this way, which it knows by that name.
func by(l *redisnet.Link, server string) rueidis.ClientOption {
	return rueidis.ClientOption{InitAddress: []string{server + ":6379"}, DialCtxFn: l.Dial, ForceSingleClient: true}
}

// Connect opens an engine on w.Server, for as long as the test lasts, with the way that it reaches the server by.
func (w *World) Connect(change ...func(*engine.Options)) (*engine.Engine, *redisnet.Link) {
	w.T.Helper()
	return w.ConnectTo(w.Server, change...)
}

// ConnectTo is Connect for any server.
func (w *World) ConnectTo(s *redisnet.Server, change ...func(*engine.Options)) (*engine.Engine, *redisnet.Link) {
	w.T.Helper()
	l := redisnet.NewLink("client", s)
	l.Mend(func() time.Duration { return travel })
	opts := engine.Options{
		Redis:  by(l, s.Name),
		Logger: slog.New(slog.NewTextHandler(w.T.Output(), nil)),
	}
	for _, c := range change {
		c(&opts)
	}
	e, err := engine.Open(context.Background(), opts)
	if err != nil {
		w.T.Fatalf("open: %v", err)
	}
	w.T.Cleanup(func() {
		if err := e.Close(); err != nil {
			w.T.Errorf("close: %v", err)
		}
	})
	return e, l
}

// Quiet checks what must be true two seconds after the last call: no key stands on w.Server but those that others have and those of
// held living holds, nothing waits, and nobody listens.
func (w *World) Quiet(e *engine.Engine, held int, living ...string) {
	w.T.Helper()
	time.Sleep(2 * time.Second)
	synctest.Wait()
	slices.Sort(living)
	keys := w.Server.Keys()
	slices.Sort(keys)
	if !slices.Equal(keys, living) {
		w.T.Errorf("%q stand, want %q", keys, living)
	}
	if channels := w.Server.Subscriptions(); len(channels) != 0 {
		w.T.Errorf("somebody listens to %q", channels)
	}
	if stats := e.Stats(); stats.Waiting != 0 || stats.Held != int64(held) {
		w.T.Errorf("waiting = %d, held = %d; want 0, %d", stats.Waiting, stats.Held, held)
	}
}
