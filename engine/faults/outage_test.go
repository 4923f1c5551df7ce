//go:build unix

package faults_test

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// Invariant: a turn of the loop ends whatever the link does. The server is killed while a lock is hot: held, waited for,
// and handed on many times. What the process uses through the outage must be next to nothing, and callers go on when
// the server is back.
// invariant: loop-never-waits
func TestFaultOutageUnderHotLockIsQuiet(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]func(*engine.Engine) *engine.Mutex{
		"mutex":  func(e *engine.Engine) *engine.Mutex { return e.Mutex("hot") },
		"fenced": func(e *engine.Engine) *engine.Mutex { return e.FencedMutex("hot") },
	} {
		t.Run(name, apart(func(t *testing.T) {
			server := redistest.Start(t)
			e := testkit.Connect(t, server.Addr(), testkit.Lease(3*time.Second))
			var grants atomic.Int64
			for range 64 {
				go func() {
					for t.Context().Err() == nil {
						h, err := lock(e).Lock(t.Context())
						if err != nil {
							return // the test or the engine has ended
						}
						grants.Add(1)
						time.Sleep(2 * time.Millisecond)
						h.Unlock(t.Context())
					}
				}()
			}
			for range 3 {
				before := grants.Load()
				redistest.Await(t, "a name that is hot", func() bool { return grants.Load() > before+100 })
				server.Kill()
				time.Sleep(300 * time.Millisecond) // what was under way is answered
				const lasts = time.Second
				var cpu time.Duration
				memory := allocated()
				for range 3 { // on a slow machine what was under way takes longer
					used := processorTime()
					memory = allocated()
					time.Sleep(lasts)
					if cpu = processorTime() - used; cpu <= lasts/4 {
						break
					}
				}
				if cpu > lasts/4 { // of all that the process does; the engine's share is far less
					t.Errorf("in %v without a server the process used %v of processor time", lasts, cpu)
				}
				if grown := allocated() - memory; grown > 20<<20 {
					t.Errorf("in %v without a server the process allocated %d MB", lasts, grown>>20)
				}
				if t.Failed() {
					t.FailNow() // it may take gigabytes if it goes on
				}
				server.Restart()
				back := grants.Load()
				redistest.Await(t, "callers to go on", func() bool { return grants.Load() > back+10 })
			}
		}))
	}
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// An outage of a server is told with its address and the reason, in the log and to a caller whose wait ends.
func TestFaultOutageIsToldWithItsReason(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var log lockedBuffer
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	said := func(level, message, rest string) {
		t.Helper()
		line := "level=" + level + ` msg="wheellock: ` + message + `" addr=` + server.Addr() + " " + rest
		redistest.Await(t, line, func() bool { return strings.Contains(log.String(), line) })
	}
	refused := "dial tcp " + server.Addr() + ": connect: connection refused"
	server.Kill()
	said("WARN", "connection to Redis broke", "error=")
	said("WARN", "Redis cannot be reached", `error="`+refused+`" for=`)
	_, err := e.Mutex("stock:7").Lock(t.Context(), engine.WithWait(100*time.Millisecond))
	if want := `wheellock: lock "stock:7": wait timed out after 100ms: Redis cannot be reached: ` + refused; err == nil || err.Error() != want {
		t.Errorf("Lock: %v, want %s", err, want)
	}
	server.Restart()
	said("INFO", "Redis can be reached again", "after=")
}
