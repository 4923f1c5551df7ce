package scale_test

import (
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// An outage puts all holds at risk. Each is told once, one after the other, and the log has a few lines. Each is told when it was renewed.
// invariant: warned-once
func TestScaleOfHoldsAtRisk(t *testing.T) {
	measures(t)
	n, lease := testkit.Times(t, 200_000, 5_000), 4*time.Second
	if n >= 200_000 {
		lease = 30 * time.Second
	}
	var log lines
	var mu sync.Mutex
	risky := make(map[string]bool, n)
	var at atomic.Int32
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) {
		o.Lease, o.MaxRequests = lease, 2*n
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.Observer = &engine.Observer{Risk: func(k engine.Risk) {
			if at.Add(1) > 1 {
				t.Error("two holds are told of at once")
			}
			defer at.Add(-1)
			mu.Lock()
			defer mu.Unlock()
			if is := k.Err != nil; is == risky[k.Name] {
				t.Errorf("%s was told twice, at risk %t", k.Name, is)
			} else if is {
				risky[k.Name] = true
			} else {
				delete(risky, k.Name)
			}
		}}
	})
	holds := testkit.LockMany(t, e, "ours", n)
	before, began, client := readGauge(), time.Now(), ownTime(t)
	server.Freeze()
	now := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(risky)
	}
	redistest.Await(t, "all holds to be at risk", func() bool { return now() == n })
	after := readGauge()
	t.Logf("all told after %.1f s, by %.0f ms of a processor; %d goroutines before, %d then, %d bytes a hold more",
		time.Since(began).Seconds(), 1000*(ownTime(t)-client), before.goroutines, after.goroutines, (int64(after.heap)-int64(before.heap))/int64(n))
	server.Thaw()
	redistest.Await(t, "all holds to be well, or lost", func() bool { return e.Stats().AtRisk == 0 && now() <= int(e.Stats().Lost) })
	if after.goroutines > before.goroutines+20 {
		t.Errorf("%d goroutines, and %d before", after.goroutines, before.goroutines)
	}
	if got := strings.Count(log.String(), "overdue"); got < 1 || got > 10 {
		t.Errorf("%d records of overdue renewals", got)
	}
	runtime.KeepAlive(holds)
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
