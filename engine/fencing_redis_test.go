package engine_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// The script of docs/FENCING.md refuses the write of a holder that was paused past its lease.
func TestFencedWriteToRedis(t *testing.T) {
	t.Parallel()
	script := testkit.CodeBlocks(t, "docs/FENCING.md", "lua")[0]
	server := redistest.Start(t)
	write := func(h *engine.Hold, value string, want int64) {
		t.Helper()
		token, _ := h.Token()
		written := server.MustDo("EVAL", script, "2", "{stock:7}", "{stock:7}:fence", strconv.FormatInt(token, 10), value).Int
		if written != want {
			t.Errorf("the write of %q answered %d, want %d", value, written, want)
		}
	}
	first := testkit.MustLock(t, testkit.Connect(t, server.Addr()).FencedMutex("stock:7"), engine.WithLease(100*time.Millisecond))
	write(first, "99", 1)
	write(first, "98", 1) // a holder writes more than once
	second := testkit.MustLock(t, testkit.Connect(t, server.Addr()).FencedMutex("stock:7"))
	write(second, "97", 1)
	write(first, "98", 0) // it was paused, and goes on
	if stock := server.MustDo("GET", "{stock:7}").Text; stock != "97" {
		t.Errorf("the stock is %s, want 97", stock)
	}
}
