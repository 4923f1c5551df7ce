package engine_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// lockedLog is what was logged and not read yet.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lockedLog) read() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

// specLogged is spec for an engine whose log is kept.
func specLogged(opts engine.Options, test func(b *bubble, log *lockedLog)) func(*testing.T) {
	var log lockedLog
	opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	return spec(opts, func(b *bubble) { test(b, &log) })
}

// wantLogged fails the test unless there are n lines about lost locks, one of them this.
func (b *bubble) wantLogged(log *lockedLog, n int, line string) {
	b.Helper()
	synctest.Wait()
	text := log.read()
	if got := strings.Count(text, "lost"); got != n || !strings.Contains(text, line) {
		b.Errorf("%d lines about lost locks, want %d and\n%s\n%s", got, n, line, text)
	}
}

func TestSpecLossesAreLogged(t *testing.T) {
	t.Parallel()
	t.Run("of a key that was deleted", specLogged(engine.Options{}, func(b *bubble, log *lockedLog) {
		b.lock(b.FencedMutex("stock 7"))
		time.Sleep(15 * time.Second)
		b.redis.Lose("stock 7")
		time.Sleep(10 * time.Second)
		b.wantLogged(log, 1, `level=WARN msg="wheellock: a lock was lost" name="stock 7" kind=fenced held=20s cause="Redis does not have it any more: freed by force, deleted, evicted or expired"`)
	}))
	t.Run("of a lease that could not be renewed", specLogged(engine.Options{}, func(b *bubble, log *lockedLog) {
		b.lock(b.RWMutex("stock:7").Writer())
		time.Sleep(5 * time.Second)
		b.redis.SetDown(true)
		time.Sleep(time.Minute)
		b.wantLogged(log, 1, `name=stock:7 kind=write held=29.7s cause="not renewed in time: Redis cannot be reached"`)
	}))
	t.Run("of a fixed lease, once, by its holder or by the loop", specLogged(engine.Options{}, func(b *bubble, log *lockedLog) {
		h := b.lock(b.Mutex("a"), engine.WithLease(time.Second))
		b.lock(b.Mutex("b"), engine.WithLease(2*time.Second))
		time.Sleep(time.Until(h.Deadline()))
		b.wantIs("Err", h.Err(), engine.ErrLost)
		time.Sleep(5 * time.Second)
		b.wantIs("Unlock", h.Unlock(b.Context()), engine.ErrLost)
		b.wantLogged(log, 2, `name=a kind=mutex held=1s cause="its fixed lease is over"`)
	}))
	t.Run("of MaxHold", specLogged(engine.Options{MaxHold: time.Minute}, func(b *bubble, log *lockedLog) {
		b.lock(b.SpinMutex("a"))
		time.Sleep(2 * time.Minute)
		b.wantLogged(log, 1, `name=a kind=spin held=1m0s cause="MaxHold is over"`)
	}))
	t.Run("of permits", specLogged(engine.Options{}, func(b *bubble, log *lockedLog) {
		b.wantNil("TrySetPermits", testkit.ResultOf(b.PermitSemaphore("a").TrySetPermits(b.Context(), 3)))
		b.wantNil("Acquire", testkit.ResultOf(b.PermitSemaphore("a").Acquire(b.Context(), 2)))
		b.redis.Lose("{a}:timeout")
		time.Sleep(time.Minute)
		b.wantLogged(log, 1, `name=a kind=permits held=10s cause="Redis does not have it any more`)
	}))
	t.Run("of several locks, and of the one that ended them", specLogged(engine.Options{}, func(b *bubble, log *lockedLog) {
		multi := testkit.Multi(b.T, b.Mutex("a"), b.Mutex("b"))
		b.lock(multi)
		b.redis.Lose("b")
		time.Sleep(time.Minute)
		b.wantLogged(log, 2, `name=a,b kind=multi held=10s cause="too few of its locks are left"`)
	}))
	t.Run("not of an unlock or of Close", specLogged(engine.Options{}, func(b *bubble, log *lockedLog) {
		b.unlock(b.lock(b.Mutex("a")))
		b.lock(b.Mutex("b"))
		b.Close()
		b.wantLogged(log, 0, "")
	}))
	t.Run("in a few lines, however many", specLogged(engine.Options{}, func(b *bubble, log *lockedLog) {
		const n = 3000
		for i := range n {
			b.lock(b.Mutex(fmt.Sprint("stock:", i)))
		}
		b.redis.SetDown(true)
		time.Sleep(time.Minute)
		b.wantLogged(log, 11, fmt.Sprintf(`level=WARN msg="wheellock: more locks were lost" locks=%d within=10s`, n-10))
		if got := b.Stats().Lost; got != n {
			b.Errorf("Stats().Lost = %d, want %d", got, n)
		}
		b.redis.SetDown(false)
		time.Sleep(time.Minute)
		for i := range 15 { // the next period begins with the next loss, and Close ends it
			b.lock(b.Mutex(fmt.Sprint("next:", i)), engine.WithLease(time.Second))
		}
		log.read()
		time.Sleep(2 * time.Second)
		b.wantLogged(log, 10, `name=next:`)
		b.Close()
		b.wantLogged(log, 1, `msg="wheellock: more locks were lost" locks=5 within=10s`)
	}))
}
