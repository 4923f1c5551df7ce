package polyglot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// TestTokens: a value of any bytes is an owner like any other.
func TestTokens(t *testing.T) {
	beside(t, tokens, func(t *testing.T, p *pair) {
		h := testkit.MustLock(t, p.SimpleMutex("looks"))
		ours := h.TenureID()
		testkit.MustUnlock(t, h)
		another := ours[:len(ours)-1] + string('a'+(ours[len(ours)-1]+1)%26)
		for what, value := range map[string]string{
			"empty": "", "NUL": "\x00", "no UTF-8": "\xff\xfe", "line break": "a\r\nb", "1 MB": strings.Repeat("v", 1<<20), "number": "-2",
			"uuid":             "550e8400-e29b-41d4-a716-446655440000",
			"a mutex's owner":  strings.Join(strings.Split(ours, ":")[:2], ":"),
			"an owner of ours": another,
			"what we had":      ours,
			"a writer":         another + ":write",
			"nobody":           another + ":detached",
		} {
			if value == "" && p.name != "redis-py" {
				continue // it means that the library chooses
			}
			t.Run(what, func(t *testing.T) { p.holdsBy(t, value) })
		}
	})
}

func (p *pair) holdsBy(t *testing.T, value string) {
	text, times := value, 1
	if len(value) > 1000 {
		text, times = value[:1], len(value)
	}
	p.theirs.Do("lock odd %d 0 %x*%d", long, text, times)
	if got := p.server.MustDo("GET", "odd").Text; got != value {
		t.Fatalf("they wrote %.100q", got)
	}
	m := p.SimpleMutex("odd")
	testkit.WantIs(t, "our TryLock", testkit.ResultOf(m.TryLock(testkit.Soon(t))), engine.ErrHeld)
	state, err := m.Inspect(testkit.Soon(t))
	if err != nil || !state.Locked || state.Ours != strings.HasSuffix(t.Name(), "what_we_had") || state.Owner != value || state.TTL <= 0 {
		state.Owner = fmt.Sprintf("%.100q", state.Owner)
		t.Errorf("Inspect = %+v, %v", state, err)
	}
	waiter := m.LockAsync(context.Background())
	testkit.WantIs(t, "our Lock", testkit.ResultOf(m.Lock(context.Background(), engine.WithWait(20*time.Millisecond))), engine.ErrWaitTimeout)
	p.theirs.Do("extend odd")
	p.theirs.Do("unlock odd")
	testkit.MustUnlock(t, testkit.MustWait(t, waiter))

	p.theirs.Do("lock odd %d 0 %x*%d", long, text, times)
	if freed, err := m.ForceUnlock(testkit.Soon(t)); !freed || err != nil {
		t.Errorf("ForceUnlock = %t, %v", freed, err)
	}
	p.theirs.Try("unlock odd")
}

// TestWithoutTTL: a holder that never lets go by itself is said to be one. Only redis-py makes such locks.
func TestWithoutTTL(t *testing.T) {
	endless := func(l library) bool { return l.name == "redis-py" }
	beside(t, endless, func(t *testing.T, p *pair) {
		p.theirs.Do("lock endless 0 0")
		m := p.SimpleMutex("endless")
		if state, err := m.Inspect(testkit.Soon(t)); err != nil || !state.Locked || state.TTL >= 0 {
			t.Errorf("Inspect = %+v, %v", state, err)
		}
		waiter := m.LockAsync(context.Background())
		_, err := m.Lock(context.Background(), engine.WithWait(time.Second))
		if held := new(engine.HeldError); !errors.Is(err, engine.ErrWaitTimeout) || !errors.As(err, &held) || held.TTL >= 0 || !strings.Contains(err.Error(), "without an end that is known") {
			t.Errorf("the error of a wait = %v", err)
		}
		p.theirs.Do("unlock endless")
		testkit.MustUnlock(t, testkit.MustWait(t, waiter))
	})
}
