package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

func openAt(t *testing.T, addr string, opts engine.Options) *engine.Engine {
	t.Helper()
	opts.Redis = rueidis.ClientOption{InitAddress: []string{addr}}
	e, err := engine.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestScratch(t *testing.T) {
	s := redistest.Start(t)
	a, b := openAt(t, s.Addr(), engine.Options{}), openAt(t, s.Addr(), engine.Options{})
	start := time.Now()
	var wg sync.WaitGroup
	for i := range 2000 {
		e := a
		if i%2 == 1 {
			e = b
		}
		wg.Go(func() {
			h, err := e.FairMutex("x").Lock(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			if err := h.Unlock(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	t.Log(time.Since(start), s.Keys(), s.CommandCounts())
	t.Logf("%+v", a.Stats())
}
