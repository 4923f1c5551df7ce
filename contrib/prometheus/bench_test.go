package wheelprom_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"

	wheelprom "github.com/wheellock/wheellock/contrib/prometheus"
)

// What metrics cost a process that does nothing but lock and unlock, which is the most they can cost. An Observer that does
// nothing shows the engine's part of it.
func BenchmarkPairs(b *testing.B) {
	server := redistest.Start(b)
	metrics, err := wheelprom.New(wheelprom.Options{Class: func(name string) string {
		class, _, _ := strings.Cut(name, ":")
		return class
	}})
	testkit.Must(b, err)
	nothing := &engine.Observer{Granted: func(engine.Grant) {}, Failed: func(engine.Failure) {}, Ended: func(engine.End) {}}
	for name, observer := range map[string]*engine.Observer{"without": nil, "idle observer": nothing, "with": metrics.Observer()} {
		e := testkit.Connect(b, server.Addr(), func(o *engine.Options) { o.Observer = observer })
		testkit.BenchmarkPairs(b, name, func(ctx context.Context, name string) (*engine.Hold, error) { return e.Mutex(name).Lock(ctx) })
	}
}

// The part of the metrics in that: a grant and the end of its hold, on one goroutine.
func BenchmarkObserver(b *testing.B) {
	o := newMetrics(b, wheelprom.Options{}).Observer()
	b.ReportAllocs()
	for b.Loop() {
		o.Granted(engine.Grant{Name: "order:4711", Kind: engine.KindMutex, Waited: time.Millisecond})
		o.Ended(engine.End{Name: "order:4711", Kind: engine.KindMutex, Held: time.Millisecond, Err: engine.ErrUnlocked})
	}
}
