package engine_test

import (
	"context"
	"fmt"
	"go/ast"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit"
)

// specForgotten is spec for an engine that tells of forgotten holds. next waits until it tells of one; no other may be told.
func specForgotten(on engine.OnForgotten, test func(b *bubble, next func() engine.Forgotten)) func(*testing.T) {
	return spec(engine.Options{}, func(b *bubble) {
		told := make(chan engine.Forgotten, 10)
		b.Engine = b.another(engine.Options{OnForgotten: on, Observer: &engine.Observer{Forgotten: func(f engine.Forgotten) { told <- f }}})
		test(b, func() engine.Forgotten {
			for {
				runtime.GC()
				time.Sleep(10 * time.Second) // a third of the lease
				synctest.Wait()
				select {
				case f := <-told:
					return f
				default:
				}
			}
		})
		if len(told) > 0 {
			b.Errorf("besides: %+v", <-told)
		}
	})
}

// invariant: no-release-by-collector
func TestSpecForgotten(t *testing.T) {
	t.Parallel()
	t.Run("is told once, with the place of the call, and stays held", specForgotten(engine.TellForgotten, func(b *bubble, next func() engine.Forgotten) {
		_, file, line, _ := runtime.Caller(0)
		hold, err := b.Mutex("stock:7").Lock(b.Context())
		b.wantNil("Lock", err)
		done := hold.Done()
		b.unlock(b.lock(b.Mutex("stock:8")))
		f := next()
		if want := (engine.Forgotten{Name: "stock:7", Kind: engine.KindMutex, Held: f.Held, Where: fmt.Sprintf("%s:%d", file, line+1)}); f != want || f.Held < 10*time.Second {
			b.Errorf("told %+v, want %+v", f, want)
		}
		for range 3 {
			collect()
			time.Sleep(time.Minute)
		}
		if n := b.Stats().Forgotten; n != 1 || isClosed(done) {
			b.Errorf("Stats().Forgotten = %d, ended %t; want one that is held", n, isClosed(done))
		}
		b.wantIs("TryLock", testkit.ResultOf(b.Mutex("stock:7").TryLock(b.Context())), engine.ErrHeld)
	}))
	t.Run("of every kind and by every call, and is released", specForgotten(engine.ReleaseForgotten, func(b *bubble, next func() engine.Forgotten) {
		for _, l := range renewed(b) {
			for call, lock := range map[string]func() (*engine.Hold, error){
				"Lock":         func() (*engine.Hold, error) { return l.Lock(b.Context()) },
				"TryLock":      func() (*engine.Hold, error) { return l.TryLock(context.Background()) },
				"LockAsync":    func() (*engine.Hold, error) { return l.LockAsync(b.Context()).Wait(b.Context()) },
				"TryLockAsync": func() (*engine.Hold, error) { return l.TryLockAsync(context.Background()).Wait(b.Context()) },
			} {
				b.wantNil(call, testkit.ResultOf(lock()))
				waiter := b.queue(l)
				f := next()
				if f.Name != l.Name() || f.Kind != l.Kind() || !strings.Contains(f.Where, "spec_forgotten_test.go:") {
					b.Errorf("%s of %s %q: told %+v", call, l.Kind(), l.Name(), f)
				}
				b.unlock(waiter.granted())
			}
		}
	}))
	t.Run("but not while it can be unlocked, is in use, or has ended", specForgotten(engine.TellForgotten, func(b *bubble, next func() engine.Forgotten) {
		var kept []any
		keep := func(v any) { kept = append(kept, v) }
		keep(b.lock(b.Mutex("Hold")))
		keep(b.Mutex("future").LockAsync(b.Context()))
		keep(b.lock(b.Mutex("context")).Context(b.Context()))
		keep(b.lock(b.Mutex("endless context")).Context(context.Background()))
		child, stop := context.WithCancel(b.lock(b.Mutex("child of a context")).Context(b.Context()))
		defer stop()
		keep(child)
		context.AfterFunc(b.lock(b.Mutex("what waits for a context")).Context(b.Context()), func() {})
		permits := b.lock(b.Limit("ids", 1)).PermitIDs()
		b.lock(b.Mutex("fixed lease"), engine.WithLease(time.Hour))
		b.unlock(b.lock(b.Mutex("unlocked")))
		b.wantNil("Detach", testkit.ResultOf(b.lock(b.Mutex("detached")).Detach(b.Context(), time.Hour)))
		b.wantNil("Do", engine.Do(b.Context(), b.Mutex("Do"), func(ctx context.Context, _ *engine.Hold) error {
			for range 3 {
				collect()
				time.Sleep(10 * time.Second)
			}
			return ctx.Err()
		}))
		owner := engine.WithOwner(engine.NewOwner())
		keep(b.lock(b.Mutex("twice"), owner))
		b.lock(b.Mutex("twice"), owner)
		if f := next(); f.Name != "twice" {
			b.Errorf("told %+v", f)
		}
		time.Sleep(manyLeases)
		synctest.Wait()
		b.wantNil("Release", b.PermitSemaphore("ids").Release(b.Context(), permits...))
		runtime.KeepAlive(kept)
	}))
	t.Run("also while somebody waits for a channel alone", specForgotten(engine.TellForgotten, func(b *bubble, next func() engine.Forgotten) {
		for name, channel := range map[string]func(h *engine.Hold) <-chan struct{}{
			"Done":              (*engine.Hold).Done,
			"Wanted":            (*engine.Hold).Wanted,
			"Done of a context": func(h *engine.Hold) <-chan struct{} { return h.Context(b.Context()).Done() },
		} {
			channel := channel(b.lock(b.Mutex(name)))
			if f := next(); f.Name != name || isClosed(channel) {
				b.Errorf("told %+v, ended %t", f, isClosed(channel))
			}
		}
	}))
	t.Run("nor if Close has ended it", specForgotten(engine.ReleaseForgotten, func(b *bubble, _ func() engine.Forgotten) {
		b.lock(b.Mutex("stock:7"))
		collect()
		b.wantNil("Close", b.Close())
		time.Sleep(manyLeases)
		synctest.Wait()
	}))
	t.Run("is released also while the Observer waits for it", spec(engine.Options{}, func(b *bubble) {
		var e *engine.Engine
		got := make(chan error, 1)
		e = b.another(engine.Options{OnForgotten: engine.ReleaseForgotten, Observer: &engine.Observer{Forgotten: func(f engine.Forgotten) {
			got <- engine.Do(b.Context(), e.Mutex(f.Name), func(context.Context, *engine.Hold) error { return nil })
		}}})
		b.lock(e.Mutex("stock:7"))
		for range 6 {
			collect()
			time.Sleep(10 * time.Second)
			synctest.Wait()
		}
		if len(got) == 0 {
			b.Fatal("it waits for ever")
		}
		b.wantNil("Do in Forgotten", <-got)
	}))
	t.Run("is logged", specLogged(engine.Options{OnForgotten: engine.ReleaseForgotten}, func(b *bubble, log *lockedLog) {
		b.lock(b.FencedMutex("stock 7"))
		for b.Stats().Held > 0 {
			runtime.GC()
			time.Sleep(10 * time.Second)
			synctest.Wait()
		}
		text := log.read()
		testkit.Mentions(b, fmt.Errorf("%s", text), `level=WARN msg="wheellock: a lock was forgotten" name="stock 7" kind=fenced held=`)
		testkit.Mentions(b, fmt.Errorf("%s", text), "spec_test.go:")
	}))
}

// An exported method of Hold works on the Hold that the engine knows: it begins with inner, or calls other exported methods alone.
func TestEveryMethodOfHoldFindsTheInnerOne(t *testing.T) {
	t.Parallel()
	methods := 0
	for _, file := range parse(t, ".") {
		for _, decl := range file.Decls {
			f, is := decl.(*ast.FuncDecl)
			if !is || f.Recv == nil || !f.Name.IsExported() {
				continue
			}
			if at, is := f.Recv.List[0].Type.(*ast.StarExpr); !is || fmt.Sprint(at.X) != "Hold" {
				continue
			}
			methods++
			finds, own := false, 0
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if of, is := n.(*ast.SelectorExpr); is && fmt.Sprint(of.X) == f.Recv.List[0].Names[0].Name {
					finds = finds || of.Sel.Name == "inner"
					if !of.Sel.IsExported() {
						own++
					}
				}
				return true
			})
			if !finds && own > 0 {
				t.Errorf("Hold.%s does not begin with h = h.inner()", f.Name.Name)
			}
		}
	}
	if methods < 15 {
		t.Errorf("only %d methods were found", methods)
	}
}
