package futures

import (
	"runtime"
	"testing"
	"unsafe"
)

func TestFutureIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Future[*int]{}); unsafe.Sizeof(uintptr(0)) == 8 && size > 96 {
		t.Errorf("a future of a pointer has %d bytes, want at most 96", size)
	}
	if unsafe.Sizeof(Promise[*int]{}) != unsafe.Sizeof(Future[*int]{}) {
		t.Error("a promise is bigger than its future")
	}
}

type lending struct{ Parkers }

func (*lending) Go(t Task) { go t.Run() }

func TestAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes sync.Pool forget on purpose")
	}
	const runs = 1000
	value, ctx := new(int), t.Context()
	runner := new(lending)
	want := func(what string, allocations float64, fn func()) {
		t.Helper()
		if got := testing.AllocsPerRun(runs, fn); got != allocations {
			t.Errorf("%s: %v allocations, want %v", what, got, allocations)
		}
	}
	next := func() func() *Promise[*int] { // AllocsPerRun calls once more to warm up
		promises := make([]Promise[*int], runs+1)
		i := -1
		return func() *Promise[*int] {
			i++
			promises[i].Init(runner, nil)
			return &promises[i]
		}
	}

	fresh := next()
	want("Settle", 0, func() { fresh().Settle(value, nil) })

	answered := Settled(runner, value, nil)
	want("Wait for an answer that is there", 0, func() { _, _ = answered.Wait(ctx) })

	fresh = next()
	toSettle, settled := make(chan *Promise[*int]), make(chan struct{})
	go func() {
		defer close(settled)
		for p := range toSettle {
			f := p.Future()
			for blocked := false; !blocked; runtime.Gosched() {
				f.mu.Lock()
				blocked = f.queue.first != nil
				f.mu.Unlock()
			}
			p.Settle(value, nil)
		}
	}()
	want("Settle with one blocked Wait, both together", 0, func() {
		p := fresh()
		toSettle <- p
		_, _ = p.Future().Wait(ctx)
	})
	close(toSettle)
	<-settled

	fresh = next()
	var kept *Promise[*int]
	want("New and Future", 1, func() { kept = New[*int](runner, nil) })
	if kept.Future() != &kept.future {
		t.Error("Future is not the memory of its Promise")
	}

	byHand := &counting{}
	promises := make([]Promise[*int], runs+1)
	for i := range promises {
		promises[i].Init(byHand, nil)
		promises[i].Future().Then(func(*int, error) {})
	}
	i := -1
	want("Settle with a callback", 0, func() {
		i++
		promises[i].Settle(value, nil)
	})
	if byHand.tasks != runs+1 {
		t.Errorf("callbacks handed over: %d, want %d", byHand.tasks, runs+1)
	}
}

// TestCallbackAllocations: a callback costs one allocation, from Then to the answer of the future that Then returns.
func TestCallbackAllocations(t *testing.T) {
	value, fn := new(int), func(*int, error) {}
	mapping := func(v *int, err error) (*int, error) { return v, err }
	f := Settled(here{}, value, nil)
	if got := testing.AllocsPerRun(1000, func() { f.Then(fn) }); got != 1 {
		t.Errorf("Then: %v allocations, want 1", got)
	}
	if got := testing.AllocsPerRun(1000, func() { Map(f, mapping) }); got != 1 {
		t.Errorf("Map: %v allocations, want 1", got)
	}
}

// here runs callbacks at once.
type here struct{}

func (here) Go(t Task) { t.Run() }

// counting is a Runner for measuring alone: it drops what it is given.
type counting struct{ tasks int }

func (c *counting) Go(Task) { c.tasks++ }
