package wheelotel_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"

	wheelotel "github.com/wheellock/wheellock/contrib/otel"
)

// world is an engine on a real server, a tracer whose spans are kept, and a caller with a span of its own.
type world struct {
	*testing.T
	*engine.Engine
	*wheelotel.Tracer
	spans    *tracetest.SpanRecorder
	provider *sdk.TracerProvider
	ctx      context.Context
	caller   trace.Span
	user     trace.Tracer
}

func newWorld(t *testing.T, opts ...sdk.TracerProviderOption) *world {
	w := &world{T: t, Engine: testkit.Connect(t, redistest.Start(t).Addr()), spans: tracetest.NewSpanRecorder()}
	w.provider = sdk.NewTracerProvider(append(opts, sdk.WithSpanProcessor(w.spans))...)
	w.Tracer, w.user = wheelotel.NewTracer(w.provider), w.provider.Tracer("user")
	w.ctx, w.caller = w.user.Start(testkit.Soon(t), "caller")
	return w
}

// span returns the only span of a name that has ended, once it has. Its parent must be that.
func (w *world) span(name string, parent trace.SpanContext) sdk.ReadOnlySpan {
	w.Helper()
	var found []sdk.ReadOnlySpan
	redistest.Await(w, "the end of "+name, func() bool {
		found = nil
		for _, s := range w.spans.Ended() {
			if s.Name() == name {
				found = append(found, s)
			}
		}
		return len(found) > 0
	})
	if len(found) != 1 {
		w.Fatalf("%d spans %s", len(found), name)
	}
	if s := found[0]; s.Parent().SpanID() != parent.SpanID() || s.SpanContext().TraceID() != w.caller.SpanContext().TraceID() {
		w.Errorf("%s is not a child of the right span", name)
	}
	return found[0]
}

// wants checks how a span ended, and whether it has an exception.
func (w *world) wants(s sdk.ReadOnlySpan, outcome string, status codes.Code, exception string) {
	w.Helper()
	if got := attributeOf(s.Attributes(), "wheellock.outcome"); got != outcome || s.Status().Code != status {
		w.Errorf("%s: outcome %s, status %v; want %s, %v", s.Name(), got, s.Status(), outcome, status)
	}
	var got string
	for _, e := range s.Events() {
		got += attributeOf(e.Attributes, "exception.message")
	}
	if (exception == "") != (got == "") || !strings.Contains(got, exception) {
		w.Errorf("%s: exception %q, want %q", s.Name(), got, exception)
	}
}

func attributeOf(all []attribute.KeyValue, key attribute.Key) string {
	for _, a := range all {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// One trace shows the wait, the hold, the work in it, and the unlock.
func TestATraceOfALock(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]func(*world, engine.Locker) (*wheelotel.Hold, error){
		"Lock":    func(w *world, l engine.Locker) (*wheelotel.Hold, error) { return w.Lock(w.ctx, l) },
		"TryLock": func(w *world, l engine.Locker) (*wheelotel.Hold, error) { return w.TryLock(w.ctx, l) },
		"LockAsync": func(w *world, l engine.Locker) (*wheelotel.Hold, error) {
			return w.LockAsync(w.ctx, l).Wait(w.ctx)
		},
		"TryLockAsync": func(w *world, l engine.Locker) (*wheelotel.Hold, error) {
			return w.TryLockAsync(w.ctx, l).Wait(w.ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			h, err := lock(w, w.FencedMutex("stock:7"))
			testkit.Must(t, err)
			_, work := w.user.Start(h.Context(w.ctx), "work")
			work.End()
			if strings.HasSuffix(name, "Async") {
				_, err = h.UnlockAsync().Wait(w.ctx)
			} else {
				err = h.Unlock(w.ctx)
			}
			testkit.Must(t, err)
			wait, hold := w.span("wheellock.wait", w.caller.SpanContext()), w.span("wheellock.hold", w.caller.SpanContext())
			unlock := w.span("wheellock.unlock", hold.SpanContext())
			w.span("work", hold.SpanContext())
			w.wants(wait, "granted", codes.Unset, "")
			w.wants(hold, "unlocked", codes.Unset, "")
			w.wants(unlock, "unlocked", codes.Unset, "")
			if hold.StartTime().Before(wait.EndTime()) || unlock.StartTime().Before(hold.StartTime()) || hold.EndTime().Before(unlock.EndTime()) {
				t.Error("the spans are not in order")
			}
			for _, s := range []sdk.ReadOnlySpan{wait, hold} {
				if attributeOf(s.Attributes(), "wheellock.lock.name") != "stock:7" || attributeOf(s.Attributes(), "wheellock.lock.kind") != "fenced" {
					t.Errorf("%s: %v", s.Name(), s.Attributes())
				}
			}
			token, _ := h.Token()
			if got := attributeOf(hold.Attributes(), "wheellock.lock.token"); got != attribute.Int64("", token).Value.String() {
				t.Errorf("token %s, want %d", got, token)
			}
			if got := attributeOf(hold.Attributes(), "wheellock.lock.owner"); got != h.TenureID() {
				t.Errorf("owner %s, want %s", got, h.TenureID())
			}
		})
	}
}

// The span of a wait lasts as long as the wait.
func TestTheSpanOfAWaitLastsAsLongAsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	taken := testkit.MustLock(t, w.Mutex("a"))
	f := w.LockAsync(w.ctx, w.Mutex("a"))
	time.Sleep(20 * time.Millisecond) // sleeps: how long the wait lasts, at least
	testkit.MustUnlock(t, taken)
	h, err := f.Wait(w.ctx)
	testkit.Must(t, err)
	if wait := w.span("wheellock.wait", w.caller.SpanContext()); wait.EndTime().Sub(wait.StartTime()) < 20*time.Millisecond {
		t.Errorf("the span lasted %v", wait.EndTime().Sub(wait.StartTime()))
	}
	testkit.MustUnlock(t, h.Hold) // the engine's hold, beside the span
	w.wants(w.span("wheellock.hold", w.caller.SpanContext()), "unlocked", codes.Unset, "")
}

func TestTheSpanOfARefusal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call      func(w *world) error
		outcome   string
		status    codes.Code
		exception string
	}{
		"held":         {func(w *world) error { return testkit.ResultOf(w.TryLock(w.ctx, w.Mutex("a"))) }, "held", codes.Unset, ""},
		"wait_timeout": {func(w *world) error { return testkit.ResultOf(w.Lock(w.ctx, w.Mutex("a"), engine.WithWait(1))) }, "wait_timeout", codes.Error, "held by another owner"},
		"invalid":      {func(w *world) error { return testkit.ResultOf(w.Lock(w.ctx, w.Mutex(""))) }, "invalid", codes.Error, "invalid"},
		"canceled": {func(w *world) error {
			f := w.LockAsync(w.ctx, w.Mutex("a"))
			f.Cancel()
			return testkit.ResultOf(f.Result())
		}, "canceled", codes.Unset, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			testkit.MustLock(t, w.Mutex("a"))
			if err := c.call(w); err == nil || (engine.Failure{Err: err}).Outcome() != c.outcome {
				t.Fatalf("%v, want %s", err, c.outcome)
			}
			w.wants(w.span("wheellock.wait", w.caller.SpanContext()), c.outcome, c.status, c.exception)
		})
	}
}

// A lost lock is an error of its hold's span, with the cause, when it is lost; and its Unlock says so too.
func TestTheSpanOfALoss(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h, err := w.Lock(w.ctx, w.Mutex("a"), engine.WithLease(time.Second))
	testkit.Must(t, err)
	work := h.Context(w.ctx)
	hold := w.span("wheellock.hold", w.caller.SpanContext())
	w.wants(hold, "lost", codes.Error, "lost while held")
	if work.Err() == nil || trace.SpanFromContext(work) != h.Span() {
		t.Error("the context of the hold is not that of a lost hold")
	}
	if err := h.Unlock(w.ctx); !testkit.IsAny(err, engine.ErrLost) {
		t.Fatal(err)
	}
	w.wants(w.span("wheellock.unlock", hold.SpanContext()), "lost", codes.Error, "lost while held")
}

// The engine's Close ends the spans of its holds.
func TestTheSpanOfAHoldThatCloseEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.Lock(w.ctx, w.Mutex("a")); err != nil {
		t.Fatal(err)
	}
	w.Close()
	w.wants(w.span("wheellock.hold", w.caller.SpanContext()), "closed", codes.Error, "engine closed")
}

func TestPermitsAreTraced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.PermitSemaphore("p")
	if _, err := p.TrySetPermits(w.ctx, 1); err != nil {
		t.Fatal(err)
	}
	h, err := w.Acquire(w.ctx, p, 1)
	testkit.Must(t, err)
	if _, err := w.TryAcquire(w.ctx, p, 1); !testkit.IsAny(err, engine.ErrHeld) {
		t.Fatal(err)
	}
	testkit.Must(t, h.Unlock(w.ctx))
	if hold := w.span("wheellock.hold", w.caller.SpanContext()); attributeOf(hold.Attributes(), "wheellock.lock.kind") != "permits" {
		t.Errorf("%v", hold.Attributes())
	}
}

// Who cancels a future gets no hold, and nobody else has it: also when the grant and the cancellation meet.
func TestACancelledFutureLeavesNoLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 1000 {
		f := w.LockAsync(w.ctx, w.Mutex("a"))
		time.Sleep(time.Duration(i) * time.Microsecond / 4) // sleeps: so that the grant and the cancellation meet
		if !f.Cancel() {
			h, err := f.Wait(w.ctx) // it may be on its way
			testkit.Must(t, err)
			testkit.Must(t, h.Unlock(w.ctx))
		}
	}
	redistest.Await(t, "the lock to be free", func() bool { return w.Stats().Held == 0 && w.Stats().Waiting == 0 })
	testkit.MustUnlock(t, testkit.MustLock(t, w.Mutex("a")))
}

// failing is a span processor that panics when a wait ends, or when an unlock begins.
type failing struct{ sdk.SpanProcessor }

func (f failing) OnEnd(s sdk.ReadOnlySpan) {
	if s.Name() == "wheellock.wait" {
		panic("no room for spans")
	}
	f.SpanProcessor.OnEnd(s)
}

func (f failing) OnStart(ctx context.Context, s sdk.ReadWriteSpan) {
	if s.Name() == "wheellock.unlock" {
		panic("no room for spans")
	}
	f.SpanProcessor.OnStart(ctx, s)
}

// panics checks that a panic of a span processor reaches the caller.
func panics(t *testing.T, call func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("the panic did not reach the caller")
		}
	}()
	call()
}

// A span processor that panics leaves no lock that nobody has, and no future without an answer.
func TestAPanicOfASpanProcessorLeavesNoLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var held []*wheelotel.Hold
	for _, name := range []string{"c", "d"} {
		h, err := w.Lock(w.ctx, w.Mutex(name))
		testkit.Must(t, err)
		held = append(held, h)
	}
	w.provider.RegisterSpanProcessor(failing{tracetest.NewSpanRecorder()})
	panics(t, func() { _ = held[0].Unlock(w.ctx) })
	panics(t, func() { held[1].UnlockAsync() })
	panics(t, func() { _, _ = w.Lock(w.ctx, w.Mutex("a")) })
	if h, err := w.LockAsync(w.ctx, w.Mutex("b")).Wait(w.ctx); h != nil || err == nil || w.ctx.Err() != nil {
		t.Errorf("LockAsync = %v, %v", h, err)
	}
	redistest.Await(t, "the locks to be free", func() bool { return w.Stats().Held == 0 })
	for _, name := range []string{"a", "b", "c", "d"} {
		testkit.MustUnlock(t, testkit.MustLock(t, w.Mutex(name)))
	}
}

// A span that is not recorded changes nothing but that there is none. A name that is not UTF-8 is made so.
func TestWithoutRecording(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sdk.WithSampler(sdk.NeverSample()))
	h, err := w.Lock(w.ctx, w.Mutex("a"))
	testkit.Must(t, err)
	testkit.Must(t, h.Unlock(h.Context(w.ctx)))
	if err := h.Unlock(w.ctx); !testkit.IsAny(err, engine.ErrUnlocked) {
		t.Errorf("unlocked twice: %v", err)
	}
	if got := w.spans.Started(); len(got) != 0 {
		t.Errorf("%d spans", len(got))
	}
}

// Neither a name nor an error puts a string into a span that is not UTF-8: for that exporters would refuse the spans of others, too.
func TestWhatIsNotUTF8(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h, err := w.Lock(w.ctx, w.Mutex("a\xff"))
	testkit.Must(t, err)
	testkit.Must(t, h.Unlock(w.ctx))
	testkit.MustLock(t, w.Mutex("b"))
	over, cancel := context.WithTimeoutCause(w.ctx, time.Millisecond, errors.New("closing time of \xff"))
	defer cancel()
	if _, err := w.Lock(over, w.Mutex("b")); !testkit.IsAny(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	exceptions := 0
	for _, s := range w.spans.Ended() {
		all := s.Attributes()
		for _, e := range s.Events() {
			all, exceptions = append(all, e.Attributes...), exceptions+1
		}
		for _, a := range all {
			if !utf8.ValidString(a.Value.String()) {
				t.Errorf("%s: %s is %q", s.Name(), a.Key, a.Value.String())
			}
		}
	}
	if exceptions == 0 {
		t.Error("no error was recorded: the test proves less")
	}
}

// A hold with a span costs no goroutine.
func TestSpansCostNoGoroutine(t *testing.T) {
	w := newWorld(t)
	before := runtime.NumGoroutine()
	const holds = 500
	var held []*wheelotel.Hold
	for i := range holds {
		h, err := w.Lock(w.ctx, w.Mutex(testkit.Name24("a", i)))
		testkit.Must(t, err)
		held = append(held, h)
	}
	if now := runtime.NumGoroutine(); now > before+holds/10 {
		t.Errorf("%d goroutines before, %d with %d holds", before, now, holds)
	}
	for _, h := range held {
		testkit.Must(t, h.Unlock(w.ctx))
	}
}
