package target

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestEmbeddedWhereThereIsNoServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	target, err := Own(context.Background(), nil)
	testkit.Must(t, err)
	defer target.Close()
	if target.Kind != Embedded || !strings.Contains(target.Meaning(), "not of Redis") {
		t.Errorf("kind %q, meaning %q: want to be told that it is no Redis", target.Kind, target.Meaning())
	}
	if target.Read(context.Background()).Known {
		t.Error("it says that it knows what it costs")
	}
	opts, err := target.Address.Options()
	testkit.Must(t, err)
	e := testkit.MustOpen(t, func(ctx context.Context) (*engine.Engine, error) { return engine.Open(ctx, opts) })
	defer e.Close()
	hold, err := e.Mutex("loadgen:x").Lock(context.Background(), engine.WithLease(3*time.Second))
	testkit.Must(t, err)
	keys, err := target.Keys(context.Background(), "loadgen:")
	if err != nil || len(keys) != 1 || keys[0] != "loadgen:x" {
		t.Errorf("keys %q, %v; want the lock", keys, err)
	}
	<-hold.Done()
	if _, err := e.Mutex("loadgen:x").Lock(context.Background()); err != nil {
		t.Errorf("after the lease, which must run by the clock: %v", err)
	}
}
