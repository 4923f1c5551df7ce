// Package httplock is middleware for net/http: of all requests with the same key, one at a time is served, in all processes that share
// a Redis; or so many at a time ([Limit]).
//
//	exclusive, err := httplock.New(e, httplock.Options{})
//	...
//	http.Handle("POST /orders", exclusive(placeOrder))
//
// By default the key is the request's Idempotency-Key, so that a client that repeats a request does not have it served twice at the same
// time. That is all a lock can do: an answer is not kept, so a repetition that comes after the first has been served is served again,
// unless the handler remembers what it did. The module contrib/idempotency keeps answers.
package httplock

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/wheellock/wheellock/contrib/internal/serving"
	"github.com/wheellock/wheellock/engine"
)

// Options say which requests exclude each other, and what the others get. The zero value works.
type Options struct {
	// Key returns the key of a request. A request with the empty key is served without a lock. Default nil: [IdempotencyKey].
	Key func(*http.Request) string

	// Lock returns the lock of a key. Default nil: the engine's Mutex of the name "http:" and the key. A lock of the engine's
	// FencedMutex has a token, see [HoldOf].
	Lock func(key string) engine.Locker

	// Wait is how long a request waits while another one of its key is served. Default 0: it does not wait.
	Wait time.Duration

	// WaitForRedis has requests wait as long also while Redis is known to be out of reach. Default false: they get their 503 at once
	// ([engine.WithFailFast]).
	WaitForRedis bool

	// Status is the answer to a request that did not get its turn: 409 Conflict or 423 Locked. Default 409.
	Status int
}

// IdempotencyKey is the header Idempotency-Key, as it was sent. Who the client is plays no part: if clients may choose the same keys, use
// a Key that puts the client's identity before this one.
func IdempotencyKey(r *http.Request) string { return r.Header.Get("Idempotency-Key") }

// New makes middleware. The error is [engine.ErrInvalid] and says what is wrong with the options.
//
// A handler gets a request whose context ends when the lock is lost; its cause is then [engine.ErrLost]. The lock is released when the
// handler has returned, also by a panic; what net/http has not sent by then waits for the release, 100 ms at most. Instead of its turn a request may get:
//
//   - 409 or 423, with a Retry-After: another request of the key is served.
//   - 503, with a Retry-After of a second: Redis cannot serve, which is told at once in an outage, or the engine is closed. If the client left while the request
//     waited, nobody reads this answer.
//   - 400: the key is no name for a lock, for instance because it is too long (1,019 bytes are the most for the default Lock).
//   - 500: in Redis there is something else under the lock's name.
//
// Retry-After of the first is about as long as handlers took lately in this process, at least a second, and at most what is left of
// the lease. The lease alone would be no help: it is renewed while the handler runs, so its end is 20 to 30 seconds away for
// a handler that takes two.
func New(e *engine.Engine, opts Options) (func(http.Handler) http.Handler, error) {
	invalid := func(format string, args ...any) (func(http.Handler) http.Handler, error) {
		return nil, fmt.Errorf("%w: httplock: "+format, append([]any{engine.ErrInvalid}, args...)...)
	}
	if opts.Key == nil {
		opts.Key = IdempotencyKey
	}
	if opts.Status == 0 {
		opts.Status = http.StatusConflict
	}
	switch {
	case e == nil && opts.Lock == nil:
		return invalid("neither an engine nor Options.Lock")
	case opts.Wait < 0:
		return invalid("Wait %v: must not be negative", opts.Wait)
	case opts.Status != http.StatusConflict && opts.Status != http.StatusLocked:
		return invalid("Status %d: must be 409 or 423", opts.Status)
	}
	if opts.Lock == nil {
		opts.Lock = func(key string) engine.Locker { return e.Mutex("http:" + key) }
	}
	return func(next http.Handler) http.Handler { return &handler{next: next, opts: opts} }, nil
}

// handler serves one request of a key at a time.
type handler struct {
	next  http.Handler
	opts  Options
	times serving.Times
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := h.opts.Key(r)
	if key == "" {
		h.next.ServeHTTP(w, r)
		return
	}
	var opts []engine.LockOption
	if !h.opts.WaitForRedis {
		opts = append(opts, engine.WithFailFast())
	}
	hold, err := serving.Take(r.Context(), h.opts.Lock(key), h.opts.Wait, opts...)
	if err != nil {
		h.refuse(w, err)
		return
	}
	h.serve(w, r, hold)
}

// serve serves a request, and then gives back its hold.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, hold *engine.Hold) {
	ctx := context.WithValue(hold.Context(r.Context()), holdKey{}, hold)
	// net/http sends the end of the answer when the lock is given back.
	h.times.Serve(r.Context(), hold, func() { h.next.ServeHTTP(w, r.WithContext(ctx)) })
}

// refuse answers a request that did not get its turn.
func (h *handler) refuse(w http.ResponseWriter, err error) {
	status := http.StatusServiceUnavailable
	switch (engine.Failure{Err: err}).Outcome() {
	case "held", "wait_timeout":
		status = h.opts.Status
		w.Header().Set("Retry-After", seconds(h.times.Free(err)))
	case "invalid":
		status = http.StatusInternalServerError
		if errors.Is(err, engine.ErrInvalid) {
			status = http.StatusBadRequest
		}
	default:
		w.Header().Set("Retry-After", seconds(0))
	}
	http.Error(w, http.StatusText(status), status)
}

// seconds writes a Retry-After: whole seconds, at least one.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64(max(1, (d+time.Second-1)/time.Second)), 10)
}

type holdKey struct{}

// HoldOf returns the hold under which a request is served, for its token, or nil if it has none. ctx is the request's.
func HoldOf(ctx context.Context) *engine.Hold {
	hold, _ := ctx.Value(holdKey{}).(*engine.Hold)
	return hold
}
