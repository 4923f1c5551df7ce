package flight

import (
	"context"
	"runtime"
	"testing"
)

// endsWithCall is a context that ends when the call has panicked, so that its caller finds both at once.
type endsWithCall struct {
	context.Context
	g    *Group
	open chan struct{}
}

func (e *endsWithCall) Done() <-chan struct{} {
	close(e.open)
	for e.g.Callers("key") > 0 {
		runtime.Gosched()
	}
	return e.open
}

func (e *endsWithCall) Err() error { return context.Canceled }

// A panic is told even if its only caller leaves in the same moment. Which of the two select takes is chance, so it has many turns.
func TestPanicWhileTheLastCallerLeaves(t *testing.T) {
	for range 64 {
		ctx := &endsWithCall{t.Context(), new(Group), make(chan struct{})}
		func() {
			defer func() {
				if p, _ := recover().(*panicError); p == nil || p.value != "no page" {
					t.Fatalf("the caller recovered %v, want the panic of fn", p)
				}
			}()
			_, _, err := ctx.g.local.do(ctx, "key", func(context.Context) ([]byte, bool, error) { <-ctx.open; panic("no page") })
			t.Errorf("the caller got %v", err)
		}()
	}
}
