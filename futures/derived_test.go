package futures_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/wheellock/wheellock/futures"
)

func TestThen(t *testing.T) {
	t.Run("has the same answer, after fn returned", func(t *testing.T) {
		for _, err := range []error{nil, errTaken} {
			runner := &byHand{}
			p := futures.New[int](runner, nil)
			var after *futures.Future[int]
			calls := 0
			after = p.Future().Then(func(v int, e error) {
				calls++
				if v != 7 || e != err {
					t.Errorf("fn got %d, %v; want 7, %v", v, e, err)
				}
				wantAnswer(t, after, 0, futures.ErrPending)
			})
			p.Settle(7, err)
			wantAnswer(t, after, 0, futures.ErrPending)
			runner.runAll()
			wantAnswer(t, after, 7, err)
			if calls != 1 {
				t.Errorf("fn ran %d times", calls)
			}
		}
	})
	t.Run("fn may use futures freely", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p, other := futures.New[int](nil, nil), futures.New[int](nil, nil)
			f := p.Future()
			var inner *futures.Future[int]
			outer := f.Then(func(int, error) {
				f.Cancel()
				inner = f.Then(func(int, error) {})
				_, _ = inner.Wait(t.Context())
				_, _ = other.Future().Wait(t.Context())
			})
			p.Settle(7, nil)
			synctest.Wait()
			wantAnswer(t, outer, 0, futures.ErrPending)
			other.Settle(1, nil)
			synctest.Wait()
			wantAnswer(t, outer, 7, nil)
			wantAnswer(t, inner, 7, nil)
		})
	})
}

func TestMap(t *testing.T) {
	runner := &byHand{}
	toText := func(v int, err error) (string, error) { return strconv.Itoa(v), err }
	wantAnswerOf := func(err error, want string) {
		t.Helper()
		p := futures.New[int](runner, nil)
		text := futures.Map(p.Future(), toText)
		p.Settle(7, err)
		wantAnswer(t, text, "", futures.ErrPending)
		runner.runAll()
		wantAnswer(t, text, want, err)
	}
	wantAnswerOf(nil, "7")
	wantAnswerOf(errTaken, "7")

	t.Run("may turn an error into a value", func(t *testing.T) {
		f := futures.Map(futures.Settled(runner, 0, errTaken), func(int, error) (string, error) { return "spare", nil })
		runner.runAll()
		wantAnswer(t, f, "spare", nil)
	})
}

// What a callback that does not return leaves behind, for Then and for Map, with and without an error of
// the source.
func TestCallbackThatDoesNotReturn(t *testing.T) {
	for _, test := range []struct {
		name string
		stop func()
		is   error
		says string
	}{
		{"panic with a value", func() { panic("no luck") }, nil, "no luck"},
		{"panic with an error", func() { panic(io.ErrUnexpectedEOF) }, io.ErrUnexpectedEOF, "unexpected EOF"},
		{"panic of the runtime", func() { _ = any("text").(int) }, nil, "interface conversion"},
		{"Goexit", runtime.Goexit, futures.ErrGoexit, "Goexit"},
	} {
		for _, sourceErr := range []error{nil, errTaken} {
			t.Run(test.name, func(t *testing.T) {
				source := futures.Settled(futures.Runner(nil), 7, sourceErr)
				then := source.Then(func(int, error) { test.stop() })
				mapped := futures.Map(source, func(int, error) (int, error) { test.stop(); return 1, nil })

				thenValue, thenErr := then.Wait(t.Context())
				mapValue, mapErr := mapped.Wait(t.Context())
				if thenValue != 7 || mapValue != 0 {
					t.Errorf("values = %d, %d; want that of the source with Then, zero with Map", thenValue, mapValue)
				}
				for _, err := range []error{thenErr, mapErr} {
					if err == nil || !strings.Contains(err.Error(), test.says) {
						t.Errorf("err = %v, want one that says %q", err, test.says)
					}
					if test.is != nil && !errors.Is(err, test.is) {
						t.Errorf("err = %v, want one that Is %v", err, test.is)
					}
					if sourceErr != nil && !errors.Is(err, sourceErr) {
						t.Errorf("err = %v, want the error of the source in it", err)
					}
					var p *futures.PanicError
					ok := errors.As(err, &p)
					if goexit := test.is == futures.ErrGoexit; ok == goexit {
						t.Errorf("err = %v: PanicError in it is %v", err, ok)
					}
					if ok && !strings.Contains(string(p.Stack), "derived_test.go") {
						t.Errorf("stack does not lead to the callback:\n%s", p.Stack)
					}
				}
			})
		}
	}
}

func TestRunnerHearsOfPanics(t *testing.T) {
	runner := &byHand{}
	f := futures.Settled(runner, 7, nil).Then(func(int, error) { panic("no luck") })
	runner.runAll()
	if len(runner.panics) != 1 || runner.panics[0].Value != "no luck" {
		t.Fatalf("panics heard of: %v", runner.panics)
	}
	wantAnswer(t, f, 7, error(runner.panics[0]))
}

func TestCancelOfADerivedFuture(t *testing.T) {
	t.Run("is forwarded, and fn runs with the answer of the source", func(t *testing.T) {
		var cancelled countCancels
		runner := &byHand{}
		p := futures.New[int](runner, &cancelled)
		var got error
		last := futures.Map(
			p.Future().Then(func(_ int, err error) { got = err }),
			func(v int, err error) (string, error) { return "done", nil })
		if !last.Cancel() {
			t.Fatal("Cancel returned false")
		}
		wantAnswer(t, last, "", context.Canceled)
		wantAnswer(t, p.Future(), 0, context.Canceled)
		if cancelled != 1 {
			t.Errorf("Canceler told %d times, want 1", cancelled)
		}
		if n := runner.runAll(); n != 2 || got != context.Canceled {
			t.Errorf("callbacks run = %d, the first one with %v; want 2, context.Canceled", n, got)
		}
		wantAnswer(t, last, "", context.Canceled)
	})
	t.Run("comes too late for the source", func(t *testing.T) {
		var cancelled countCancels
		runner := &byHand{}
		p := futures.New[int](runner, &cancelled)
		got := 0
		then := p.Future().Then(func(v int, _ error) { got = v })
		p.Settle(7, nil)
		if !then.Cancel() {
			t.Error("Cancel before fn ran returned false")
		}
		runner.runAll()
		wantAnswer(t, then, 0, context.Canceled)
		if got != 7 || cancelled != 0 {
			t.Errorf("fn got %d, Canceler told %d times; want 7, 0", got, cancelled)
		}
	})
}

// What has done its work is let go of: a chain that grows for ever must not keep its beginning in memory.
func TestAnsweredFuturesLetGo(t *testing.T) {
	runner := &byHand{}
	type record struct{ _ *int }
	settled := func() (*futures.Promise[int], *futures.Future[int]) {
		p := futures.New[int](runner, nil)
		return p, p.Future()
	}
	for _, test := range []struct {
		name string
		make func() (kept any, gone func() bool)
	}{
		{"of the source of Then and Map", func() (any, func() bool) {
			p, f := settled()
			kept := f.Then(func(int, error) {})
			p.Settle(7, nil)
			return kept, isGone(p)
		}},
		{"of the sources of All", func() (any, func() bool) {
			p, f := settled()
			kept := futures.All(f)
			p.Settle(7, nil)
			return kept, isGone(p)
		}},
		{"of the callback", func() (any, func() bool) {
			p, f := settled()
			captured := new(record)
			kept := f.Then(func(int, error) { runtime.KeepAlive(captured) })
			p.Settle(7, nil)
			return kept, isGone(captured)
		}},
		{"of the callback of Map", func() (any, func() bool) {
			p, f := settled()
			captured := new(record)
			kept := futures.Map(f, func(v int, err error) (int, error) { runtime.KeepAlive(captured); return v, err })
			p.Settle(7, nil)
			return kept, isGone(captured)
		}},
		{"of the Canceler", func() (any, func() bool) {
			canceler := &struct{ cancelerFunc }{} // not so tiny that it shares its memory with others
			p := futures.New[int](runner, canceler)
			p.Settle(7, nil)
			return p.Future(), isGone(canceler)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			kept, gone := test.make()
			runner.runAll()
			runner.tasks = nil
			runtime.GC()
			if !gone() {
				t.Error("still in memory")
			}
			runtime.KeepAlive(kept)
		})
	}
}

func isGone[T any](p *T) func() bool {
	reference := weak.Make(p)
	return func() bool { return reference.Value() == nil }
}
