package elect

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// standBack is how long a process waits after a term before it campaigns again, so that another one gets its turn.
const standBack = 500 * time.Millisecond

// Run campaigns, and calls lead whenever this process leads, with the term. It goes on, term after term, until ctx ends
// or lead fails. Then it gives the name back and returns. Before it campaigns again it lets others come first, for half
// a second.
//
// lead runs on the goroutine of Run. It leads until it returns or until its context ends, and should then return soon.
// context.Cause says why it ended: [ErrResigned], [engine.ErrLost] or one of its kind, or the cause of ctx. Unless the
// lock was lost, the name is free only after lead has returned, so that the work of two terms does not overlap. A lead
// that does not return keeps the name; ForceUnlock of the election's FencedMutex takes it away, as soon as the context
// of lead has ended.
//
//   - lead returns nil: the process gives the leadership up, and campaigns again.
//   - lead returns an error before its context ended: the process gives the leadership up, and Run returns that error.
//   - lead returns after its context ended: Run campaigns again. The error only goes to [Options].Logger.
//   - lead panics: the leadership is given up, and the panic goes on.
//
// When ctx ends Run returns an error that Is ctx.Err() and context.Cause(ctx), joined with lead's, if lead was running
// and its error is another one. The other errors are [engine.ErrInvalid], also if Run of this Election is running
// already; [engine.ErrRefused] for a reason that does not pass; [engine.ErrForeignKey]; and [engine.ErrClosed].
func (e *Election) Run(ctx context.Context, lead func(ctx context.Context, term int64) error) error {
	if err := e.begin(lead == nil); err != nil {
		return e.failed(err)
	}
	defer e.finish()
	for {
		again, err := e.campaign(ctx, lead)
		if !again {
			return err
		}
		if err != nil {
			e.opts.Logger.Warn("wheellock: campaigns again", "election", e.name, "error", err)
		}
		wait(ctx, nil, standBack)
	}
}

// begin checks that Run may run.
func (e *Election) begin(withoutLead bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.wrong != nil:
		return e.wrong
	case withoutLead:
		return invalid("lead is nil")
	case e.running:
		return invalid("Run is running already: use an Election for each candidate")
	}
	e.running = true
	return nil
}

func (e *Election) finish() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = false
}

// campaign waits for one term and leads. again: Run goes on after err.
func (e *Election) campaign(ctx context.Context, lead func(context.Context, int64) error) (again bool, err error) {
	defer e.set(nil)
	t, passes, err := e.win(ctx)
	switch {
	case passes && ctx.Err() != nil: // while the name was given back, perhaps: err tells of that
		return false, e.failed(endedBy(ctx))
	case err != nil:
		return passes, err
	}
	defer func() { // also if lead panics
		e.opts.Logger.Info("wheellock: leads no more", "election", e.name, "term", t.number, "cause", context.Cause(t.ctx))
	}()
	led, err := t.run(func(ctx context.Context, term int64) error {
		e.opts.Logger.Info("wheellock: leads", "election", e.name, "term", term) // if it panics, the name is given back
		return lead(ctx, term)
	})
	if led {
		return err == nil, err
	}
	if errors.Is(err, t.ctx.Err()) || errors.Is(err, context.Cause(t.ctx)) {
		err = nil // lead says no more than that its context ended
	}
	if ctx.Err() == nil {
		return true, err
	}
	return false, errors.Join(e.failed(endedBy(ctx)), err)
}

// endedBy returns the error of a context that has ended: it Is both its Err and its Cause.
func endedBy(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

func (e *Election) set(t *term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = t
}

// Resign ends the leadership of this process. The context of lead ends first, with [ErrResigned]; when lead has
// returned, the name is freed. Nil means that it is free, or that this process did not lead. Run goes on: it lets others
// come first, and campaigns again. To leave for good, end the context of Run.
//
// Whatever Resign returns, the leadership ends, and Resign may be repeated. The errors are:
//
//   - [engine.ErrUncertain] if the answer of Redis did not come within a second: the engine goes on releasing until the
//     lease has run out.
//   - [engine.ErrLost] if the leadership was lost while lead ran: after an outage, Redis may keep the name for a lease more.
//   - ctx.Err() and context.Cause(ctx) if ctx ended before: the name is freed when lead has returned.
//
// Inside lead, return nil instead. Resign with the context of lead, or with a child of it, does not wait for lead.
func (e *Election) Resign(ctx context.Context) error {
	if e.wrong != nil {
		return e.failed(e.wrong)
	}
	e.mu.Lock()
	t := e.term
	e.mu.Unlock()
	if t == nil {
		return nil
	}
	inside := ctx.Value(termKey{e}) == t
	t.end(ErrResigned)
	_ = t.ctx.Err() // ends it now
	if inside {
		return nil
	}
	select {
	case <-t.over:
		return t.err
	case <-ctx.Done():
		return e.failed(fmt.Errorf("resign: %w", endedBy(ctx)))
	}
}
