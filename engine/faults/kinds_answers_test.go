package faults_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/judge"
	"github.com/wheellock/wheellock/internal/redisnet"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// rounds is callers of several processes who take one name again and again, and check what its kind promises.
type rounds struct {
	testing.TB
	*kind
	*chance
	look   func(name string) (owners []string, ttl time.Duration) // what stands in Redis
	inside judge.Inside
	grants atomic.Int64
	token  atomic.Int64 // the largest of a fenced lock
}

// once takes the name and gives it back; one in four callers goes away after a moment, and one in three gives a lease of his own.
func (r *rounds) once(engines []*engine.Engine, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	leaves := r.below(4) == 0
	if leaves {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.below(4000))*time.Microsecond)
		defer cancel()
	}
	var opts []engine.LockOption
	if r.holders && r.below(3) == 0 {
		opts = append(opts, engine.WithLease(time.Hour+time.Duration(r.below(3))*time.Second))
	}
	got, err := r.source(engines, name).get(ctx, opts...)
	if err != nil {
		if !leaves || !errors.Is(err, context.DeadlineExceeded) {
			r.Errorf("get: %v", err)
		}
		return
	}
	r.grants.Add(1)
	if !r.inside.Enter(r.room, got.room) {
		r.Errorf("more are inside than %d", r.room)
	}
	if token, fenced := fencing(got); fenced {
		if before := r.token.Swap(token); token <= before {
			r.Errorf("token %d after %d", token, before)
		}
	}
	if r.owned {
		r.check(got.hold)
	}
	r.pause(2 * time.Millisecond)
	r.inside.Leave(got.room)
	if err := testkit.Patiently(got.back); err != nil {
		r.Errorf("give back: %v", err)
	}
}

// check checks that Redis has what a hold believes.
func (r *rounds) check(h *engine.Hold) {
	deadline := h.Deadline()
	owners, ttl := r.look(h.Name())
	if want := []string{h.TenureID(), "1"}; !slices.Equal(owners, want) {
		r.Errorf("in Redis stands %q, want %q", owners, want)
	}
	if now := time.Now(); deadline.After(now.Add(ttl)) {
		r.Errorf("the hold lasts for %v, its key for %v", deadline.Sub(now), ttl)
	}
}

func fencing(got taken) (int64, bool) {
	if got.hold == nil {
		return 0, false
	}
	return got.hold.Token()
}

// compete has six callers take a name of the stage for so long, a third of them of the process that has no faults. mend ends the faults
// then, or who still waits meets them again and again. Under the race detector, where it costs ten times as much, it is a third as long.
func (s *stage) compete(name string, runs time.Duration, mend func()) *rounds {
	if testkit.RaceDetector {
		runs /= 3
	}
	r := &rounds{TB: s.T, kind: &s.kind, chance: &s.chance, look: func(name string) ([]string, time.Duration) { return s.Owners(name), s.ttl(name) }}
	until := time.Now().Add(runs)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for !s.T.Failed() && time.Now().Before(until) {
				r.once([][]*engine.Engine{s.ours, s.ours, s.theirs}[i%3], name)
				s.pause(10 * time.Millisecond)
			}
		})
	}
	time.Sleep(runs) // sleeps: how long the fault lasts
	mend()
	wg.Wait()
	return r
}

// whoLost are the scripts of which an answer got lost.
type whoLost struct {
	mu    sync.Mutex // guards times
	times map[string]int
}

// oneIn has the answers of one call of a script in n get lost on a way, for ever.
func (w *whoLost) oneIn(n int, c *chance, way *redisnet.Direction) {
	way.Swallow(-1, func(args []string) bool {
		if !strings.EqualFold(args[0], "EVALSHA") || c.below(n) > 0 {
			return false
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.times[args[1]]++
		return true
	})
}

// lacks are those of the scripts of which no answer got lost.
func (w *whoLost) lacks(of []scripts.Script) (none []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, script := range of {
		if w.times[testkit.Digest(script)] == 0 {
			none = append(none, script.Name)
		}
	}
	return none
}

// Whatever answer of whatever script is lost, of asking, confirming or giving back: nothing is done twice, nobody is
// let in beside another, no permit is lost or made, and nothing is left.
// invariant: change-has-one-effect
func TestFaultKindsSwallowedAnswersHaveOneEffect(t *testing.T) {
	t.Parallel()
	asked := map[string][]scripts.Script{
		"mutex": {scripts.Release, scripts.Confirm}, "multi": {scripts.Acquire}, "fair": {scripts.FairAsk, scripts.FairRelease, scripts.FairLeave},
		"semaphore": {scripts.Take, scripts.Give}, "permits": {scripts.PermitTake, scripts.PermitFree},
	}
	onEveryKind(t, testkit.Times(t, 200, 2), isHeld, func(s *stage) {
		lost := &whoLost{times: make(map[string]int)}
		s.stock("stock:7")
		for range 50 { // some scripts are called seldom
			for _, l := range s.links {
				lost.oneIn(2+s.below(4), &s.chance, &l.Down)
			}
			s.compete("stock:7", 2*time.Second, func() {
				for _, l := range s.links {
					l.Down.Swallow(0, nil)
				}
			})
			if lost.lacks(asked[s.name]) == nil {
				break
			}
		}
		if none := lost.lacks(asked[s.name]); none != nil {
			s.T.Errorf("no answer got lost of %v", none)
		}
		s.checkQuiet()
	}, testkit.Lease(time.Hour), func(o *engine.Options) { o.HandoffTime = time.Millisecond }) // the more is asked of Redis
}
