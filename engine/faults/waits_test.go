package faults_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// A master that has no replica yet, or cannot save, takes no locks for a while: who waits, or gives a lock back, waits as it was asked to and
// is served soon after, and who does not is told at once and in the words of the server. What is held lasts as long as its lease.
func TestLockWaitsThroughWhatPasses(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		"NOREPLICAS Not enough good replicas to write.", "OOM command not allowed when used memory > 'maxmemory'.",
		"READONLY You can't write against a read only replica.",
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
	} {
		word, _, _ := strings.Cut(words, " ")
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			// All kinds hear one of them, and the mutex each.
			hears := func(k *kind) bool { return k.room > 0 && (word == "READONLY" || k.name == "mutex") }
			onEveryKind(t, testkit.Times(t, 50, 1), hears, func(s *stage) {
				s.stock("stock:7")
				refuse := func(words string) {
					for _, server := range s.servers {
						server.Refuse(words, 0)
					}
				}
				source := s.source(s.ours, "stock:7")
				held, kept := testkit.MustLock(s.T, s.ours[0].Mutex("held"), engine.WithLease(time.Hour)), testkit.MustLock(s.T, s.ours[0].Mutex("kept"))
				refuse(words)
				freed := held.UnlockAsync()
				calls, began := s.countScripts(), time.Now()
				if _, err := source.try(testkit.Soon(s.T)); !errors.Is(err, engine.ErrRefused) || time.Since(began) > 100*time.Millisecond {
					s.T.Errorf("asked once: %v after %v, want ErrRefused at once", err, time.Since(began))
				} else {
					testkit.Mentions(s.T, err, word)
				}
				_, err := source.get(context.Background(), engine.WithWait(time.Second))
				if !errors.Is(err, engine.ErrWaitTimeout) || !errors.Is(err, engine.ErrRefused) || strings.Contains(err.Error(), "script") {
					s.T.Errorf("waiting for 1s: %v, want ErrWaitTimeout that is ErrRefused", err)
				} else {
					testkit.Mentions(s.T, err, word)
				}
				waits := source.async(context.Background())
				if word != "OOM" { // which lets renewals and releases pass
					deadline := kept.Deadline()
					if err := testkit.MustEnd(s.T, kept); !errors.Is(err, engine.ErrLost) || time.Since(deadline) > dispatcher.Tick {
						s.T.Errorf("the hold ended with %v, %v after its deadline", err, time.Since(deadline))
					}
					mustWait(s.T, "Unlock", freed)
				} else {
					testkit.MustUnlock(s.T, kept)
				}
				s.pause(20 * time.Second)
				if n, most := calls(), 2+30*time.Since(began).Seconds(); float64(n) > most {
					s.T.Errorf("%d calls of scripts within %v", n, time.Since(began))
				}
				mended := time.Now()
				refuse("")
				got, err := waits.wait(context.Background())
				if late := time.Since(mended); err != nil || late > 500*time.Millisecond {
					s.T.Fatalf("waiting: %v, %v after the end of it, want a grant within 500ms", err, late)
				}
				if err := errors.Join(got.back(testkit.Soon(s.T)), testkit.ResultOf(freed.Wait(testkit.Soon(s.T)))); err != nil {
					s.T.Error(err)
				}
				s.checkQuiet()
			}, testkit.Lease(10*time.Second))
		})
	}
}

// On a link whose round trip is longer than a lease, who asks once is told so at once, and who waits is told so when its
// wait is over; both ask rarely.
func TestALeaseShorterThanTheRoundTripIsTold(t *testing.T) {
	t.Parallel()
	short := engine.WithLease(20 * time.Millisecond)
	onEveryKind(t, 1, (*kind).hasHolders, func(s *stage) {
		s.stock("stock:7")
		for _, l := range s.links {
			l.Mend(func() time.Duration { return 10 * time.Millisecond })
		}
		source := s.source(s.ours, "stock:7")
		for doing, ask := range map[string]func(context.Context) (taken, error){
			"asked once": func(ctx context.Context) (taken, error) { return source.try(ctx, short) },
			"waiting": func(ctx context.Context) (taken, error) {
				return source.get(ctx, short, engine.WithWait(500*time.Millisecond))
			},
		} {
			calls, began := s.countScripts(), time.Now()
			_, err := ask(testkit.Soon(s.T))
			took, asked := time.Since(began), calls()
			s.T.Logf("%s: %v after %v, %d calls", doing, err, took, asked)
			if !errors.Is(err, engine.ErrUncertain) || errors.Is(err, engine.ErrWaitTimeout) != (doing == "waiting") || took > time.Second || asked > 40 {
				s.T.Errorf("%s: %v after %v, %d calls", doing, err, took, asked)
			} else if s.name != "multi" && s.name != "quorum" {
				testkit.Mentions(s.T, err, "the lease of 20ms", "ask with a longer lease")
			}
		}
		s.checkQuiet()
	})
}
