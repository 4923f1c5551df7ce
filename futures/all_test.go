package futures_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/wheellock/wheellock/futures"
)

// atOnce runs callbacks on the goroutine that settles, so that they see the moment of it.
type atOnce struct{}

func (atOnce) Go(t futures.Task) { t.Run() }

// invariant: answered-once
func TestAll(t *testing.T) {
	promises := func(n int, c futures.Canceler) (ps []*futures.Promise[int], fs []*futures.Future[int]) {
		for range n {
			p := futures.New[int](atOnce{}, c)
			ps, fs = append(ps, p), append(fs, p.Future())
		}
		return ps, fs
	}
	t.Run("of nothing is an empty slice at once", func(t *testing.T) {
		values, err := futures.All[int]().Result()
		if values == nil || len(values) != 0 || err != nil {
			t.Errorf("All() = %#v, %v; want an empty slice", values, err)
		}
	})
	t.Run("waits for every one, in any order", func(t *testing.T) {
		ps, fs := promises(3, nil)
		all := futures.All(fs...)
		for _, i := range []int{2, 0, 1} {
			if _, err := all.Result(); err != futures.ErrPending {
				t.Fatalf("before the answer of %d: %v", i, err)
			}
			ps[i].Settle(i*10, nil)
		}
		values, err := all.Result()
		if !slices.Equal(values, []int{0, 10, 20}) || err != nil {
			t.Errorf("All = %v, %v", values, err)
		}
	})
	t.Run("has all values and errors when those who wait are told", func(t *testing.T) {
		ps, fs := promises(2, nil)
		all := futures.All(append(fs, futures.Settled(atOnce{}, 5, nil))...)
		told := false
		futures.All(all, futures.Settled(atOnce{}, []int(nil), nil)).Then(func(both [][]int, err error) {
			told = true
			if values := both[0]; !slices.Equal(values, []int{0, 10, 5}) || !errors.Is(err, errTaken) {
				t.Errorf("All = %v, %v when it was told", values, err)
			}
		})
		ps[0].Settle(0, errTaken)
		ps[1].Settle(10, nil)
		if !told {
			t.Error("nobody was told")
		}
	})
	t.Run("takes what is settled and the same future twice", func(t *testing.T) {
		ps, fs := promises(1, nil)
		all := futures.All(futures.Settled(nil, 1, nil), fs[0], fs[0])
		ps[0].Settle(2, nil)
		values, err := all.Result()
		if !slices.Equal(values, []int{1, 2, 2}) || err != nil {
			t.Errorf("All = %v, %v", values, err)
		}
	})
	t.Run("gives the values and the errors, in order", func(t *testing.T) {
		ps, fs := promises(3, nil)
		all := futures.All(fs...)
		last := errors.New("last")
		ps[2].Settle(0, last)
		ps[0].Settle(0, errTaken)
		ps[1].Settle(5, nil)
		values, err := all.Result()
		if !slices.Equal(values, []int{0, 5, 0}) {
			t.Errorf("values = %v", values)
		}
		if !errors.Is(err, errTaken) || !errors.Is(err, last) || err.Error() != "taken\nlast" {
			t.Errorf("err = %q, want both in order", err)
		}
	})
	t.Run("needs no Runner of its own", func(t *testing.T) {
		runner := &byHand{}
		p := futures.New[int](runner, nil)
		all := futures.All(p.Future())
		p.Settle(1, nil)
		if len(runner.tasks) != 0 {
			t.Error("the Runner was used")
		}
		all.Then(func([]int, error) {})
		if runner.runAll() != 1 {
			t.Error("callbacks on All do not use the Runner of the first future")
		}
	})
	t.Run("cancels every one", func(t *testing.T) {
		var cancelled countCancels
		ps, fs := promises(3, &cancelled)
		all := futures.All(fs...)
		fs[1] = nil // the slice is the caller's again
		ps[0].Settle(1, nil)
		if !all.Cancel() || cancelled != 2 {
			t.Errorf("Cancelers told = %d, want 2", cancelled)
		}
		if values, err := all.Result(); values != nil || err != context.Canceled {
			t.Errorf("All = %v, %v; want context.Canceled", values, err)
		}
	})
	t.Run("of very many is linear", func(t *testing.T) {
		ps, fs := promises(100_000, nil)
		all := futures.All(fs...)
		for i, p := range ps {
			p.Settle(i, fmt.Errorf("error %d", i))
		}
		values, err := all.Wait(t.Context())
		joined, ok := err.(interface{ Unwrap() []error })
		if len(values) != len(ps) || !ok || len(joined.Unwrap()) != len(ps) {
			t.Errorf("All of %d = %d values", len(ps), len(values))
		}
	})
}
