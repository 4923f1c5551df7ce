package scale_test

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// Many locks that are held for long: what they cost is memory, and a few commands per third of the lease.
func TestScaleOfManyHolds(t *testing.T) {
	measures(t)
	n, lease, leases := testkit.Times(t, 1_000_000, 20_000), 4*time.Second, time.Duration(1)
	if n >= 1_000_000 {
		lease, leases = 30*time.Second, 5
	}
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Lease, o.MaxRequests = lease, 2*n })
	before := readGauge()
	holds := testkit.LockMany(t, e, "ours", n)
	wantCheap(t, "holds", n, before, 500+4<<20/int64(n)) // and what the engine keeps in any case

	began, client, redis, calls := time.Now(), ownTime(t), serverTime(server), evalshas(t, server)
	time.Sleep(leases * lease) // sleeps: the time that is measured
	took := time.Since(began).Seconds()
	client, redis, calls = ownTime(t)-client, serverTime(server)-redis, evalshas(t, server)-calls
	renewals := float64(n) * took / (lease / 3).Seconds()
	t.Logf("over %d leases of %v: client %.1f %% of a core, Redis %.1f %%, %d calls, %.0f leases renewed by each",
		leases, lease, 100*client/took, 100*redis/took, calls, renewals/float64(calls))

	if lost := e.Stats().Lost; lost > 0 {
		t.Errorf("%d holds were lost", lost)
	}
	for _, h := range holds {
		if err := h.Err(); err != nil {
			t.Fatalf("%s: %v", h.Name(), err)
		}
	}
	if renewals < 50*float64(calls) {
		t.Errorf("%d calls for %.0f renewals, want one for 50 at most", calls, renewals)
	}
	runtime.KeepAlive(holds)
}

// ownTime is the processor time of this process, in seconds.
func ownTime(tb testing.TB) float64 {
	tb.Helper()
	var r syscall.Rusage
	testkit.Must(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
}

// serverTime is the processor time of a server, in seconds.
func serverTime(s *redistest.Server) (seconds float64) {
	for line := range strings.Lines(s.MustDo("INFO", "cpu").Text) {
		var part float64
		if _, err := fmt.Sscanf(line, "used_cpu_sys:%g", &part); err == nil {
			seconds += part
		}
		if _, err := fmt.Sscanf(line, "used_cpu_user:%g", &part); err == nil {
			seconds += part
		}
	}
	return seconds
}

// evalshas is how many scripts a server has been called for.
func evalshas(tb testing.TB, s *redistest.Server) (n int) {
	tb.Helper()
	_, stats, _ := strings.Cut(s.MustDo("INFO", "commandstats").Text, "cmdstat_evalsha:calls=")
	if _, err := fmt.Sscan(strings.SplitN(stats, ",", 2)[0], &n); err != nil {
		tb.Fatal(err)
	}
	return n
}
