// Package idempotency is middleware for net/http by which a repeated request gets the answer of the first: the header Idempotency-Key,
// as draft-ietf-httpapi-idempotency-key-header and Stripe have it, for all processes that share a Redis.
//
//	once, err := idempotency.New(e, client, idempotency.Options{Client: accountOf})
//	...
//	http.Handle("POST /orders", once(placeOrder))
//
// The first request of a key is served under a lock (request.go), and its answer is recorded (recorder.go) and stored by a script that
// compares the lock (store.go). A process that dies between its work and the store leaves no answer: the repetition is served again. A
// handler that must not do its work twice even then does it in the transaction of its own database that also writes the key, or has the
// database compare the fencing token of [HoldOf].
package idempotency

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
)

// ErrNotKept means that an answer was sent, but not stored: a repetition of its request is served again. The text says why.
var ErrNotKept = errors.New("idempotency: the answer is not kept")

// OnOutage says what becomes of a request while Redis cannot serve.
type OnOutage uint8

const (
	Refuse OnOutage = iota // 503, with a Retry-After of a second
	LetIn                  // it is served as if it had no key: beside others of its key, and again when it is repeated; 503 if the time of its context is over
)

const (
	defaultKeep    = 24 * time.Hour
	defaultMaxBody = 1 << 20
	mostBody       = 256 << 20 // with its headers the answer is one string of Redis, of 512 MiB at most
	defaultPrefix  = "idempotency:"
)

// Options say which requests have a key, and what is kept of their answers. Client is required.
type Options struct {
	// Client returns who sent a request, as the program has authenticated it, for instance the number of the account: a key is that client's
	// own. It must not be what clients choose freely, or one gets the answers of another. A request with a key and the empty client gets
	// 403. If anonymous clients are to share their keys, return a word for all of them. Redis has a hash of it only.
	Client func(*http.Request) string

	// Keep is how long an answer is kept, in whole milliseconds. Default 0: 24 hours.
	Keep time.Duration

	// MaxBody is the length of the longest body of a request, others get 413, and of the longest answer that is kept. Both are held in
	// memory, and Redis serves nobody else while it takes an answer in. A request waits for Redis for a second, and another one for each 8 MiB that an
	// answer has, or may have. At most 256 MiB; default 0: 1 MiB.
	MaxBody int

	// Headers are the names of headers of an answer that are kept besides Content-Type, Content-Encoding, Content-Language,
	// Content-Disposition, Location, Link, ETag, Last-Modified, Cache-Control and Vary.
	Headers []string

	// Methods are those of the requests that have a key; others are served as if they had none. Default nil: POST and PATCH.
	Methods []string

	// Required has a request of these methods without a key refused, with 400. Default false: it is served as if this middleware were not there.
	Required bool

	// Wait is how long a repetition waits for the answer while the first request is served. Default 0: it gets 409 at once.
	Wait time.Duration

	// OnOutage says what becomes of a request while Redis cannot serve. Default: [Refuse].
	OnOutage OnOutage

	// Fenced has each run under a [engine.Engine.FencedMutex], so that its hold has a token. Each key then leaves a counter in Redis, for ever
	// if [engine.Options].FenceTTL does not end it: let that be as long as Keep.
	Fenced bool

	// Prefix comes before the client and the key in the names in Redis. Default "idempotency:". Services that share a Redis, and do not share
	// their clients' keys, need one each.
	Prefix string

	// NameMapper is that of the engine's Options: an answer is stored only by the process that has the key of the lock. Default nil.
	NameMapper func(name string) string

	// NotKept is called with an error that Is [ErrNotKept] for each answer that was to be kept and could not be: it is longer than MaxBody, or
	// shorter than its Content-Length; the handler took over the connection; the client had left, and the handler had written nothing, or flushed
	// what has no Content-Length, so that it may be a part; the lock was lost, the error then Is [engine.ErrLost]; Redis did not store it. Default
	// nil: a warning of [slog.Default].
	NotKept func(r *http.Request, err error)
}

// keptAlways are headers without which the body of an answer, or the answer to a repetition, would mean something else.
var keptAlways = []string{
	"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition",
	"Location", "Link", "Etag", "Last-Modified", "Cache-Control", "Vary",
}

// New makes middleware. The client must be connected to the Redis of the engine, to the same database, and must read from the master. The error is
// [engine.ErrInvalid] and says what is wrong.
//
// The first request of a key is served under the lock of the key. The handler gets it with its body read, and with a context that ends when
// the lock is lost; its cause is then [engine.ErrLost]. Its answer is stored before it is sent, and then stands for Keep, for requests of the
// same client and key: they get it with the header "Idempotency-Replayed: true". Not kept, so that a repetition is served again, are answers
// of status 5xx and those that ask to come again (408, 425, 429, and any 4xx with a Retry-After), what [Options].NotKept is told of, and those
// of a handler that panics.
//
// An answer that the handler flushes goes out as it is written, and is kept at its end. A handler that gives up in the middle of an answer without
// a flush, because its client has left, must say so by a status 5xx or by panic([http.ErrAbortHandler]), or that part is kept. A handler that needs
// the connection itself ([http.Hijacker]) gets it, and nothing is kept.
//
// Instead of the answer of the handler a request may get, as application/problem+json:
//
//   - 400: the key is empty, longer than 255 bytes, not of printable ASCII, there twice, or missing and required; or the body ended early.
//   - 403: it has a key, but Client returned no client.
//   - 409, with a Retry-After: another request of the key is served. It is about as long as handlers took lately in this process.
//   - 413: its body is longer than MaxBody.
//   - 422: the key was used for another request: another method, path, query or body.
//   - 503, with a Retry-After of a second: Redis cannot serve, which is known at once in an outage, or the engine is closed.
//   - 500: in Redis there is something else under the name of the lock or of the answer.
func New(e *engine.Engine, client rueidis.Client, o Options) (func(http.Handler) http.Handler, error) {
	invalid := func(format string, args ...any) (func(http.Handler) http.Handler, error) {
		return nil, fmt.Errorf("%w: idempotency: "+format, append([]any{engine.ErrInvalid}, args...)...)
	}
	o.Keep, o.MaxBody, o.Prefix = cmp.Or(o.Keep, defaultKeep), cmp.Or(o.MaxBody, defaultMaxBody), cmp.Or(o.Prefix, defaultPrefix)
	if o.Methods == nil {
		o.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	if o.NameMapper == nil {
		o.NameMapper = func(name string) string { return name }
	}
	if o.NotKept == nil {
		o.NotKept = func(r *http.Request, err error) {
			slog.WarnContext(r.Context(), err.Error(), "method", r.Method, "path", r.URL.Path)
		}
	}
	switch {
	case e == nil || client == nil:
		return invalid("the engine or the client is nil")
	case o.Client == nil:
		return invalid("Options.Client is nil: whose key is it? Clients that choose the same key would get each other's answers")
	case o.Keep < time.Millisecond || o.Keep%time.Millisecond != 0:
		return invalid("Keep %v: must be whole milliseconds, 1ms at least", o.Keep)
	case o.MaxBody < 0 || o.MaxBody > mostBody:
		return invalid("MaxBody %d: must be from 0 to %d", o.MaxBody, mostBody)
	case slices.ContainsFunc(o.Methods, func(method string) bool { return method == "" || method != strings.ToUpper(method) }):
		return invalid("Methods %q: must be in upper case", o.Methods)
	case slices.Contains(o.Headers, ""):
		return invalid("Headers %q: one is empty", o.Headers)
	case o.Wait < 0:
		return invalid("Wait %v: must not be negative", o.Wait)
	case o.OnOutage > LetIn:
		return invalid("OnOutage %d: must be Refuse or LetIn", o.OnOutage)
	}
	lock := e.Mutex
	if o.Fenced {
		lock = e.FencedMutex
	}
	o.Headers = slices.Concat(keptAlways, o.Headers)
	return func(next http.Handler) http.Handler {
		return &handler{next: next, o: o, lock: lock, answers: store{client: client, keep: o.Keep, most: o.MaxBody}}
	}, nil
}
