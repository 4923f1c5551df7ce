package engine

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stuckHandler blocks in all that it does until it is let go.
type stuckHandler struct {
	slog.Handler
	free chan struct{}
}

func (s stuckHandler) Enabled(context.Context, slog.Level) bool { <-s.free; return true }

func TestTheRelayBoundsWhatWaitsAndTellsWhatItDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		h := stuckHandler{slog.NewTextHandler(&out, nil), make(chan struct{})}
		logger, r := relayTo(slog.New(h))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for range 1000 {
					logger.Info("one")
				}
			})
		}
		wg.Wait()
		since := time.Now()
		r.flush()
		if took := time.Since(since); took != relayTime {
			t.Errorf("flush took %v, want %v", took, relayTime)
		}
		close(h.free)
		r.flush()
		text := out.String()
		one, lines := strings.Count(text, "msg=one"), strings.Count(text, "dropped")
		if one < mostRelayed || one > mostRelayed+10 || lines != 1 {
			t.Errorf("%d records of 3000 and %d lines about the rest", one, lines)
		}
	})
}

func TestTheRelayLeavesADiscardingHandlerAlone(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	if logger, _ := relayTo(quiet); logger != quiet {
		t.Error("records would be relayed to nobody")
	}
}
