package scale_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

func TestScaleOfAllocations(t *testing.T) {
	measures(t)
	e := testkit.Connect(t, redistest.Start(t).Addr())
	t.Run("a handle costs none", func(t *testing.T) {
		if got := testing.AllocsPerRun(1000, func() {
			if m := e.Mutex("stock:7"); m.Name() != "stock:7" {
				t.Fatal(m.Name())
			}
		}); got != 0 {
			t.Errorf("%v allocations, want 0", got)
		}
	})
	t.Run("a Lock and an Unlock of a fresh name cost few, on all goroutines together", func(t *testing.T) {
		const most = 10
		names := make([]string, 5001)
		for i := range names {
			names[i] = testkit.Name24("allocations", i)
		}
		turn := 0
		got := testing.AllocsPerRun(len(names)-1, func() {
			var l engine.Locker = e.Mutex(names[turn])
			turn++
			h, err := l.Lock(context.Background())
			testkit.Must(t, err)
			testkit.Must(t, h.Unlock(context.Background()))
		})
		if t.Logf("%v allocations", got); got > most {
			t.Errorf("%v allocations, want at most %d", got, most)
		}
	})
	t.Run("a MultiLock costs as much for each of many names as of few", func(t *testing.T) {
		perName := func(names int) int {
			all := make([]string, names)
			for i := range all {
				all[i] = testkit.Name24("together", i)
			}
			m, err := e.All(all...)
			testkit.Must(t, err)
			testkit.MustUnlock(t, testkit.MustLock(t, m)) // pools and maps have grown
			before := allocated()
			testkit.MustUnlock(t, testkit.MustLock(t, m))
			return int(allocated()-before) / names
		}
		few, many := perName(200), perName(4000)
		if t.Logf("%d and %d bytes", few, many); many > 4*few {
			t.Errorf("%d bytes for each of 4000 names, %d for each of 200", many, few)
		}
	})
}

// allocated is how many bytes this process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
