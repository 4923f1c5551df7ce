package enginetest_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestServerSetLatency(t *testing.T) {
	t.Run("is the time that a call takes", inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
		lock(t, e, "stock:8") // makes the connection
		synctest.Wait()       // until it is idle: a call that finds none makes another
		s.SetLatency(70 * time.Millisecond)
		before := time.Now()
		h := lock(t, e, "stock:7")
		synctest.Wait()
		h.Unlock(t.Context())
		synctest.Wait()
		if took := time.Since(before); took != 140*time.Millisecond {
			t.Errorf("Lock and Unlock took %v, want 140ms", took)
		}
		s.SetLatency(0)
		before = time.Now()
		lock(t, e, "stock:7")
		if took := time.Since(before); took != 0 {
			t.Errorf("Lock took %v without latency, want none", took)
		}
	}))
	twice := "is spent twice by the first call of an engine, and by one after a second without calls"
	t.Run(twice, inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
		const d = 70 * time.Millisecond
		s.SetLatency(d)
		for _, c := range []struct {
			when  string
			pause time.Duration
			want  time.Duration
		}{{"first", 0, 2 * d}, {"second", 0, d}, {"after half a second", time.Second / 2, d}, {"after a second", time.Second, 2 * d}} {
			time.Sleep(c.pause)
			synctest.Wait()
			before := time.Now()
			h := lock(t, e, "stock:7")
			if took := time.Since(before); took != c.want {
				t.Errorf("the Lock %s took %v, want %v", c.when, took, c.want)
			}
			synctest.Wait()
			h.Unlock(t.Context())
		}
	}))
	t.Run("is that of a round trip, not of a command", inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
		s.SetLatency(100 * time.Millisecond)
		before := time.Now()
		var callers sync.WaitGroup
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			callers.Go(func() { lock(t, e, name) })
		}
		callers.Wait()
		if took := time.Since(before); took > 300*time.Millisecond { // those who came while a batch was out wait for the next
			t.Errorf("eight locks at once took %v, want those of a few round trips", took)
		}
	}))
	t.Run("beyond AnswerTimeout leaves a call without an answer", inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
		s.SetLatency(3 * time.Second)
		testkit.WantIs(t, "TryLock", testkit.ResultOf(e.Mutex("stock:7").TryLock(t.Context())), engine.ErrUncertain)
		s.SetLatency(0)
		lock(t, e, "stock:7")
	}))
	t.Run("leaves a watched lock held", inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
		h := lock(t, e, "stock:7")
		s.SetLatency(500 * time.Millisecond)
		time.Sleep(5 * time.Minute)
		if err := h.Err(); err != nil {
			t.Errorf("Err after five minutes: %v", err)
		}
	}))
	t.Run("lets the test end while commands are on their way", inBubble(func(t *testing.T, e *engine.Engine, s *enginetest.Server) {
		s.SetLatency(time.Hour)
		e.Mutex("stock:7").LockAsync(context.Background())
		time.Sleep(time.Millisecond)
		s.SetDown(true)
	}))
	t.Run("below zero is none", func(t *testing.T) {
		e, s := enginetest.New(t, engine.Options{})
		s.SetLatency(-time.Second)
		lock(t, e, "stock:7")
	})
}
