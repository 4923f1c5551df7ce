package features_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestCloseAtAnyMoment(t *testing.T) {
	atAnyMoment(t, 30, func(c *closing) {
		if err := <-c.call(c.Close); err != nil {
			c.Errorf("Close: %v", err)
		}
		c.wantClosed()
	})
}

func TestShutdownAtAnyMoment(t *testing.T) {
	t.Run("waits for holds to be unlocked", func(t *testing.T) {
		atAnyMoment(t, 20, func(c *closing) {
			ended := c.call(func() error { return c.Shutdown(c.Context()) })
			for _, f := range c.calls { // in order, for whoever waited may have the lock after all
				h, err := f.Wait(c.Context())
				if err == nil {
					_, err = h.UnlockAsync().Wait(c.Context())
				} else if errors.Is(err, engine.ErrClosed) {
					err = nil
				}
				if err != nil {
					c.Errorf("Lock and Unlock: %v", err)
				}
			}
			if err := <-ended; err != nil {
				c.Errorf("Shutdown: %v", err)
			}
		})
	})
	t.Run("ends what is held when its context ends", func(t *testing.T) {
		atAnyMoment(t, 20, func(c *closing) {
			ctx, cancel := context.WithCancel(c.Context())
			ended := c.call(func() error { return c.Shutdown(ctx) })
			cancel()
			if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
				c.Errorf("Shutdown: %v", err)
			}
			c.wantClosed()
		})
	})
}

// wantClosed asserts that everybody has an answer: ErrClosed, or a hold that has ended with it.
func (c *closing) wantClosed() {
	c.Helper()
	for i, f := range c.calls {
		h, err := f.Result()
		if err == nil {
			select {
			case <-h.Done():
			default:
				c.Errorf("%s: Done is open after Close", c.names[i])
			}
			if err = h.Err(); !errors.Is(err, engine.ErrLost) {
				c.Errorf("%s: the hold's Err is %v, want ErrLost", c.names[i], err)
			}
		}
		if !errors.Is(err, engine.ErrClosed) {
			c.Errorf("%s: %v, want ErrClosed", c.names[i], err)
		}
	}
}

// A server that stands still cannot have freed anything.
func TestCloseEndsHoldsBeforeTheirKeysAreFreed(t *testing.T) {
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	holds := testkit.LockMany(t, e, "ours", 1_000)
	waiter := e.Mutex(testkit.Name24("ours", 0)).LockAsync(t.Context())
	server.Freeze()
	ended := make(chan error, 1)
	go func() { ended <- e.Close() }()
	redistest.Await(t, "all holds to end while the server stands still", func() bool {
		return !slices.ContainsFunc(holds, func(h *engine.Hold) bool { return h.Err() == nil })
	})
	for _, h := range holds {
		<-h.Done()
	}
	if _, err := waiter.Result(); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("the waiter got %v, want ErrClosed", err)
	}
	server.Thaw()
	if err := <-ended; err != nil {
		t.Errorf("Close: %v", err)
	}
	if keys := server.Keys(); len(keys) > 0 {
		t.Errorf("%d keys are left", len(keys))
	}
}
