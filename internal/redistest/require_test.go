package redistest

import (
	"fmt"
	"strings"
	"testing"
)

// verdict is a test that only notes how it was ended.
type verdict struct {
	testing.TB
	failed, skipped string
}

func (v *verdict) Helper()      {}
func (v *verdict) Name() string { return "TestUnlock" }
func (v *verdict) Skipf(format string, a ...any) {
	v.skipped = fmt.Sprintf(format, a...)
}
func (v *verdict) Fatal(a ...any) { v.Fatalf("%s", fmt.Sprint(a...)) }
func (v *verdict) Fatalf(format string, a ...any) {
	v.failed = fmt.Sprintf(format, a...)
	panic(v)
}

func TestRequire(t *testing.T) {
	require := func(programs ...string) (v *verdict) {
		v = &verdict{}
		defer func() { _ = recover() }() // Fatalf does not return
		Require(v, programs...)
		return v
	}
	t.Run("says nothing when all is there", func(t *testing.T) {
		if v := require("go"); v.failed+v.skipped != "" {
			t.Errorf("got %+v", v)
		}
	})
	t.Run("skips loudly at home", func(t *testing.T) {
		t.Setenv("CI", "")
		t.Setenv("PATH", t.TempDir())
		v := require("redis-server", "redis-cli")
		for _, part := range []string{"SKIPPED", "redis-server, redis-cli", "apt-get install redis-server redis-tools",
			"NOT PROVED", "TestUnlock"} {
			if !strings.Contains(v.skipped, part) {
				t.Errorf("skip message %q lacks %q", v.skipped, part)
			}
		}
	})
	t.Run("fails in CI", func(t *testing.T) {
		t.Setenv("CI", "true")
		t.Setenv("PATH", t.TempDir())
		if v := require("redis-server"); v.failed == "" || v.skipped != "" {
			t.Errorf("failed %q, skipped %q; want a failure", v.failed, v.skipped)
		}
	})
}
