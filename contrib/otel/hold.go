package wheelotel

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
)

// Hold is an engine.Hold with a span, which ends when the hold has ended, also by Hold.Hold. If the lock was lost, the span is
// an error with the cause, and it ends at the time of the loss.
type Hold struct {
	*engine.Hold
	t    *Tracer
	span trace.Span
	stop func() bool // ends the watch over the end of the hold; false: that has begun
}

// hold begins the span of a hold. A hold whose span is not recorded costs no more than a Hold.
func (r *request) hold(granted *engine.Hold) *Hold {
	h := &Hold{Hold: granted, t: r.t, stop: func() bool { return true }}
	_, h.span = r.t.tracer.Start(r.ctx, "wheellock.hold", r.about)
	if !h.span.IsRecording() {
		return h
	}
	h.span.SetAttributes(ownerKey.String(granted.TenureID()))
	if token, fenced := granted.Token(); fenced {
		h.span.SetAttributes(tokenKey.Int64(token))
	}
	// A context of package context costs no goroutine until it ends.
	h.stop = context.AfterFunc(granted.Context(context.Background()), h.ended)
	return h
}

// ended ends the span of a hold that has ended.
func (h *Hold) ended() {
	err := h.Hold.Err()
	outcome := engine.End{Err: err}.Outcome()
	if outcome == "unlocked" {
		err = nil
	}
	end(h.span, outcome, err)
}

// Span returns the span of the hold, for attributes, events and links of the caller.
func (h *Hold) Span() trace.Span { return h.span }

// Context is Hold.Context of the engine with the span of the hold as the current span.
func (h *Hold) Context(parent context.Context) context.Context {
	return trace.ContextWithSpan(h.Hold.Context(parent), h.span)
}

// Unlock is Hold.Unlock of the engine, as a child of the span of the hold.
func (h *Hold) Unlock(ctx context.Context) error {
	unlock := h.unlocking(ctx)
	err := h.Hold.Unlock(ctx)
	unlock(err)
	return err
}

// UnlockAsync is Hold.UnlockAsync of the engine, as a child of the span of the hold.
func (h *Hold) UnlockAsync() *futures.Future[struct{}] {
	unlock := h.unlocking(context.Background())
	return h.Hold.UnlockAsync().Then(func(_ struct{}, err error) { unlock(err) })
}

// unlocking begins the span of a release, and returns what ends it with its answer. The span of the hold ends after it; if the
// hold has ended before, it has ended already. If a span processor panics, the lock is released all the same.
func (h *Hold) unlocking(ctx context.Context) (answered func(error)) {
	defer func() {
		if answered == nil {
			h.Hold.UnlockAsync()
		}
	}()
	owner := h.stop()
	_, span := h.t.tracer.Start(trace.ContextWithSpan(ctx, h.span), "wheellock.unlock")
	return func(err error) {
		outcome := "unlocked"
		if err != nil {
			outcome = engine.End{Err: err}.Outcome()
		}
		if outcome == "failed" { // no error of a hold, but of Redis
			outcome = engine.Failure{Err: err}.Outcome()
		}
		end(span, outcome, err)
		if owner {
			h.ended()
		}
	}
}
