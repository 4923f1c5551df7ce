package futures_test

import (
	"context"
	"errors"
	"testing"

	"github.com/wheellock/wheellock/futures"
)

var errTaken = errors.New("taken")

// invariant: answered-once
func TestOneCallDecides(t *testing.T) {
	settle := func(v int, err error) func(*futures.Promise[int]) bool {
		return func(p *futures.Promise[int]) bool { return p.Settle(v, err) }
	}
	cancel := func(p *futures.Promise[int]) bool { return p.Future().Cancel() }
	for _, test := range []struct {
		name          string
		first, second func(*futures.Promise[int]) bool
		value         int
		err           error
		cancelled     countCancels
	}{
		{"settle, settle", settle(1, nil), settle(2, nil), 1, nil, 0},
		{"settle with an error, settle", settle(0, errTaken), settle(2, nil), 0, errTaken, 0},
		{"settle with both, settle", settle(1, errTaken), settle(2, nil), 1, errTaken, 0},
		{"settle, cancel", settle(1, nil), cancel, 1, nil, 0},
		{"cancel, settle", cancel, settle(2, nil), 0, context.Canceled, 1},
		{"cancel, cancel", cancel, cancel, 0, context.Canceled, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var cancelled countCancels
			p := futures.New[int](&byHand{}, &cancelled)
			f := p.Future()
			wantAnswer(t, f, 0, futures.ErrPending)
			if p.Settled() {
				t.Error("Settled before any call")
			}
			if !test.first(p) {
				t.Error("first call did not decide")
			}
			if test.second(p) {
				t.Error("second call decided again")
			}
			if !p.Settled() {
				t.Error("not Settled after two calls")
			}
			wantAnswer(t, f, test.value, test.err)
			if cancelled != test.cancelled {
				t.Errorf("Canceler told %d times, want %d", cancelled, test.cancelled)
			}
		})
	}
}

func TestPromiseInsideARecord(t *testing.T) {
	var record struct {
		name    string
		promise futures.Promise[string]
	}
	runner := &byHand{}
	record.promise.Init(runner, nil)
	f := record.promise.Future()
	if f != record.promise.Future() {
		t.Error("Future returned two pointers")
	}
	f.Then(func(name string, _ error) { record.name = name })
	record.promise.Settle("stock:7", nil)
	runner.runAll()
	if record.name != "stock:7" {
		t.Errorf("callback saw %q", record.name)
	}
}

func TestZeroPromiseIsReady(t *testing.T) {
	var p futures.Promise[int]
	doubled := futures.Map(p.Future(), func(v int, err error) (int, error) { return 2 * v, err })
	p.Settle(21, nil)
	if v, err := doubled.Wait(t.Context()); v != 42 || err != nil {
		t.Errorf("answer = %d, %v; want 42", v, err)
	}
	if p.Future().Cancel() {
		t.Error("Cancel after the answer returned true")
	}
}

// A cancelled future has told its waiters before its Canceler hears of it.
func TestCancelTellsTheCancelerLast(t *testing.T) {
	runner := &byHand{}
	var p futures.Promise[int]
	told := false
	p.Init(runner, cancelerFunc(func() {
		told = true
		wantAnswer(t, p.Future(), 0, context.Canceled)
		if len(runner.tasks) != 1 {
			t.Errorf("callbacks handed over = %d, want 1", len(runner.tasks))
		}
	}))
	p.Future().Then(func(int, error) {})
	p.Future().Cancel()
	if !told {
		t.Error("Canceler not told")
	}
	runner.runAll()
}

type cancelerFunc func()

func (c cancelerFunc) Cancelled() { c() }
