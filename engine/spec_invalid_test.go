package engine_test

import (
	"errors"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestSpecInvalid(t *testing.T) {
	const day = 24 * time.Hour
	calls := []struct {
		what string
		name string
		opts []engine.LockOption
	}{
		{"an empty name", "", nil},
		{"a name of 1025 bytes", testkit.LongName(1025), nil},
		{"a lease of 0", "stock:7", []engine.LockOption{engine.WithLease(0)}},
		{"a negative lease", "stock:7", []engine.LockOption{engine.WithLease(-time.Second)}},
		{"the most negative lease", "stock:7", []engine.LockOption{engine.WithLease(math.MinInt64)}},
		{"a lease of 9ms", "stock:7", []engine.LockOption{engine.WithLease(9 * time.Millisecond)}},
		{"a lease of 10ms less 1ns", "stock:7", []engine.LockOption{engine.WithLease(10*time.Millisecond - 1)}},
		{"a lease of 31 days", "stock:7", []engine.LockOption{engine.WithLease(31 * day)}},
		{"a lease of 30 days and 1ns", "stock:7", []engine.LockOption{engine.WithLease(30*day + 1)}},
		{"the longest duration", "stock:7", []engine.LockOption{engine.WithLease(math.MaxInt64)}},
		{"a wait of 0", "stock:7", []engine.LockOption{engine.WithWait(0)}},
		{"a negative wait", "stock:7", []engine.LockOption{engine.WithWait(-1)}},
		{"the zero Owner", "stock:7", []engine.LockOption{engine.WithOwner(engine.Owner{})}},
		{"the zero LockOption", "stock:7", []engine.LockOption{{}}},
		{"a wrong option behind a right one", "stock:7", []engine.LockOption{engine.WithLease(time.Second), engine.WithWait(0)}},
	}
	for _, call := range calls {
		t.Run(call.what+" is ErrInvalid, and nothing is sent", spec(engine.Options{}, func(b *bubble) {
			m := b.Mutex(call.name)
			for what, err := range map[string]error{
				"Lock":         testkit.ResultOf(m.Lock(b.Context(), call.opts...)),
				"TryLock":      testkit.ResultOf(m.TryLock(b.Context(), call.opts...)),
				"LockAsync":    testkit.ResultOf(m.LockAsync(b.Context(), call.opts...).Wait(b.Context())),
				"TryLockAsync": testkit.ResultOf(m.TryLockAsync(b.Context(), call.opts...).Wait(b.Context())),
				"Do":           engine.Do(b.Context(), m, nil, call.opts...),
			} {
				b.wantIs(what, err, engine.ErrInvalid)
				if err != nil && len(err.Error()) > 300 {
					b.Errorf("%s: the message has %d bytes", what, len(err.Error()))
				}
			}
			if stats := b.Stats(); stats.Attempts != 0 || stats.Waiting != 0 {
				b.Errorf("Stats: %+v", stats)
			}
		}))
	}
	t.Run("a call that does not wait has no WithWait", spec(engine.Options{}, func(b *bubble) {
		m := b.Mutex("stock:7")
		b.wantIs("TryLock", testkit.ResultOf(m.TryLock(b.Context(), engine.WithWait(time.Second))), engine.ErrInvalid)
		b.wantIs("TryLockAsync", testkit.ResultOf(m.TryLockAsync(b.Context(), engine.WithWait(time.Second)).Wait(b.Context())), engine.ErrInvalid)
	}))
	t.Run("names are bytes, any of them", spec(engine.Options{}, func(b *bubble) {
		for _, name := range []string{"n", testkit.LongName(1024), "\x00\xff\r\n", "{tag}:7", "{", "}", "a b\tc", "stück:7", "%s%d"} {
			h := b.lock(b.Mutex(name))
			b.wantKeys(name)
			waiter := b.queue(b.another(engine.Options{}).Mutex(name))
			b.unlock(h)
			b.unlock(waiter.granted())
			b.wantKeys()
		}
		testkit.Mentions(b, testkit.ResultOf(b.Mutex(testkit.LongName(1025)).TryLock(b.Context())), "the name has 1025 bytes: at most 1024")
	}))
	t.Run("what the options of an engine may not be", func(t *testing.T) {
		for what, opts := range map[string]engine.Options{
			"a lease of 99ms":                     {Lease: 99 * time.Millisecond},
			"a negative lease":                    {Lease: -time.Second},
			"a lease of 31 days":                  {Lease: 31 * day},
			"a negative MaxHold":                  {MaxHold: -1},
			"replicas to wait for":                {Replicas: -2},
			"a HandoffTime over a tenth of Lease": {Lease: time.Second, HandoffTime: 101 * time.Millisecond},
			"a PollCap of 9ms":                    {PollCap: 9 * time.Millisecond},
			"a negative PollCap":                  {PollCap: -time.Second},
			"negative MaxRequests":                {MaxRequests: -1},
			"negative MaxWaitersPerName":          {MaxWaitersPerName: -1},
			"negative Callbacks":                  {Callbacks: -1},
			"an unknown PubSub":                   {PubSub: 17},
			"an unknown OnForgotten":              {OnForgotten: 3},
			"a setting that is the engine's own":  {Redis: rueidis.ClientOption{PipelineMultiplex: 3}},
			"a negative time-out of dials":        {Redis: rueidis.ClientOption{Dialer: net.Dialer{Timeout: -1}}},
			"a negative KeepAlive":                {Redis: rueidis.ClientOption{Dialer: net.Dialer{KeepAlive: -time.Hour}, ConnWriteTimeout: time.Minute}},
			"a negative ConnWriteTimeout":         {Redis: rueidis.ClientOption{ConnWriteTimeout: -1}},
			"the longest ConnWriteTimeout":        {Redis: rueidis.ClientOption{ConnWriteTimeout: math.MaxInt64}},
			"an address that would not be used":   {Redis: rueidis.ClientOption{ForceSingleClient: true, InitAddress: []string{"a:1", "b:1"}}},
			"the longest KeepAlive":               {Redis: rueidis.ClientOption{Dialer: net.Dialer{KeepAlive: math.MaxInt64}}},
		} {
			b := &bubble{T: t}
			e, err := engine.Open(t.Context(), opts)
			b.wantIs(what, err, engine.ErrInvalid)
			if e != nil {
				t.Errorf("%s: an engine and an error", what)
			}
		}
	})
	t.Run("a URL in place of an address, which is not told, for it may contain a password", func(t *testing.T) {
		_, err := engine.Open(t.Context(), engine.Options{Redis: rueidis.ClientOption{InitAddress: []string{"redis:6379", "redis://:canary@127.0.0.1:1"}}})
		if testkit.Mentions(t, err, "ParseURL"); !errors.Is(err, engine.ErrInvalid) || strings.Contains(err.Error(), "canary") {
			t.Errorf("Open: %v", err)
		}
	})
	t.Run("all complaints about the options of an engine are told at once", func(t *testing.T) {
		_, err := engine.Open(t.Context(), engine.Options{Lease: -1, MaxHold: -1, Callbacks: -1})
		for _, word := range []string{"Lease", "MaxHold", "Callbacks"} {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%v: says nothing about %s", err, word)
			}
		}
	})
}
