package futures_test

import (
	"testing"
	"testing/synctest"

	"github.com/wheellock/wheellock/futures"
)

func TestSettledIsAnsweredAtOnce(t *testing.T) {
	runner := &byHand{}
	f := futures.Settled(runner, 7, errTaken)
	wantAnswer(t, f, 7, errTaken)
	if f.Cancel() {
		t.Error("Cancel returned true")
	}
	ran := false
	f.Then(func(v int, err error) { ran = v == 7 && err == errTaken })
	if ran {
		t.Error("callback ran inside Then")
	}
	if runner.runAll(); !ran {
		t.Error("callback did not run, or with another answer")
	}
}

func TestDone(t *testing.T) {
	isClosed := func(done <-chan struct{}) bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	t.Run("closes with the answer", func(t *testing.T) {
		p := futures.New[int](nil, nil)
		done := p.Future().Done()
		if isClosed(done) {
			t.Error("closed while pending")
		}
		p.Settle(1, nil)
		if !isClosed(done) {
			t.Error("open after the answer")
		}
		if done != p.Future().Done() {
			t.Error("another channel after the answer")
		}
	})
	t.Run("is closed when asked for late", func(t *testing.T) {
		p := futures.New[int](nil, nil)
		p.Future().Cancel()
		if done := p.Future().Done(); !isClosed(done) || done != p.Future().Done() {
			t.Error("want one closed channel")
		}
	})
	t.Run("late channel serves any bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			<-futures.Settled(nil, 1, nil).Done()
		})
	})
}

// Whoever registers while the callbacks are being handed over comes after those registered before.
func TestCallbacksKeepTheirOrder(t *testing.T) {
	var order []string
	note := func(name string) func(int, error) {
		return func(int, error) { order = append(order, name) }
	}
	runner := &byHand{}
	p := futures.New[int](runner, nil)
	f := p.Future()
	f.Then(note("first"))
	f.Then(note("second"))
	runner.onGo = func() {
		runner.onGo = nil
		f.Then(note("during the hand-over"))
		wantAnswer(t, f, 1, nil)
		if v, err := f.Wait(t.Context()); v != 1 || err != nil {
			t.Errorf("Wait during the hand-over = %d, %v; want 1", v, err)
		}
	}
	p.Settle(1, nil)
	f.Then(note("after"))
	runner.runAll()
	want := []string{"first", "second", "during the hand-over", "after"}
	if len(order) != len(want) {
		t.Fatalf("order = %q, want %q", order, want)
	}
	for i := range want {
		if order[i] != want[i] {
			t.Fatalf("order = %q, want %q", order, want)
		}
	}
}
