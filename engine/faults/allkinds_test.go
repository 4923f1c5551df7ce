package faults_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// moment is when a call is cancelled.
type moment int

const (
	queued      moment = iota // another has the name
	inFlight                  // the name is free, and the acquire has not run
	justGranted               // the acquire has run, and its answer is on the way back
	moments
)

func (m moment) String() string { return [...]string{"queued", "in flight", "just granted"}[m] }

// call makes a call in one of four ways in which it can be made and cancelled.
func (s *stage) call(way int, name string) under {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience) // or TryLock gives up after a second
	source := s.source(s.ours, name)
	blocking := func(get func(context.Context, ...engine.LockOption) (taken, error)) under {
		var got taken
		var err error
		done := make(chan struct{})
		go func() { got, err = get(ctx); close(done) }()
		return under{func() bool { cancel(); return true }, func(context.Context) (taken, error) { <-done; return got, err }}
	}
	switch way {
	case 0:
		return blocking(source.get)
	case 1:
		return blocking(source.try)
	case 2:
		return under{func() bool { cancel(); return true }, source.async(ctx).wait}
	default:
		call := source.async(ctx)
		return under{call.cancel, func(ctx context.Context) (taken, error) { defer cancel(); return call.wait(ctx) }}
	}
}

// Whenever a call is cancelled, and in whichever way: it is answered at once, or as soon as the members are free that a call for several
// had, no orphan is left, no permit is lost or made, and nobody stands in a queue who does not wait any more.
func TestFaultKindsCancelledCallsLeaveNothing(t *testing.T) {
	t.Parallel()
	const travel, workers, turns, occupied = 5 * time.Millisecond, 12, 12, 4
	const freed = 4 * travel // the travel of a release and of its answer, behind others of the same connection
	var mu sync.Mutex        // guards cancelled
	cancelled := make(map[string]*[moments]int)
	t.Run("kinds", func(t *testing.T) {
		onEveryKind(t, testkit.Times(t, 200, 2), everything, func(s *stage) {
			for _, l := range s.links {
				l.Mend(func() time.Duration { return travel })
			}
			var others []taken
			for i := range occupied {
				name := fmt.Sprintf("occupied:%d", i)
				s.stock(name)
				others = append(others, s.block(s.T, [][]*engine.Engine{s.ours, s.theirs}[i%2], name))
			}
			count := func(at moment) {
				mu.Lock()
				defer mu.Unlock()
				if cancelled[s.name] == nil {
					cancelled[s.name] = new([moments]int)
				}
				cancelled[s.name][at]++
			}
			answered := time.Duration(0)
			if s.name == "multi" || s.name == "quorum" {
				answered = freed
			}
			one := func(name string, at moment, way int) {
				call := s.call(way, name)
				s.pause(time.Duration(3+at) * travel)
				if at != queued && s.stands(name) {
					at = justGranted
				}
				call.cancel()
				began := time.Now()
				got, err := call.wait(context.Background())
				switch {
				case err == nil: // the grant was quicker
					err = testkit.Patiently(got.back)
				case errors.Is(err, context.Canceled) && time.Since(began) <= answered:
					count(at)
					return
				}
				if err != nil {
					s.T.Errorf("a call cancelled when %v: %v, %v later", at, err, time.Since(began))
				}
			}
			var wg sync.WaitGroup
			for w := range workers {
				free := func(turn int) string { return fmt.Sprintf("free:%d:%d", w, turn) }
				for turn := range turns {
					s.stock(free(turn))
				}
				wg.Go(func() {
					for turn := range turns {
						if turn%3 == 0 || s.room == 0 { // nobody ever has a latch
							way := []int{0, 2, 3}[s.below(3)] // to try is not to queue
							one(fmt.Sprintf("occupied:%d", s.below(occupied)), queued, way)
						} else {
							one(free(turn), inFlight, s.below(4))
						}
					}
				})
			}
			wg.Wait()
			for _, got := range others {
				if err := got.back(testkit.Soon(s.T)); err != nil {
					s.T.Errorf("give back: %v", err)
				}
			}
			s.checkQuiet()
		})
	})
	for name, n := range cancelled {
		t.Logf("%s: %v", name, *n)
		for at, n := range n {
			if n < 8 && (name != "latch" || moment(at) == queued) {
				t.Errorf("%s: %d calls were cancelled when %v", name, n, moment(at))
			}
		}
	}
}

// Whoever waits when his connection for messages is killed is not stranded, although nobody polls here: what was
// announced meanwhile is found out by asking again.
func TestFaultKindsKilledSubscriptionsStrandNobody(t *testing.T) {
	t.Parallel()
	hears := func(k *kind) bool { return k.name != "spin" && k.name != "quorum" }
	onEveryKind(t, 1, hears, func(s *stage) {
		s.stock("stock:7")
		for range testkit.Times(t, 500, 4) {
			other := s.block(s.T, s.theirs, "stock:7")
			var calls []under
			for range 3 {
				calls = append(calls, s.source(s.ours, "stock:7").async(testkit.Soon(s.T)))
			}
			redistest.Await(s.T, "somebody to listen", func() bool { return s.listeners() > 0 })
			s.pause(5 * time.Millisecond)
			s.Server.KillListeners()
			s.pause(5 * time.Millisecond)
			if err := other.back(testkit.Soon(s.T)); err != nil { // told to nobody, or to some
				s.T.Fatalf("give back: %v", err)
			}
			var wg sync.WaitGroup
			for i, call := range calls { // not all kinds serve them in their order
				wg.Go(func() {
					got, err := call.wait(testkit.Soon(s.T))
					if err == nil {
						err = got.back(testkit.Soon(s.T))
					}
					if err != nil {
						s.T.Errorf("waiter %d: %v", i, err)
					}
				})
			}
			if wg.Wait(); s.T.Failed() {
				return
			}
		}
		s.checkQuiet()
	}, testkit.OnlyMessages)
}

// Holders are told that what they hold is gone, by the next renewal at the latest, and may not give it back as
// if it were theirs.
func TestFaultKindsHoldersAreToldOfLoss(t *testing.T) {
	t.Parallel()
	const lease = 6 * time.Second
	onEveryKind(t, testkit.Times(t, 100, 3), (*kind).hasHolders, func(s *stage) {
		s.stock("stock:7")
		got, err := s.source(s.ours, "stock:7").get(testkit.Soon(s.T))
		if err != nil {
			s.T.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(10 * time.Millisecond) // a quorum's hold does not wait for the last
		if n := s.standsOn("stock:7"); n != len(s.servers) {
			s.T.Fatalf("it stands on %d servers", n)
		}
		ctx := got.hold.Context(s.T.Context())
		s.pause(2 * lease)
		for _, server := range s.servers[:len(s.servers)/2+1] {
			server.Do("FLUSHALL")
		}
		gone := time.Now()
		if err := testkit.MustEnd(s.T, got.hold); !errors.Is(err, engine.ErrLost) {
			s.T.Errorf("the hold ended with %v, want ErrLost", err)
		}
		if <-ctx.Done(); !errors.Is(context.Cause(ctx), engine.ErrLost) {
			s.T.Errorf("the context ended with %v, want ErrLost", context.Cause(ctx))
		}
		if told := time.Since(gone); told > lease/3+100*time.Millisecond {
			s.T.Errorf("told %v after the key was gone", told)
		}
		if err := got.back(testkit.Soon(s.T)); !errors.Is(err, engine.ErrLost) {
			s.T.Errorf("Unlock of what is lost: %v, want ErrLost", err)
		}
		s.checkQuiet()
	}, testkit.Lease(lease))
}

// Close, at any moment, leaves what somebody else may use at once: holders' keys are freed, places in queues given up, waiters told.
// Only what has no holders stays: permits of a plain semaphore that were acquired, and a latch that is shut.
func TestFaultKindsCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	onEveryKind(t, testkit.Times(t, 100, 2), everything, func(s *stage) {
		for _, l := range s.links {
			l.Mend(func() time.Duration { return time.Duration(s.below(int(time.Millisecond))) })
		}
		s.stock("held", "theirs")
		others, mine := s.block(s.T, s.theirs, "theirs"), s.block(s.T, s.ours, "held")
		var calls []under
		for range 50 {
			calls = append(calls, s.source(s.ours, "theirs").async(context.Background()))
		}
		s.pause(2 * time.Second)
		var underWay []under
		for i := 0; s.holders && i < 20; i++ { // what is free is asked for, granted or on its way
			name := fmt.Sprintf("free:%d", i)
			s.stock(name)
			underWay = append(underWay, s.source(s.ours, name).async(context.Background()))
			s.pause(time.Millisecond / 4)
		}
		for _, e := range s.ours {
			if err := e.Close(); err != nil {
				s.T.Errorf("close: %v", err)
			}
		}
		for _, call := range underWay {
			got, err := call.wait(testkit.Soon(s.T))
			if err == nil {
				err = got.hold.Err()
			}
			if !errors.Is(err, engine.ErrClosed) {
				s.T.Errorf("a call on its way ended with %v, want ErrClosed", err)
			}
		}
		for _, call := range calls {
			if _, err := call.wait(testkit.Soon(s.T)); !errors.Is(err, engine.ErrClosed) {
				s.T.Fatalf("a waiter heard %v, want ErrClosed", err)
			}
		}
		if mine.hold != nil {
			if err := mine.hold.Err(); !errors.Is(err, engine.ErrClosed) || !errors.Is(err, engine.ErrLost) {
				s.T.Errorf("the hold ended with %v, want ErrLost and ErrClosed", err)
			}
		} else if !s.stands("held") {
			s.T.Error("Close has given back what has no holder")
		} else if err := mine.back(testkit.Soon(s.T)); !errors.Is(err, engine.ErrClosed) {
			s.T.Errorf("giving back after Close: %v, want ErrClosed", err)
		}
		if s.holders { // nothing of ours keeps others out
			again := s.block(s.T, s.theirs, "held")
			if err := again.back(testkit.Soon(s.T)); err != nil {
				s.T.Error(err)
			}
		}
		if err := others.back(testkit.Soon(s.T)); err != nil {
			s.T.Error(err)
		}
		if !s.holders {
			s.Server.Do("DEL", "held")
		}
		s.checkQuiet()
	})
}

// What cannot be right is ErrInvalid in every kind, and nothing is sent.
func TestKindsRefuseWhatCannotBeRight(t *testing.T) {
	t.Parallel()
	owner := engine.WithOwner(engine.Owner{})
	lease := func(d time.Duration) []engine.LockOption { return []engine.LockOption{engine.WithLease(d)} }
	onEveryKind(t, 1, everything, func(s *stage) {
		bad := map[string][]engine.LockOption{
			"a lease of 0": lease(0), "a negative lease": lease(-1), "a lease under 10ms": lease(9 * time.Millisecond),
			"a lease over 30 days": lease(engine.MaxLease + 1), "a wait of 0": {engine.WithWait(0)}, "a negative wait": {engine.WithWait(-1)},
			"the zero Owner": {owner}, "the zero option": {{}},
		}
		if !s.holders {
			bad["a lease of what has no holders"] = lease(time.Minute)
			bad["an owner of what has no holders"] = []engine.LockOption{engine.WithOwner(engine.NewOwner())}
		}
		calls := s.countScripts()
		for what, opts := range bad {
			if _, err := s.source(s.ours, "stock:7").get(testkit.Soon(s.T), opts...); !errors.Is(err, engine.ErrInvalid) {
				s.T.Errorf("%s: %v, want ErrInvalid", what, err)
			}
		}
		for _, name := range []string{"", testkit.LongName(1025)} {
			if slices.Contains([]string{"multi", "quorum"}, s.name) {
				continue // they are not made: their own tests say so
			}
			if _, err := s.source(s.ours, name).get(testkit.Soon(s.T)); !errors.Is(err, engine.ErrInvalid) {
				s.T.Errorf("a name of %d bytes: %v, want ErrInvalid", len(name), err)
			}
			if _, err := s.source(s.ours, name).async(testkit.Soon(s.T)).wait(testkit.Soon(s.T)); !errors.Is(err, engine.ErrInvalid) {
				s.T.Errorf("a name of %d bytes, async: %v, want ErrInvalid", len(name), err)
			}
		}
		if n := calls(); n != 0 {
			s.T.Errorf("%d scripts were called", n)
		}
	})
}
