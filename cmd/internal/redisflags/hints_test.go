package redisflags_test

import (
	"regexp"
	"testing"

	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
)

// Flags set no options of the engine, so errors of the commands name none.
func TestErrorsNameNoOptions(t *testing.T) {
	t.Parallel()
	option := regexp.MustCompile(`(Redis|Options)\.[A-Z]\w+`)
	wantNone := func(err error) {
		t.Helper()
		if err == nil {
			t.Error("there is no error")
		} else if text := redisflags.Explain(err); option.MatchString(text) {
			t.Errorf("%s\nnames %q", text, option.FindString(text))
		}
	}
	for _, query := range []string{"write_timeout=20s", "write_timeout=-1s", "dial_timeout=-1s"} {
		o, err := (&redisflags.Flags{URL: "redis://127.0.0.1:1?" + query}).Options()
		if err == nil {
			_, err = engine.Open(t.Context(), o)
		}
		wantNone(err)
	}
	e, server := enginetest.New(t, engine.Options{})
	other, err := server.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := e.RWMutex("stock:7").Writer().Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = other.Mutex("stock:7").TryLock(t.Context())
	wantNone(err)
}
