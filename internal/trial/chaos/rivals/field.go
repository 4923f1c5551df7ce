package rivals

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
)

// patience bounds a release.
const patience = 30 * time.Second

// background bounds no wait and no hold.
var background = context.Background()

// A field is where one rival goes through one row: a redis-server of its own.
type field struct {
	entry
	t      *testing.T
	server *redistest.Server
	lease  time.Duration
	pace   *pace
	turn   *sync.Mutex // who makes load and measures time has it
}

// tolerable is how long the machine may stand still in a wait that is to be counted.
const tolerable = 500 * time.Millisecond

// compete has everybody who takes part in a row go through it, side by side.
func compete[R any](t *testing.T, p *pace, r row, lease time.Duration, through func(*field) R) []R {
	t.Helper()
	some := in(r)
	results := make([]R, len(some))
	var turn sync.Mutex
	var running sync.WaitGroup
	for i, e := range some {
		f := &field{entry: e, t: t, server: redistest.Start(t), lease: lease, pace: p, turn: &turn}
		running.Go(func() { results[i] = through(f) })
	}
	running.Wait()
	return results
}

// connect opens the rival, until the end of the test.
func (f *field) connect(addr string) rival { return f.login(login{addr: addr, lease: f.lease}) }

func (f *field) login(l login) (r rival) {
	f.persist("a connection", func() (err error) { r, err = f.open(l); return err })
	f.t.Cleanup(r.close)
	return r
}

// persist does again what fails on a busy machine, or on a network that has just healed, and is not what is measured.
// It counts times, not time, which passes also while the machine stands still.
func (f *field) persist(what string, do func() error) {
	err := do()
	for n := 0; err != nil && n < 600; n++ {
		time.Sleep(50 * time.Millisecond)
		err = do()
	}
	if err != nil {
		f.t.Fatalf("%s: no %s: %v", f.name, what, err)
	}
}

// behind opens the rival behind a proxy of its own.
func (f *field) behind(latency time.Duration) (rival, *redistest.Proxy) {
	proxy := redistest.NewProxy(f.t, f.server.Addr())
	proxy.Latency(redistest.Both, latency, 0)
	return f.connect(proxy.Addr()), proxy
}

// mustLock takes a name that is free.
func (f *field) mustLock(r rival, name string) (h hold) {
	f.persist(name, func() (err error) { h, err = r.try(background, name); return err })
	return h
}

// unlock gives a hold back, and goes on when that fails: what is left behind is counted, not complained about.
func unlock(h hold) error {
	ctx, cancel := context.WithTimeout(background, patience)
	defer cancel()
	return h.unlock(ctx)
}

// share has so many workers go through n rounds in all. begin makes what a worker does in each, under a name of its own.
func share(workers, n int, begin func(worker int) func(name string, i int)) {
	var next atomic.Int64
	var working sync.WaitGroup
	for w := range min(workers, n) {
		working.Go(func() {
			do := begin(w)
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				do(fmt.Sprintf("order:%d", i), i)
			}
		})
	}
	working.Wait()
}

// told tells when a holder was told that it holds no more.
func told(h hold) <-chan time.Time {
	when := make(chan time.Time, 1)
	go func() { <-h.lost; when <- time.Now() }()
	return when
}

// within waits for a time at most so long.
func within(d time.Duration, when <-chan time.Time) (at time.Time, ok bool) {
	select {
	case at = <-when:
		return at, true
	case <-time.After(d):
		return time.Time{}, false
	}
}
