package classes

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wheellock/wheellock/engine"
)

func TestClassesAreThoseOfTheFunction(t *testing.T) {
	t.Parallel()
	c := New(func(name string) string {
		class, _, prefixed := strings.Cut(name, ":")
		if !prefixed {
			panic("no prefix")
		}
		return class
	}, func(kind engine.Kind, class string) string { return string(kind) + "/" + class })
	for name, want := range map[string]string{"order:1": "fair/order", "order:2": "fair/order", "bad": "fair/invalid", "\xff:1": "fair/invalid", ":": "fair/", "user:\xff": "fair/user"} {
		if got := c.Get(engine.KindFair, name); got != want {
			t.Errorf("%q is in %q, want %q", name, got, want)
		}
	}
	c = New(nil, c.make)
	if got := c.Get(engine.KindMutex, "a:b"); got != "mutex/all" {
		t.Errorf("without a function a lock is in %q", got)
	}
}

// A class for each name, from many goroutines at once, loses nothing and makes no classes without end.
func TestTooManyClassesAreOne(t *testing.T) {
	t.Parallel()
	const callers, names = 8, 1000
	made := map[string]*atomic.Int64{} // New calls make one at a time
	c := New(func(name string) string { return name }, func(_ engine.Kind, class string) *atomic.Int64 {
		made[class] = new(atomic.Int64)
		return made[class]
	})
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for i := range names {
				c.Get(engine.KindMutex, fmt.Sprint(i)).Add(1)
			}
		})
	}
	wg.Wait()
	if got, want := made[other].Load(), int64(callers*(names-Max)); len(made) != Max+1 || got != want {
		t.Errorf("%d classes, %d in other; want %d and %d", len(made), got, Max+1, want)
	}
	for class, n := range made {
		if class != other && n.Load() != callers {
			t.Errorf("%d in class %s, want %d", n.Load(), class, callers)
		}
	}
}
