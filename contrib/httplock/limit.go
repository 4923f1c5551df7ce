package httplock

import (
	"fmt"
	"net/http"
	"time"

	"github.com/wheellock/wheellock/contrib/internal/serving"
	"github.com/wheellock/wheellock/engine"
)

// OnOutage says what becomes of a request while Redis cannot serve.
type OnOutage uint8

const (
	Refuse    OnOutage = iota // 503, with a Retry-After of a second
	LetInHere                 // at most LimitOptions.Here requests of a key in this process are served without Redis; above that 503
)

// LimitOptions say how many requests are served at once. Key and N are required.
type LimitOptions struct {
	// Key returns the key of a request, such as its tenant. A request with the empty key is served without a limit.
	Key func(*http.Request) string

	// N returns how many requests of a key may be served at once, in all processes that share the Redis: as [engine.Engine.Limit] has it. It
	// is asked for each request, so a number that changes takes effect with the next one.
	N func(key string) int

	// Wait is how long a request waits while N others are served. Default 0: it does not wait.
	Wait time.Duration

	// Prefix comes before the key in the name of the limit. Default "limit:".
	Prefix string

	// OnOutage says what becomes of a request while Redis cannot serve. Default: [Refuse].
	OnOutage OnOutage

	// Here is how many requests of a key this process serves at once by [LetInHere], and is required with it: about N divided by the number of
	// processes. Requests that came in before the outage do not count.
	Here int
}

// Limit makes middleware that serves at most N requests of a key at once. The error is [engine.ErrInvalid] and says what is wrong with the options.
//
// A handler gets a request whose context ends when its permit is lost; its cause is then [engine.ErrLost]. The permit is given back when the
// handler has returned, also by a panic, as New gives back a lock. Instead of its turn a request may get:
//
//   - 429, with a Retry-After: N others are served. It is about as long as handlers took lately in this process, at least a second.
//   - 503, with a Retry-After of a second: Redis cannot serve, or the engine is closed, as OnOutage says.
//   - 400: the key is no name for a lock, for instance because it is too long.
//   - 500: in Redis there is something else under the limit's name, or N returned a number that is no limit, such as 0.
func Limit(e *engine.Engine, o LimitOptions) (func(http.Handler) http.Handler, error) {
	invalid := func(format string, args ...any) (func(http.Handler) http.Handler, error) {
		return nil, fmt.Errorf("%w: httplock: "+format, append([]any{engine.ErrInvalid}, args...)...)
	}
	if o.Prefix == "" {
		o.Prefix = "limit:"
	}
	switch {
	case e == nil:
		return invalid("a Limit without an engine")
	case o.Key == nil || o.N == nil:
		return invalid("a Limit without Key and N")
	case o.Wait < 0:
		return invalid("Wait %v: must not be negative", o.Wait)
	case o.OnOutage > LetInHere:
		return invalid("OnOutage %d: must be Refuse or LetInHere", o.OnOutage)
	case o.OnOutage == LetInHere && o.Here < 1 || o.OnOutage == Refuse && o.Here != 0:
		return invalid("Here %d: must be at least 1 with LetInHere, and 0 without", o.Here)
	}
	return func(next http.Handler) http.Handler {
		return &limited{handler: handler{next: next, opts: Options{Status: http.StatusTooManyRequests}}, e: e, o: o}
	}, nil
}

// limited serves so many requests of a key at a time.
type limited struct {
	handler
	e    *engine.Engine
	o    LimitOptions
	here serving.Here
}

// ServeHTTP implements http.Handler.
func (l *limited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := l.o.Key(r)
	if key == "" {
		l.next.ServeHTTP(w, r)
		return
	}
	n := l.o.N(key)
	if n < 1 {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	switch hold, err := serving.Take(r.Context(), l.e.Limit(l.o.Prefix+key, n), l.o.Wait, engine.WithFailFast()); {
	case err == nil:
		l.serve(w, r, hold)
	case serving.IsOutage(r.Context(), err) && l.here.ComeIn(key, l.o.Here):
		defer l.here.Leave(key)
		l.next.ServeHTTP(w, r)
	default:
		l.refuse(w, err)
	}
}
