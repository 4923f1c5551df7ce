package wheelotel

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
)

// Tracer takes locks and makes spans of that. A request is the span "wheellock.wait", from the call to the grant or the error. What
// was granted is the span "wheellock.hold", until the hold has ended; a child of it, "wheellock.unlock", is the release. The spans of wait
// and hold are children of the caller's span. Any goroutine may use it.
type Tracer struct{ tracer trace.Tracer }

// NewTracer returns a tracer. Nil: of otel's global TracerProvider.
func NewTracer(provider trace.TracerProvider) *Tracer {
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	return &Tracer{provider.Tracer(scope)}
}

// Lock is l.Lock with spans.
func (t *Tracer) Lock(ctx context.Context, l engine.Locker, opts ...engine.LockOption) (*Hold, error) {
	return t.request(ctx, l).wait(l.Lock(ctx, opts...))
}

// TryLock is l.TryLock with spans. That another owner has the lock is no error of the span.
func (t *Tracer) TryLock(ctx context.Context, l engine.Locker, opts ...engine.LockOption) (*Hold, error) {
	return t.request(ctx, l).wait(l.TryLock(ctx, opts...))
}

// LockAsync is l.LockAsync with spans. Callbacks of the future get goroutines of their own.
func (t *Tracer) LockAsync(ctx context.Context, l engine.Locker, opts ...engine.LockOption) *futures.Future[*Hold] {
	return t.request(ctx, l).async(l.LockAsync(ctx, opts...))
}

// TryLockAsync is l.TryLockAsync with spans. Callbacks of the future get goroutines of their own.
func (t *Tracer) TryLockAsync(ctx context.Context, l engine.Locker, opts ...engine.LockOption) *futures.Future[*Hold] {
	return t.request(ctx, l).async(l.TryLockAsync(ctx, opts...))
}

// Acquire is p.Acquire with spans.
func (t *Tracer) Acquire(ctx context.Context, p *engine.PermitSemaphore, n int, opts ...engine.LockOption) (*Hold, error) {
	return t.request(ctx, permits{p}).wait(p.Acquire(ctx, n, opts...))
}

// TryAcquire is p.TryAcquire with spans. That too few permits are free is no error of the span.
func (t *Tracer) TryAcquire(ctx context.Context, p *engine.PermitSemaphore, n int, opts ...engine.LockOption) (*Hold, error) {
	return t.request(ctx, permits{p}).wait(p.TryAcquire(ctx, n, opts...))
}

// lock is what a span says of a lock.
type lock interface {
	Name() string
	Kind() engine.Kind
}

type permits struct{ *engine.PermitSemaphore }

func (permits) Kind() engine.Kind { return engine.KindPermits }

// request is a call for a lock.
type request struct {
	t     *Tracer
	ctx   context.Context // of the caller
	span  trace.Span
	about trace.SpanStartEventOption // the name and the kind of the lock
}

func (t *Tracer) request(ctx context.Context, l lock) *request {
	about := trace.WithAttributes(nameKey.String(valid(l.Name())), kindKey.String(string(l.Kind())))
	_, span := t.tracer.Start(ctx, "wheellock.wait", about)
	return &request{t, ctx, span, about}
}

// wait ends the request with the answer. If a span processor panics, nobody gets the hold, so it is unlocked.
func (r *request) wait(h *engine.Hold, err error) (traced *Hold, _ error) {
	defer func() {
		if traced == nil && h != nil {
			h.UnlockAsync()
		}
	}()
	outcome := "granted"
	if err != nil {
		outcome = engine.Failure{Err: err}.Outcome()
	}
	end(r.span, outcome, err)
	if err != nil {
		return nil, err
	}
	return r.hold(h), nil
}

// async returns a future for the hold that f gets. Who cancels it when f has been granted already does not get the hold, so
// it is unlocked.
func (r *request) async(f *futures.Future[*engine.Hold]) *futures.Future[*Hold] {
	p := futures.New[*Hold](nil, canceler{f})
	f.Then(func(granted *engine.Hold, answer error) {
		h, err := (*Hold)(nil), errPanicked
		defer func() {
			if !p.Settle(h, err) && h != nil {
				h.UnlockAsync()
			}
		}()
		h, err = r.wait(granted, answer)
	})
	return p.Future()
}

// errPanicked is the error of a future whose span could not be ended; the panic itself goes to the engine's log.
var errPanicked = errors.New("wheelotel: a span processor panicked")

// canceler cancels a future when one that was made of it is cancelled.
type canceler struct{ f *futures.Future[*engine.Hold] }

func (c canceler) Cancelled() { c.f.Cancel() }

// end ends a span with how it went.
func end(span trace.Span, outcome string, err error) {
	if span.IsRecording() {
		span.SetAttributes(outcomeKey.String(outcome))
		if err != nil && outcome != "held" && outcome != "canceled" {
			if text := err.Error(); !utf8.ValidString(text) { // as the words of a server or of a context's cause may be
				err = errors.New(valid(text))
			}
			span.RecordError(err)
			span.SetStatus(codes.Error, outcome)
		}
	}
	span.End()
}

// valid makes a string UTF-8: exporters refuse all spans of a batch for one string that is not.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
