package testkit

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

func TestMain(m *testing.M) { Main(m) }

// verdict is a test that only notes why it ended.
type verdict struct {
	testing.TB
	failed string
}

func (v *verdict) Helper() {}
func (v *verdict) Fatalf(format string, a ...any) {
	v.failed = fmt.Sprintf(format, a...)
	panic(v)
}

func TestMustOpenSaysThatTheServerRefuses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.MustDo("ACL", "SETUSER", "locks", "on", ">password", "~*", "&*", "+@all", "-evalsha")
	opts := OptionsFor(server.Addr())
	opts.Redis.Username, opts.Redis.Password = "locks", "password"
	v, asked := &verdict{TB: t}, 0
	func() {
		defer func() { _ = recover() }() // Fatalf does not return
		MustOpen(v, func(ctx context.Context) (*engine.Engine, error) {
			asked++
			return engine.Open(ctx, opts)
		})
	}()
	if asked != 1 || !strings.Contains(v.failed, "refused by Redis") || !strings.Contains(v.failed, "evalsha") {
		t.Errorf("asked %d times: %q, want the refusal at once", asked, v.failed)
	}
}
