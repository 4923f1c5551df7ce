package engine

import (
	"context"
	"log/slog"
	"time"

	"go.uber.org/atomic"
)

// relay separates the engine from the handler of Options.Logger. The handler is the user's code: it may be slow, block, or
// call the engine, and the loop must not wait for it (invariant: loop-never-waits). A backlog passes records to the handler in order, and
// asks before whether the handler wants a record.
type relay struct {
	slog.Handler // the user's. WithAttrs and WithGroup are its own: the engine's loggers have neither
	steps        backlog[relayed]
	dropped      atomic.Int64 // records, since the last that waits: there were too many
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
	r := &relay{Handler: logger.Handler()}
	if r.discards() {
		return logger, r
	}
	return slog.New(r), r
}

func (r *relay) discards() bool { return r.Handler == slog.DiscardHandler }

// Enabled is always true: the goroutine asks the handler later.
func (r *relay) Enabled(context.Context, slog.Level) bool { return true }

// Handle does not block. It has the record passed on, or counts it as dropped: the line about those that were dropped takes the place of
// the first of them.
func (r *relay) Handle(ctx context.Context, record slog.Record) error {
	if r.steps.len() < mostRelayed {
		record = record.Clone()
		r.steps.put(func() { r.forward(ctx, record) })
	} else if r.dropped.Inc() == 1 {
		r.steps.put(r.noteDropped)
	}
	return nil
}

func (r *relay) forward(ctx context.Context, record slog.Record) {
	defer func() { _ = recover() }() // of a panic nobody could be told, as of an error
	if r.Handler.Enabled(ctx, record.Level) {
		_ = r.Handler.Handle(ctx, record)
	}
}

func (r *relay) noteDropped() {
	notice := slog.NewRecord(time.Now(), slog.LevelWarn, "wheellock: log records were dropped, for the log handler is slow", 0)
	notice.AddAttrs(slog.Int64("records", r.dropped.Swap(0)))
	r.forward(context.Background(), notice)
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
