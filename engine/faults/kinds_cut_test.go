package faults_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// cutting cuts the connections of a stage, each at a random byte of what it carries, until ctx ends. Those of an engine
// that is connecting it seldom cuts, and none before there was another grant: a slow machine would never be done.
func (s *stage) cutting(ctx context.Context, grants *atomic.Int64) {
	for last := int64(-1); ctx.Err() == nil; {
		now := grants.Load()
		for i, p := range s.proxies {
			switch up := s.ours[i].Stats().Up; {
			case now == last:
			case !up && rand.IntN(20) > 0:
			case rand.IntN(2) == 0:
				p.CutWithin(redistest.ClientToServer, 1000) // a few calls
			default:
				p.CutWithin(redistest.ServerToClient, 50) // a few answers
			}
		}
		last = now
		select {
		case <-time.After(rand.N(50 * time.Millisecond)):
		case <-ctx.Done():
		}
	}
}

// cuts is how many connections were cut so far.
func (s *stage) cuts() (n int64) {
	for _, p := range s.proxies {
		n += p.Stats().Cut
	}
	return n
}

// At whatever byte of a call or an answer a connection ends, of whatever kind the lock is: nobody is let in beside
// another, nobody is stranded, no permit is lost or made, and no orphan is left. The lease is longer than the test: what
// is left behind does not go away by itself, and keeps out who comes next.
func TestFaultKindsCutAtAnyByte(t *testing.T) {
	t.Parallel()
	isHeld := func(k *kind) bool { return k.room > 0 }
	onEveryKind(t, isHeld, func(s *stage) {
		r := &rounds{stage: s}
		s.stock("stock:7")
		want := int64(testkit.Times(s, 2_000, 16)) // there are ten kinds
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		var cutter, callers sync.WaitGroup
		cutter.Go(func() { s.cutting(ctx, &r.grants) })
		began, over := time.Now(), testkit.Reached(want, s.cuts)
		for i := range 12 {
			callers.Go(func() {
				engines := [][]*engine.Engine{s.ours, s.ours, s.theirs}[i%3]
				for !s.Failed() && !over() {
					r.once(engines, "stock:7")
				}
			})
		}
		s.await(over)
		stop() // lest one who still waits loses again and again
		callers.Wait()
		cutter.Wait()
		took := time.Since(began)
		if s.cuts() < want {
			s.Errorf("only %d of %d connections were cut in %v", s.cuts(), want, took)
		}
		var unknown int64
		for _, e := range s.ours {
			unknown += e.Stats().Uncertain
		}
		s.Logf("%d connections cut under %d grants in %v; of %d commands nobody knew whether they had run; the longest wait was %v",
			s.cuts(), r.grants.Load(), took.Round(time.Millisecond), unknown, r.longest.Round(time.Millisecond))
		for _, p := range s.proxies {
			p.CutWithin(redistest.Both, 0)
		}
		s.checkQuiet()
	}, testkit.Lease(time.Hour), func(o *engine.Options) { o.HandoffTime = time.Millisecond }) // the more is asked of Redis
}
