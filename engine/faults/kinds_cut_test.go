package faults_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// cutting cuts the connections of a stage, each at a random byte of what it carries, until stop is closed.
func (s *stage) cutting(stop <-chan struct{}) {
	for {
		for _, l := range s.links {
			if s.below(2) == 0 {
				l.CutBehind(s.below(1000), false) // a few calls
			} else {
				l.CutBehind(s.below(50), true) // a few answers
			}
		}
		select {
		case <-time.After(time.Duration(s.below(int(100 * time.Millisecond)))):
		case <-stop:
			return
		}
	}
}

// At whatever byte of a call or an answer a connection ends, of whatever kind the lock is: nobody is let in beside
// another, nobody is stranded, no permit is lost or made, and no orphan is left. The lease is longer than the test: what
// is left behind does not go away by itself, and keeps out who comes next.
func TestFaultKindsCutAtAnyByte(t *testing.T) {
	t.Parallel()
	var unknown atomic.Int64
	t.Cleanup(func() {
		if unknown.Load() == 0 {
			t.Error("nothing was cut")
		}
	})
	onEveryKind(t, testkit.Times(t, 200, 2), isHeld, func(s *stage) {
		s.stock("stock:7")
		stop := make(chan struct{})
		var cutter sync.WaitGroup
		cutter.Go(func() { s.cutting(stop) })
		r := s.compete("stock:7", 1500*time.Millisecond, func() {
			close(stop)
			cutter.Wait()
			for _, l := range s.links {
				l.CutBehind(-1, false)
				l.CutBehind(-1, true)
			}
		})
		for _, e := range s.ours {
			unknown.Add(e.Stats().Uncertain)
		}
		if n := r.grants.Load(); n < 5 {
			s.T.Errorf("%d were granted", n)
		}
		s.checkQuiet()
	}, testkit.Lease(time.Hour), func(o *engine.Options) { o.HandoffTime = time.Millisecond }) // the more is asked of Redis
}
