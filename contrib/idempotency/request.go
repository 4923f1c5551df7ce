package idempotency

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/contrib/internal/serving"
	"github.com/wheellock/wheellock/engine"
)

// handler serves the first request of a key, and answers the others.
type handler struct {
	next    http.Handler
	o       Options
	lock    func(name string) *engine.Mutex
	answers store
	times   serving.Times
}

const mostKey = 255 // bytes, as Stripe has it

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	keys := r.Header.Values("Idempotency-Key")
	if !slices.Contains(h.o.Methods, r.Method) || len(keys) == 0 && !h.o.Required {
		h.next.ServeHTTP(w, r)
		return
	}
	name, wrong := h.name(r, keys)
	if wrong != nil {
		wrong.write(w)
		return
	}
	r, print, wrong := h.readBody(w, r)
	if wrong != nil {
		wrong.write(w)
		return
	}
	hold, err := serving.Take(r.Context(), h.lock(name), h.o.Wait, engine.WithFailFast())
	if err != nil && (!errors.Is(err, engine.ErrHeld) || isOver(r.Context())) { // it has no time to look for an answer
		h.refuse(w, r, err)
		return
	}
	old, failed := h.answers.load(r.Context(), h.o.NameMapper(name)) // also while another request has the lock: that may be a repetition
	if hold != nil && (old != nil || failed != nil) {
		hold.UnlockAsync()
	}
	switch {
	case failed != nil:
		h.refuse(w, r, failed)
	case old != nil && old.Print != print:
		(&problem{http.StatusUnprocessableEntity, "the Idempotency-Key was used for another request", 0}).write(w)
	case old != nil:
		old.write(w)
	case err != nil:
		h.refuse(w, r, err)
	default:
		h.serve(w, r, hold, print)
	}
}

// name is that of the lock of a key. What stands between its braces decides the hash slot, for the lock and for the answer.
func (h *handler) name(r *http.Request, keys []string) (string, *problem) {
	switch {
	case len(keys) == 0:
		return "", &problem{http.StatusBadRequest, "the header Idempotency-Key is missing", 0}
	case len(keys) > 1:
		return "", &problem{http.StatusBadRequest, "the header Idempotency-Key is there more than once", 0}
	case !isKey(keys[0]):
		return "", &problem{http.StatusBadRequest, fmt.Sprintf("the Idempotency-Key is not of 1 to %d bytes of printable ASCII", mostKey), 0}
	}
	client := h.o.Client(r)
	if client == "" {
		return "", &problem{http.StatusForbidden, "an Idempotency-Key needs a client that is known", 0}
	}
	id := sha256.Sum256([]byte(client))
	return h.o.Prefix + "{" + hex.EncodeToString(id[:16]) + ":" + url.QueryEscape(keys[0]) + "}", nil
}

// isKey tells that a key has a length, and no bytes, that a client can have meant. The draft writes it between quotes, Stripe without.
func isKey(key string) bool {
	odd := func(c rune) bool { return c < ' ' || c > '~' }
	return key != "" && key != `""` && len(key) <= mostKey && !strings.ContainsFunc(key, odd)
}

// readBody reads the body, and returns the request with it and the fingerprint of both.
func (h *handler) readBody(w http.ResponseWriter, r *http.Request) (*http.Request, fingerprint, *problem) {
	sent := r.Body
	if sent == nil { // the request is no server's
		sent = http.NoBody
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, sent, int64(h.o.MaxBody)))
	if long := new(http.MaxBytesError); errors.As(err, &long) {
		return nil, fingerprint{}, &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", long.Limit), 0}
	} else if err != nil {
		return nil, fingerprint{}, &problem{http.StatusBadRequest, "the body ended early", 0}
	}
	target := r.RequestURI // as it was sent: r.URL may be without a prefix
	if target == "" {
		target = r.URL.RequestURI()
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %s\n", r.Method, target) // neither has a line feed
	hash.Write(body)
	r = r.WithContext(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r, fingerprint(hash.Sum(nil)), nil
}

// serve serves the first request of a key.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, hold *engine.Hold, print fingerprint) {
	// net/http sends the end of the answer when the lock is given back.
	h.times.Serve(r.Context(), hold, func() {
		rec := &recorder{ResponseWriter: w, most: h.o.MaxBody}
		ctx := context.WithValue(hold.Context(r.Context()), holdKey{}, hold)
		h.next.ServeHTTP(rec, r.WithContext(ctx))
		if r.Context().Err() != nil && rec.mayBeAPart() { // it gave up, as far as is known
			rec.dropped = cmp.Or(rec.dropped, errors.New("the client left before the answer was whole"))
		}
		rec.begin(http.StatusOK)
		if err := h.keep(r, hold, rec, print); err != nil {
			h.o.NotKept(r, fmt.Errorf("%w: %w", ErrNotKept, err))
		}
		_ = rec.pass() // the client has left, or the server says so
	})
}

// keep stores an answer that is to be kept.
func (h *handler) keep(r *http.Request, hold *engine.Hold, rec *recorder, print fingerprint) error {
	switch {
	case rec.asksAgain():
		return nil
	case rec.dropped != nil:
		return rec.dropped
	case r.Method != http.MethodHead && rec.endedEarly():
		return errors.New("it is not as long as its Content-Length says")
	case hold.Err() != nil:
		return hold.Err()
	}
	a := &answer{Print: print, Status: rec.status, Header: make(http.Header), Body: rec.body}
	for _, name := range h.o.Headers {
		name = http.CanonicalHeaderKey(name)
		if values, is := rec.header[name]; is { // also without a value, which has net/http not guess the type
			a.Header[name] = values
		}
	}
	return h.answers.save(context.WithoutCancel(r.Context()), hold, h.o.NameMapper(hold.Name()), a)
}

// isOver tells that the time of a request is over. A socket may tell of a deadline before its context does.
func isOver(ctx context.Context) bool {
	until, has := ctx.Deadline()
	return ctx.Err() != nil || has && !time.Now().Before(until)
}

// refuse answers a request that cannot be served now.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	switch (engine.Failure{Err: err}).Outcome() {
	case "held", "wait_timeout":
		(&problem{http.StatusConflict, "another request with this Idempotency-Key is served", h.times.Free(err)}).write(w)
	case "invalid":
		(&problem{http.StatusInternalServerError, "the Idempotency-Key cannot be used", 0}).write(w)
	case "unavailable", "refused":
		if h.o.OnOutage == LetIn && !isOver(r.Context()) { // else the request had no more time, and Redis may be well
			h.next.ServeHTTP(w, r)
			return
		}
		fallthrough
	default:
		(&problem{http.StatusServiceUnavailable, "the answers to earlier requests are out of reach", time.Second}).write(w)
	}
}

// problem is an answer to a request that is not served, as RFC 9457 has it.
type problem struct {
	status int
	detail string
	retry  time.Duration // 0: never
}

func (p *problem) write(w http.ResponseWriter) {
	if p.retry > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((p.retry+time.Second-1)/time.Second), 10))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.status)
	_, _ = fmt.Fprintf(w, "{\"title\":%q,\"status\":%d,\"detail\":%q}\n", http.StatusText(p.status), p.status, p.detail)
}

type holdKey struct{}

// HoldOf returns the hold under which a request is served, for its token ([Options].Fenced), or nil if it has none. ctx is the request's.
func HoldOf(ctx context.Context) *engine.Hold {
	hold, _ := ctx.Value(holdKey{}).(*engine.Hold)
	return hold
}
