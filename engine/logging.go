package engine

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"go.uber.org/atomic"
)

// relay separates the engine from the handler of Options.Logger. The handler is the user's code: it may be slow, block, or
// call the engine, and the loop must not wait for it (invariant: loop-never-waits). A backlog passes records to the handler in order, and
// asks before whether the handler wants a record.
type relay struct {
	handler slog.Handler
	steps   backlog[relayed]
	dropped atomic.Int64 // records, since the last that waits: there were too many
}

// relayed passes on a record, or does what is to be done when those before it were passed on.
type relayed func()

func (r relayed) run() { r() }

const (
	// mostRelayed is how many records wait at most. More are dropped, and counted.
	mostRelayed = 1024
	// relayTime bounds how long Close waits for the handler.
	relayTime = 100 * time.Millisecond
)

// relayTo makes the logger of an engine. Nothing is relayed to a handler that discards all.
func relayTo(logger *slog.Logger) (*slog.Logger, *relay) {
	r := &relay{handler: logger.Handler()}
	if r.handler == slog.DiscardHandler {
		return logger, r
	}
	return slog.New(&relayHandler{relay: r}), r
}

// relayHandler is the slog.Handler of a relay. The attributes and groups of a logger made from it are remembered, for
// the handler's own methods must not run here either.
type relayHandler struct {
	relay  *relay
	within []func(slog.Handler) slog.Handler
}

// Enabled is always true: the goroutine asks the handler later.
func (r *relayHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle does not block. It has the record passed on, or counts it as dropped: the line about those that were dropped takes the place of
// the first of them.
func (r *relayHandler) Handle(ctx context.Context, record slog.Record) error {
	to := r.relay
	if to.steps.len() < mostRelayed {
		record = record.Clone()
		to.steps.put(func() { to.forward(ctx, r.within, record) })
	} else if to.dropped.Inc() == 1 {
		to.steps.put(to.noteDropped)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (r *relayHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return r.with(func(to slog.Handler) slog.Handler { return to.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (r *relayHandler) WithGroup(name string) slog.Handler {
	return r.with(func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
}

func (r *relayHandler) with(wrap func(slog.Handler) slog.Handler) slog.Handler {
	return &relayHandler{r.relay, append(slices.Clip(r.within), wrap)}
}

func (r *relay) forward(ctx context.Context, within []func(slog.Handler) slog.Handler, record slog.Record) {
	to := r.handler
	for _, wrap := range within {
		to = wrap(to)
	}
	if to.Enabled(ctx, record.Level) {
		_ = to.Handle(ctx, record) // nobody could be told of its error
	}
}

func (r *relay) noteDropped() {
	notice := slog.NewRecord(time.Now(), slog.LevelWarn, "wheellock: log records were dropped, for the log handler is slow", 0)
	notice.AddAttrs(slog.Int64("records", r.dropped.Swap(0)))
	r.forward(context.Background(), nil, notice)
}

// flush waits until everything is passed on, for relayTime at most: a handler that blocks for ever keeps nobody.
func (r *relay) flush() {
	passed := make(chan struct{})
	r.steps.put(func() { close(passed) })
	select {
	case <-passed:
	case <-time.After(relayTime):
	}
}
