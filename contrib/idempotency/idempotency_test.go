package idempotency_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/contrib/idempotency"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

func newClient(t testing.TB, addr string) rueidis.Client {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	testkit.Must(t, err)
	t.Cleanup(client.Close)
	return client
}

// byHeader has the clients of the tests name themselves.
func byHeader(r *http.Request) string { return r.Header.Get("X-Account") }

// site is a server behind the middleware.
type site struct {
	*httptest.Server
	t       *testing.T
	by      http.RoundTripper
	notKept chan error
}

func serve(t *testing.T, e *engine.Engine, client rueidis.Client, o idempotency.Options, handle http.HandlerFunc) site {
	t.Helper()
	s := site{t: t, notKept: make(chan error, 16)}
	o.Client = byHeader
	o.NotKept = func(_ *http.Request, err error) { s.notKept <- err }
	once, err := idempotency.New(e, client, o)
	testkit.Must(t, err)
	s.Server = httptest.NewUnstartedServer(once(handle))
	s.Config.ErrorLog = log.New(t.Output(), "", 0) // of handlers that panic
	s.Start()
	s.by = s.Client().Transport
	t.Cleanup(s.Close)
	return s
}

// newSite is a site with a Redis of its own.
func newSite(t *testing.T, o idempotency.Options, handle http.HandlerFunc) (site, *redistest.Server) {
	t.Helper()
	redis := redistest.Start(t)
	return serve(t, testkit.Connect(t, redis.Addr()), newClient(t, redis.Addr()), o, handle), redis
}

// reply is an answer with its body.
type reply struct {
	*http.Response
	body string
}

func (r reply) replayed() bool { return r.Header.Get("Idempotency-Replayed") == "true" }

// ask sends a request of the account "a" with a key, changed in this order.
func (s site) ask(method, key, body string, change ...func(*http.Request)) (reply, error) {
	r, err := http.NewRequestWithContext(testkit.Soon(s.t), method, s.URL+"/orders?n=1", strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	r.Header.Set("Idempotency-Key", key)
	r.Header.Set("X-Account", "a")
	for _, c := range change {
		c(r)
	}
	answer, err := s.by.RoundTrip(r)
	if err != nil {
		return reply{}, err
	}
	read, err := io.ReadAll(answer.Body)
	return reply{answer, string(read)}, errors.Join(err, answer.Body.Close())
}

// wants posts a request and checks its answer.
func (s site) wants(key, body string, status int, change ...func(*http.Request)) reply {
	s.t.Helper()
	answer, err := s.ask(http.MethodPost, key, body, change...)
	if err != nil {
		s.t.Fatal(err)
	}
	if answer.StatusCode != status {
		s.t.Errorf("the key %.20q is answered %s %q, want %d", key, answer.Status, answer.body, status)
	}
	return answer
}

// A repetition gets status, body and the chosen headers of the first answer, and the handler does not run again. When Keep is over, it does.
func TestARepetitionGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	s, redis := newSite(t, idempotency.Options{Keep: time.Hour, Headers: []string{"x-order"}}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header()["Content-Disposition"] = []string{"attachment; filename=\"caf\xe9\""}
		w.Header().Set("Location", "/orders/7")
		w.Header().Set("X-Order", "7")
		w.Header().Set("Set-Cookie", "session=secret")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "run %d of %s", runs.Add(1), body)
	})
	first, again := s.wants("k", "two apples", http.StatusCreated), s.wants("k", "two apples", http.StatusCreated)
	if first.body != "run 1 of two apples" || again.body != first.body || first.replayed() || !again.replayed() {
		t.Errorf("answered %q, then %q", first.body, again.body)
	}
	for _, name := range []string{"Location", "X-Order", "Content-Type", "Content-Disposition"} {
		if want := first.Header.Get(name); again.Header.Get(name) != want || want == "" {
			t.Errorf("%s of the repetition is %q, want %q", name, again.Header.Get(name), want)
		}
	}
	if first.Header.Get("Set-Cookie") == "" || again.Header.Get("Set-Cookie") != "" {
		t.Error("a header that was not chosen is kept, or not sent at first")
	}
	var keys []string
	redistest.Await(t, "one key", func() bool { keys = redis.Keys(); return len(keys) == 1 }) // a repetition releases its lock behind its answer
	if !strings.HasPrefix(keys[0], "idempotency:{") || !strings.HasSuffix(keys[0], ":k}:answer") {
		t.Fatalf("in Redis are %q", keys)
	}
	if ttl := redis.MustDo("PTTL", keys[0]).Int; ttl <= 59*60_000 || ttl > 60*60_000 {
		t.Errorf("the answer stands for %d ms, want an hour", ttl)
	}
	redis.MustDo("PEXPIRE", keys[0], "-1")
	if late := s.wants("k", "two apples", http.StatusCreated); late.body != "run 2 of two apples" || late.replayed() {
		t.Errorf("after Keep the answer is %q", late.body)
	}
}

// Answers of every shape are kept as they were sent.
func TestAnswersThatAreKept(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, _ = io.WriteString(zip, "a long answer")
	_ = zip.Close()
	write := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
	}
	redis := redistest.Start(t)
	e, client := testkit.Connect(t, redis.Addr()), newClient(t, redis.Addr())
	for name, handle := range map[string]http.HandlerFunc{
		"nothing":     func(http.ResponseWriter, *http.Request) {},
		"no content":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"not found":   http.NotFound,
		"odd bytes":   write("\x00\xff\r\n\r\n"),
		"a long body": write(strings.Repeat("x", 4096)),
		"in pieces": func(w http.ResponseWriter, _ *http.Request) {
			for range 64 {
				_, _ = io.WriteString(w, strings.Repeat("x", 64))
			}
		},
		"gzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
		},
		"early hints": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusAccepted)
			w.WriteHeader(http.StatusTeapot) // too late
		},
		"flushed": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "one ")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "two")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		},
		"flushed before anything": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "late")
		},
	} {
		for _, method := range []string{http.MethodPost, http.MethodHead} {
			t.Run(name+" "+method, func(t *testing.T) {
				var runs atomic.Int64
				s := serve(t, e, client, idempotency.Options{Prefix: t.Name(), MaxBody: 4096, Methods: []string{"POST", "HEAD"}}, func(w http.ResponseWriter, r *http.Request) {
					runs.Add(1)
					handle(w, r)
				})
				plain := func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") } // the bytes as they are
				first, err := s.ask(method, name, "", plain)
				again, err2 := s.ask(method, name, "", plain)
				if err != nil || err2 != nil {
					t.Fatal(err, err2)
				}
				if again.StatusCode != first.StatusCode || again.body != first.body || !again.replayed() || runs.Load() != 1 {
					t.Errorf("%d %.20q, then %d %.20q, by %d runs", first.StatusCode, first.body, again.StatusCode, again.body, runs.Load())
				}
				if again.Header.Get("Content-Type") != first.Header.Get("Content-Type") || again.Header.Get("Content-Encoding") != first.Header.Get("Content-Encoding") {
					t.Errorf("headers %v, then %v", first.Header, again.Header)
				}
			})
		}
	}
}

// What is not kept is served again, and NotKept is called with the reason, but for answers that ask to come again.
func TestAnswersThatAreNotKept(t *testing.T) {
	t.Parallel()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	redis := redistest.Start(t)
	e, client := testkit.Connect(t, redis.Addr()), newClient(t, redis.Addr())
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		why    string
	}{
		"500": {status(http.StatusInternalServerError), ""},
		"503": {status(http.StatusServiceUnavailable), ""},
		"429": {status(http.StatusTooManyRequests), ""},
		"409 of a lock": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusConflict)
		}, ""},
		"a long answer": {func(w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				_, _ = io.WriteString(w, strings.Repeat("x", 1000))
			}
		}, "more than 2048 bytes"},
		"a stream without end": {func(w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				_, _ = io.WriteString(w, strings.Repeat("x", 1000))
				w.(http.Flusher).Flush()
			}
		}, "more than 2048 bytes"},
		"shorter than it says": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "short")
		}, "Content-Length"},
		"the connection": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nmine")
			_ = conn.Close()
		}, "took over"},
		"a panic":                    {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ""},
		"a panic that has flushed":   {func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); panic(http.ErrAbortHandler) }, ""},
		"a status that there is not": {status(42), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var runs atomic.Int64
			s := serve(t, e, client, idempotency.Options{MaxBody: 2048}, func(w http.ResponseWriter, r *http.Request) {
				runs.Add(1)
				c.handle(w, r)
			})
			for run := range int64(2) {
				answer, err := s.ask(http.MethodPost, "k", "")
				if err == nil && answer.replayed() || runs.Load() != run+1 {
					t.Fatalf("answered %v, %v, after %d runs", answer, err, runs.Load())
				}
				if c.why != "" {
					testkit.Mentions(t, testkit.Receive(t, "NotKept", s.notKept), idempotency.ErrNotKept.Error(), c.why)
				}
				redistest.Await(t, "the lock to be free", func() bool { return len(redis.Keys()) == 0 })
			}
			if len(s.notKept) != 0 {
				t.Errorf("NotKept is called with %v", <-s.notKept)
			}
		})
	}
}

// A flushed answer reaches the client while the handler runs.
func TestAStreamPassesAtOnce(t *testing.T) {
	t.Parallel()
	on := make(chan struct{})
	s, _ := newSite(t, idempotency.Options{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "one ")
		w.(http.Flusher).Flush()
		<-on
		_, _ = io.WriteString(w, "two")
	})
	r, err := http.NewRequestWithContext(testkit.Soon(t), http.MethodPost, s.URL+"/orders?n=1", nil)
	testkit.Must(t, err)
	r.Header.Set("Idempotency-Key", "k")
	r.Header.Set("X-Account", "a")
	answer, err := s.Client().Do(r)
	testkit.Must(t, err)
	defer answer.Body.Close()
	begin := make([]byte, 4)
	if _, err := io.ReadFull(answer.Body, begin); err != nil || string(begin) != "one " {
		t.Fatalf("%q, %v", begin, err)
	}
	close(on)
	if rest, err := io.ReadAll(answer.Body); err != nil || string(rest) != "two" {
		t.Errorf("%q, %v", rest, err)
	}
	if again := s.wants("k", "", http.StatusOK); again.body != "one two" || !again.replayed() {
		t.Errorf("the repetition is answered %q", again.body)
	}
}

// A proxy flushes an answer whose length it does not know; that is kept. One that breaks off is not.
func TestAProxyBehindTheMiddleware(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "run %d ", runs.Add(1))
		w.(http.Flusher).Flush()
		if r.Header.Get("Idempotency-Key") == "breaks" && runs.Load() == 2 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "to its end")
	}))
	t.Cleanup(upstream.Close)
	to, err := url.Parse(upstream.URL)
	testkit.Must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorLog = log.New(t.Output(), "", 0)
	s, _ := newSite(t, idempotency.Options{Wait: testkit.Patience}, proxy.ServeHTTP)
	s.wants("whole", "", http.StatusOK)
	if again := s.wants("whole", "", http.StatusOK); again.body != "run 1 to its end" || !again.replayed() {
		t.Errorf("the repetition is answered %q", again.body)
	}
	if answer, err := s.ask(http.MethodPost, "breaks", ""); err == nil {
		t.Errorf("an answer that breaks off ends with %q", answer.body)
	}
	if again := s.wants("breaks", "", http.StatusOK); again.body != "run 3 to its end" || again.replayed() {
		t.Errorf("after an answer that broke off the repetition is answered %q", again.body)
	}
}

// A key is one client's, and of one request. Services with another Prefix share nothing.
func TestWhoseKey(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	handle := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, byHeader(r), " ", runs.Add(1)) }
	s, redis := newSite(t, idempotency.Options{Methods: []string{"POST", "PATCH"}}, handle)
	other := serve(t, testkit.Connect(t, redis.Addr()), newClient(t, redis.Addr()), idempotency.Options{Prefix: "other:"}, handle)
	path := func(path string) func(*http.Request) { return func(r *http.Request) { r.URL.Path = path } }
	account := func(account string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("X-Account", account) }
	}
	for _, key := range []string{"k", `"k"`, "{", "}", "a b%{c}:answer", strings.Repeat("~", 255)} {
		runs.Store(0)
		s.wants(key, "body", http.StatusOK)
		if answer := s.wants(key, "body", http.StatusOK, account("b")); answer.body != "b 2" {
			t.Errorf("another client gets %q", answer.body)
		}
		if answer := other.wants(key, "body", http.StatusOK); answer.body != "a 3" {
			t.Errorf("another service answers %q", answer.body)
		}
		for _, change := range []func(*http.Request){
			path("/refunds"),
			func(r *http.Request) { r.URL.RawQuery = "n=2" },
			func(r *http.Request) { r.Method = http.MethodPatch },
		} {
			s.wants(key, "body", http.StatusUnprocessableEntity, change)
		}
		s.wants(key, "other body", http.StatusUnprocessableEntity)
		s.wants(key, "", http.StatusUnprocessableEntity)
		if answer := s.wants(key, "body", http.StatusOK); answer.body != "a 1" || runs.Load() != 3 {
			t.Errorf("in the end the answer is %q, after %d runs", answer.body, runs.Load())
		}
	}
}

// A handler that loses its lock knows it by its context, its client gets its answer, and nothing is stored, neither by a holder that does not
// know yet.
func TestALostLockStoresNothing(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*redistest.Server, *engine.Hold, context.Context){
		"it knows": func(_ *redistest.Server, _ *engine.Hold, ctx context.Context) {
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, engine.ErrLost) {
				t.Errorf("the cause is %v", cause)
			}
		},
		"it does not": func(redis *redistest.Server, hold *engine.Hold, _ context.Context) {
			redis.MustDo("DEL", hold.Name())
			redis.MustDo("HSET", hold.Name(), "another", "1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			e := testkit.Connect(t, redis.Addr(), func(o *engine.Options) {
				if name == "it knows" {
					o.MaxHold = 100 * time.Millisecond
				}
			})
			s := serve(t, e, newClient(t, redis.Addr()), idempotency.Options{}, func(w http.ResponseWriter, r *http.Request) {
				lose(redis, idempotency.HoldOf(r.Context()), r.Context())
				_, _ = io.WriteString(w, "done")
			})
			if answer := s.wants("k", "", http.StatusOK); answer.body != "done" {
				t.Errorf("the answer is %q", answer.body)
			}
			if err := testkit.Receive(t, "NotKept", s.notKept); !errors.Is(err, engine.ErrLost) || !errors.Is(err, idempotency.ErrNotKept) {
				t.Errorf("NotKept is called with %v", err)
			}
			for _, key := range redis.Keys() {
				if strings.HasSuffix(key, ":answer") {
					t.Errorf("%q is stored", key)
				}
			}
		})
	}
}

// With Fenced the hold of a run has a token. With a NameMapper the answer stands beside the key that the lock has.
func TestFencedUnderAnotherName(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	mapper := func(name string) string { return "app:" + name }
	e := testkit.Connect(t, redis.Addr(), func(o *engine.Options) { o.NameMapper, o.FenceTTL = mapper, time.Hour })
	s := serve(t, e, newClient(t, redis.Addr()), idempotency.Options{Fenced: true, NameMapper: mapper}, func(w http.ResponseWriter, r *http.Request) {
		if token, fenced := idempotency.HoldOf(r.Context()).Token(); !fenced || token == 0 {
			t.Errorf("the token is %d", token)
		}
	})
	s.wants("k", "", http.StatusOK)
	if again := s.wants("k", "", http.StatusOK); !again.replayed() {
		t.Error("the answer is not kept")
	}
	for _, key := range redis.Keys() {
		if !strings.Contains(key, "app:idempotency:{") || redis.MustDo("PTTL", key).Int < 0 {
			t.Errorf("in Redis is %q, with the TTL %d", key, redis.MustDo("PTTL", key).Int)
		}
	}
}

// In a cluster lock and answer of each key are in one hash slot.
func TestInACluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 1, 0)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: c.Addrs(), DisableCache: true})
	testkit.Must(t, err)
	t.Cleanup(client.Close)
	s := serve(t, testkit.Join(t, c), client, idempotency.Options{}, func(http.ResponseWriter, *http.Request) {})
	for _, key := range []string{"k", "{", "}", "{}", "a{b}c"} {
		s.wants(key, "", http.StatusOK)
		if again := s.wants(key, "", http.StatusOK); !again.replayed() {
			t.Errorf("the answer of %q is not kept", key)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	e, client := testkit.Connect(t, redis.Addr()), newClient(t, redis.Addr())
	for want, o := range map[string]idempotency.Options{
		"Client is nil":  {Wait: time.Second},
		"Keep -1s":       {Client: byHeader, Keep: -time.Second},
		"Keep 1.5ms":     {Client: byHeader, Keep: 1500 * time.Microsecond},
		"MaxBody -1":     {Client: byHeader, MaxBody: -1},
		"MaxBody 536870": {Client: byHeader, MaxBody: 512 << 20},
		"Methods":        {Client: byHeader, Methods: []string{"post"}},
		"Headers":        {Client: byHeader, Headers: []string{""}},
		"Wait -1s":       {Client: byHeader, Wait: -time.Second},
		"OnOutage 7":     {Client: byHeader, OnOutage: 7},
	} {
		if _, err := idempotency.New(e, client, o); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one about %s", err, want)
		}
	}
	for _, make := range []func() (func(http.Handler) http.Handler, error){
		func() (func(http.Handler) http.Handler, error) {
			return idempotency.New(nil, client, idempotency.Options{Client: byHeader})
		},
		func() (func(http.Handler) http.Handler, error) {
			return idempotency.New(e, nil, idempotency.Options{Client: byHeader})
		},
	} {
		testkit.WantIs(t, "without an engine or a client", testkit.ResultOf(make()), engine.ErrInvalid)
	}
}
