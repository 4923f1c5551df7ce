package engine

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// relay separates the engine from the handler of Options.Logger. The handler is the user's code: it may be slow, block, or
// call the engine, and the loop must not wait for it (invariant: loop-never-waits). Records wait in a queue. A goroutine, which
// lives while there are records, passes them to the handler in order. It also asks whether the handler wants a record.
type relay struct {
	handler slog.Handler

	mu      sync.Mutex // guards the rest
	queue   []relayed
	dropped int           // since the last record that was passed on: the queue was full
	running bool          // there is a goroutine
	idle    chan struct{} // closed when no record is left; nil until Close waits for that
}

// relayed is a queued record, with the attributes and groups of its logger.
type relayed struct {
	ctx    context.Context
	within []func(slog.Handler) slog.Handler
	record slog.Record
}

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

// Handle does not block.
func (r *relayHandler) Handle(ctx context.Context, record slog.Record) error {
	r.relay.put(relayed{ctx, r.within, record.Clone()})
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

func (r *relay) put(rec relayed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) >= mostRelayed {
		r.dropped++
		return
	}
	r.queue = append(r.queue, rec)
	if !r.running {
		r.running = true
		go r.run()
	}
}

// run hands on what waits, until nothing does.
func (r *relay) run() {
	for records, dropped := r.take(); records != nil; records, dropped = r.take() {
		for _, rec := range records {
			r.forward(rec)
		}
		if dropped > 0 {
			notice := slog.NewRecord(time.Now(), slog.LevelWarn, "wheellock: log records were dropped, for the log handler is slow", 0)
			notice.AddAttrs(slog.Int("records", dropped))
			r.forward(relayed{ctx: context.Background(), record: notice})
		}
	}
}

// take takes all that waits; nil: nothing does, and the goroutine ends.
func (r *relay) take() (records []relayed, dropped int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	records, dropped = r.queue, r.dropped
	r.queue, r.dropped = nil, 0
	if records == nil {
		r.running = false
		if r.idle != nil {
			close(r.idle)
			r.idle = nil
		}
	}
	return records, dropped
}

func (r *relay) forward(rec relayed) {
	to := r.handler
	for _, wrap := range rec.within {
		to = wrap(to)
	}
	if to.Enabled(rec.ctx, rec.record.Level) {
		_ = to.Handle(rec.ctx, rec.record) // nobody could be told of its error
	}
}

// flush waits until everything is handed on, for relayTime at most: a handler that blocks for ever keeps nobody.
func (r *relay) flush() {
	r.mu.Lock()
	if !r.running {
		r.mu.Unlock()
		return
	}
	if r.idle == nil {
		r.idle = make(chan struct{})
	}
	idle := r.idle
	r.mu.Unlock()
	timer := time.NewTimer(relayTime)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}
