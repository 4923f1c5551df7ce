package httplock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"

	"github.com/wheellock/wheellock/contrib/httplock"
)

// serve starts a site behind the middleware.
func serve(t *testing.T, e *engine.Engine, opts httplock.Options, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	exclusive, err := httplock.New(e, opts)
	testkit.Must(t, err)
	site := httptest.NewServer(exclusive(handle))
	t.Cleanup(site.Close)
	return site
}

// post sends a request with a key and returns the answer, whose body has been read.
func post(t *testing.T, site *httptest.Server, key string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(testkit.Soon(t), http.MethodPost, site.URL, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Idempotency-Key", key)
	answer, err := site.Client().Do(r)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return answer, errors.Join(err, answer.Body.Close())
}

// wants sends a request and checks its answer.
func wants(t *testing.T, site *httptest.Server, key string, status int) *http.Response {
	t.Helper()
	answer, err := post(t, site, key)
	testkit.Must(t, err)
	if answer.StatusCode != status {
		t.Errorf("%s, want %d", answer.Status, status)
	}
	return answer
}

// blocked is a handler that waits in its requests until it is told to go on.
type blocked struct {
	came chan *http.Request
	on   chan struct{}
}

func newBlocked() blocked { return blocked{make(chan *http.Request), make(chan struct{})} }

func (b blocked) handle(_ http.ResponseWriter, r *http.Request) {
	b.came <- r
	<-b.on
}

// begin sends a request and returns when its handler runs.
func (b blocked) begin(t *testing.T, site *httptest.Server, key string) *http.Request {
	t.Helper()
	go func() { _, _ = post(t, site, key) }()
	return testkit.Receive(t, "the request to be served", b.came)
}

// A request without a key is served beside others, and the key's own is not.
func TestARequestWithoutAKeyIsServed(t *testing.T) {
	t.Parallel()
	b := newBlocked()
	site := serve(t, testkit.Connect(t, redistest.Start(t).Addr()), httplock.Options{Status: http.StatusLocked}, b.handle)
	if hold := httplock.HoldOf(b.begin(t, site, "a").Context()); hold == nil || hold.Name() != "http:a" {
		t.Errorf("the hold is %v", hold)
	}
	if hold := httplock.HoldOf(b.begin(t, site, "").Context()); hold != nil {
		t.Errorf("a request without a key has %v", hold)
	}
	wants(t, site, "a", http.StatusLocked)
	close(b.on)
}

// Retry-After is what requests usually take, in whole seconds, and not the 30 s of the lease.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	b := newBlocked()
	redis := redistest.Start(t)
	site := serve(t, testkit.Connect(t, redis.Addr()), httplock.Options{}, b.handle)
	retryAfter := func(want string) {
		t.Helper()
		if got := wants(t, site, "a", http.StatusConflict).Header.Get("Retry-After"); got != want {
			t.Errorf("Retry-After is %s, want %s", got, want)
		}
	}
	b.begin(t, site, "a")
	retryAfter("1")                     // nothing is known yet
	time.Sleep(2100 * time.Millisecond) // sleeps: how long the request takes
	b.on <- struct{}{}
	redistest.Await(t, "the lock to be free", func() bool { return len(redis.Keys()) == 0 })
	b.begin(t, site, "a")
	if got, _ := strconv.Atoi(wants(t, site, "a", http.StatusConflict).Header.Get("Retry-After")); got < 3 || got > 20 {
		t.Errorf("Retry-After is %d after a request that took over two seconds", got)
	}
	close(b.on)
	redistest.Await(t, "the lock to be free", func() bool { return len(redis.Keys()) == 0 })

	// No more than is left of a lease. A machine that stands still for longer than that serves the request: then once more, until so
	// many quick ones have made a second usual.
	other := testkit.Connect(t, redis.Addr())
	go func() {
		for t.Context().Err() == nil {
			select {
			case <-b.came:
			case <-t.Context().Done():
			}
		}
	}()
	for range 5 {
		testkit.MustLock(t, other.Mutex("http:a"), engine.WithLease(time.Second))
		if answer, err := post(t, site, "a"); err != nil {
			t.Fatal(err)
		} else if got := answer.Header.Get("Retry-After"); answer.StatusCode == http.StatusConflict {
			if got != "1" {
				t.Errorf("Retry-After is %s with a second left of the lease", got)
			}
			return
		}
	}
	t.Error("five times a request was served a second after another one had the lock")
}

// The lock is released after a panic, and when the client has gone.
func TestTheLockIsReleased(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	site := serve(t, testkit.Connect(t, redis.Addr()), httplock.Options{Wait: testkit.Patience}, func(_ http.ResponseWriter, r *http.Request) {
		switch httplock.IdempotencyKey(r) {
		case "panics":
			panic(http.ErrAbortHandler)
		case "leaves":
			<-r.Context().Done()
		}
	})
	if _, err := post(t, site, "panics"); err == nil {
		t.Error("a request whose handler panics has an answer")
	}
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, site.URL, nil)
		testkit.Must(t, err)
		r.Header.Set("Idempotency-Key", "leaves")
		done := make(chan struct{})
		go func() {
			defer close(done)
			if answer, err := site.Client().Do(r); err == nil {
				answer.Body.Close()
				t.Error("a request whose client has gone has an answer")
			}
		}()
		redistest.Await(t, "the lock to be taken", func() bool { return slices.Contains(redis.Keys(), "http:leaves") })
		cancel()
		<-done
	}
	redistest.Await(t, "all locks to be free", func() bool { return len(redis.Keys()) == 0 })
}

// A handler whose lock is lost hears so from its context, with the cause.
// The answer waits for a Redis that does not answer for a tenth of a second, and no longer.
func TestAnOutageHoldsNoAnswerBack(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		e, link := w.Connect()
		exclusive, err := httplock.New(e, httplock.Options{})
		testkit.Must(w.T, err)
		site := exclusive(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { link.Down.Lose(time.Now().Add(time.Hour)) }))
		r := httptest.NewRequestWithContext(w.T.Context(), http.MethodPost, "/", nil)
		r.Header.Set("Idempotency-Key", "a")
		began := time.Now()
		site.ServeHTTP(httptest.NewRecorder(), r)
		if took := time.Since(began); took < 100*time.Millisecond || took > 110*time.Millisecond {
			w.T.Errorf("the answer took %v, want 100ms", took)
		}
	})
}

func TestALostLockEndsTheRequest(t *testing.T) {
	t.Parallel()
	e := testkit.Connect(t, redistest.Start(t).Addr(), func(o *engine.Options) { o.MaxHold = 100 * time.Millisecond })
	site := serve(t, e, httplock.Options{}, func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		if cause := context.Cause(r.Context()); !errors.Is(cause, engine.ErrLost) {
			t.Errorf("the cause is %v", cause)
		}
		w.WriteHeader(http.StatusTeapot)
	})
	wants(t, site, "a", http.StatusTeapot)
}

// What cannot be served has an answer that says whose fault that is.
func TestWhatCannotBeServed(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	redis.MustDo("SET", "http:text", "x")
	e := testkit.Connect(t, redis.Addr())
	handle := func(http.ResponseWriter, *http.Request) { t.Error("the handler runs") }
	site := serve(t, e, httplock.Options{}, handle)
	patient := serve(t, e, httplock.Options{Wait: 50 * time.Millisecond, WaitForRedis: true}, handle)
	fast := serve(t, e, httplock.Options{Wait: time.Hour}, handle)
	wants(t, site, strings.Repeat("a", 1020), http.StatusBadRequest)
	wants(t, site, "text", http.StatusInternalServerError)
	redis.Kill()
	for _, s := range []*httptest.Server{site, patient, fast} {
		if got := wants(t, s, "a", http.StatusServiceUnavailable).Header.Get("Retry-After"); got != "1" {
			t.Errorf("Retry-After is %q", got)
		}
	}
	e.Close()
	wants(t, site, "a", http.StatusServiceUnavailable)
}

func TestOptions(t *testing.T) {
	t.Parallel()
	e := testkit.Connect(t, redistest.Start(t).Addr())
	for want, c := range map[string]struct {
		e    *engine.Engine
		opts httplock.Options
	}{
		"engine":     {nil, httplock.Options{}},
		"Wait -1s":   {e, httplock.Options{Wait: -time.Second}},
		"Status 200": {e, httplock.Options{Status: 200}},
	} {
		if _, err := httplock.New(c.e, c.opts); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one about %s", err, want)
		}
	}
	site := serve(t, nil, httplock.Options{
		Key:  func(r *http.Request) string { return r.URL.Path },
		Lock: func(key string) engine.Locker { return e.FencedMutex("paths:" + key) },
	}, func(w http.ResponseWriter, r *http.Request) {
		hold := httplock.HoldOf(r.Context())
		if token, fenced := hold.Token(); !fenced || hold.Name() != "paths:/" {
			t.Errorf("%v has the token %d", hold, token)
		}
		fmt.Fprint(w, "done")
	})
	wants(t, site, "", http.StatusOK)
}
