package futures_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/futures"
)

var errShutdown = errors.New("shutting down")

func TestWait(t *testing.T) {
	ended, end := context.WithCancelCause(t.Context())
	end(errShutdown)

	t.Run("returns an answer that is there even if ctx has ended", func(t *testing.T) {
		if v, err := futures.Settled(nil, 7, nil).Wait(ended); v != 7 || err != nil {
			t.Errorf("Wait = %d, %v; want 7", v, err)
		}
	})
	t.Run("returns both the error and the cause of an ended ctx", func(t *testing.T) {
		p := futures.New[int](nil, nil)
		_, err := p.Future().Wait(ended)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, errShutdown) {
			t.Errorf("err = %v, want one that Is Canceled and the cause", err)
		}
		if !p.Settle(1, nil) {
			t.Error("giving up the wait settled the future")
		}
	})
	t.Run("adds nothing to a cause that says it all", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := futures.New[int](nil, nil).Future().Wait(ctx); err != context.Canceled {
			t.Errorf("err = %v, want context.Canceled itself", err)
		}
	})
}

func TestWaitIsBoundedByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := futures.New[int](&goroutines{}, nil)
		start := time.Now()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errShutdown)
		defer cancel()
		_, err := p.Future().Wait(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errShutdown) {
			t.Errorf("err = %v, want one that Is DeadlineExceeded and the cause", err)
		}
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("waited %v, want 1s", waited)
		}
		wantAnswer(t, p.Future(), 0, futures.ErrPending)
	})
}

// Callers 0 to 4 give up before the answer comes, 5 to 9 are still there.
func TestWaitersComeAndGo(t *testing.T) {
	for name, newRunner := range map[string]func() futures.Runner{
		"no Runner":             func() futures.Runner { return nil },
		"a Runner with parkers": func() futures.Runner { return &goroutines{} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := futures.New[int](newRunner(), nil)
				for i := range 10 {
					go func() {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
						defer cancel()
						v, err := p.Future().Wait(ctx)
						if i < 5 && !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("caller %d: err = %v, want DeadlineExceeded", i, err)
						}
						if i >= 5 && (v != 7 || err != nil) {
							t.Errorf("caller %d: Wait = %d, %v; want 7", i, v, err)
						}
					}()
				}
				time.Sleep(5*time.Second + time.Millisecond)
				p.Settle(7, nil)
				synctest.Wait() // t.Context ends with this function
			})
		})
	}
}
