package engine_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// Every handle shows its kind and its name, in a format, in JSON and in a log record.
func TestWhatUsersHaveShowsAsText(t *testing.T) {
	t.Parallel()
	e, _ := enginetest.New(t, engine.Options{Identity: "who"})
	multi, err := engine.Multi(e.Mutex("a"), e.Mutex("b"))
	testkit.Must(t, err)
	quorum, err := engine.Quorum("a", e)
	testkit.Must(t, err)
	for _, c := range []struct {
		of   any
		text string
		log  string
	}{
		{e.Mutex("a"), `lock "a"`, `{"name":"a","kind":"mutex"}`},
		{e.FencedMutex("a"), `fenced lock "a"`, `{"name":"a","kind":"fenced"}`},
		{e.SpinMutex("a"), `spin lock "a"`, `{"name":"a","kind":"spin"}`},
		{e.SimpleMutex("a"), `simple lock "a"`, `{"name":"a","kind":"simple"}`},
		{e.FairMutex("a"), `fair lock "a"`, `{"name":"a","kind":"fair"}`},
		{e.RWMutex("a"), `read-write lock "a"`, `{"name":"a","kind":"rw"}`},
		{e.RWMutex("a").Reader(), `read lock "a"`, `{"name":"a","kind":"read"}`},
		{e.RWMutex("a").Writer(), `write lock "a"`, `{"name":"a","kind":"write"}`},
		{e.Semaphore("a"), `semaphore "a"`, `{"name":"a","kind":"semaphore"}`},
		{e.PermitSemaphore("a"), `permit semaphore "a"`, `{"name":"a","kind":"permits"}`},
		{e.CountDownLatch("a"), `latch "a"`, `{"name":"a","kind":"latch"}`},
		{multi, `locks "a,b"`, `{"name":"a,b","kind":"multi"}`},
		{quorum, `quorum lock "a"`, `{"name":"a","kind":"quorum"}`},
		{e, "wheellock engine " + e.ID() + " on [enginetest:6379]", `{"id":"` + e.ID() + `","identity":"who","redis":["enginetest:6379"]}`},
	} {
		wantTexts(t, c.of, c.text, c.log)
	}
}

// What was wrong is told with the name, the call, the value and its bounds, each in its place.
func TestMistakesAreToldInFull(t *testing.T) {
	t.Parallel()
	e, _ := enginetest.New(t, engine.Options{})
	ctx := t.Context()
	held, err := e.Mutex("a").Lock(ctx)
	testkit.Must(t, err)
	inside := held.Context(ctx)
	open := func(o rueidis.ClientOption) error {
		return testkit.ResultOf(engine.Open(ctx, engine.Options{Redis: o}))
	}
	for _, c := range []struct {
		got  error
		want string
	}{
		{testkit.ResultOf(e.Mutex("a").Lock(inside)),
			`lock "a": would wait for itself: its context is that of a hold of this name: to re-enter, lock both times WithOwner`},
		{testkit.ResultOf(e.Mutex("b").Lock(ctx, engine.WithMinHold(-time.Second))),
			`lock "b": invalid: a min hold of -1s: must be positive and at most 720h0m0s`},
		{testkit.ResultOf(e.RWMutex("a").Reader().Inspect(ctx)),
			`inspect "a": the key exists and is not this kind of lock (it is a hash of another kind): take another name, or a prefix by Options.NameMapper; if it is another library's lock, see docs/MIGRATING.md`},
		{testkit.ResultOf(e.Semaphore("s").TrySetPermitsFor(ctx, 1, -time.Second)),
			`set permits "s": invalid: a time to live of -1s: must be positive and at most 720h0m0s`},
		{open(rueidis.ClientOption{Dialer: net.Dialer{Timeout: -time.Second}}),
			`invalid: Redis.Dialer.Timeout -1s, Redis.Dialer.KeepAlive 1s and Redis.ConnWriteTimeout 2s: must not be negative`},
		{open(rueidis.ClientOption{RingScaleEachConn: 5}),
			`invalid: Redis.RingScaleEachConn is set: the engine depends on its own value`},
	} {
		if c.got == nil || c.got.Error() != "wheellock: "+c.want {
			t.Errorf("got  %v\nwant wheellock: %s", c.got, c.want)
		}
	}
}

func TestAHoldShowsAsText(t *testing.T) {
	t.Parallel()
	e, _ := enginetest.New(t, engine.Options{})
	for _, c := range []struct {
		lock engine.Locker
		kind string
	}{{e.Mutex("m"), "mutex"}, {e.FencedMutex("f"), "fenced"}, {e.RWMutex("w").Writer(), "write"}} {
		h, err := c.lock.Lock(t.Context())
		testkit.Must(t, err)
		log := fmt.Sprintf(`{"name":%q,"kind":%q,"owner":%q`, h.Name(), c.kind, h.TenureID())
		if token, fenced := h.Token(); fenced {
			log += fmt.Sprintf(`,"token":%d`, token)
		}
		wantTexts(t, h, fmt.Sprintf("hold of %q by %s", h.Name(), h.TenureID()), log+"}")
	}
}

func wantTexts(t *testing.T, v any, text, log string) {
	t.Helper()
	if got := fmt.Sprint(v); got != text {
		t.Errorf("%%v of %T is %s, want %s", v, got, text)
	}
	marshalled, err := v.(encoding.TextMarshaler).MarshalText()
	if err != nil || string(marshalled) != text {
		t.Errorf("MarshalText of %T = %s, %v; want %s", v, marshalled, err, text)
	}
	asJSON, err := json.Marshal(v)
	want, _ := json.Marshal(text)
	if err != nil || string(asJSON) != string(want) {
		t.Errorf("JSON of %T = %s, %v; want %s", v, asJSON, err, want)
	}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("shown", "it", v)
	if !strings.Contains(out.String(), `"it":`+log) {
		t.Errorf("the log record of %T is %s, want %s", v, out.String(), log)
	}
}
