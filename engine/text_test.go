package engine_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// Every handle shows its kind and its name, in a format, in JSON and in a log record.
func TestWhatUsersHaveShowsAsText(t *testing.T) {
	t.Parallel()
	e, _ := enginetest.New(t, engine.Options{Identity: "who"})
	multi, err := engine.Multi(e.Mutex("a"), e.Mutex("b"))
	if err != nil {
		t.Fatal(err)
	}
	quorum, err := engine.Quorum("a", e)
	if err != nil {
		t.Fatal(err)
	}
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

func TestAHoldShowsAsText(t *testing.T) {
	t.Parallel()
	e, _ := enginetest.New(t, engine.Options{})
	for _, c := range []struct {
		lock engine.Locker
		kind string
	}{{e.Mutex("m"), "mutex"}, {e.FencedMutex("f"), "fenced"}, {e.RWMutex("w").Writer(), "write"}} {
		h, err := c.lock.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
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
