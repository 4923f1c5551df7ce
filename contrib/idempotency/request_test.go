package idempotency_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/contrib/idempotency"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// send writes a request as it stands and returns the answer. At its end the connection is closed on this side, or not.
func (s site) send(head, body string, ends bool) reply {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, head+"\r\nHost: here\r\nX-Account: a\r\nConnection: close\r\n\r\n"+body); err != nil {
		s.t.Fatal(err)
	}
	if ends {
		_ = conn.(*net.TCPConn).CloseWrite()
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	read, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	return reply{answer, string(read)}
}

// What is no key, no client or no whole body has an answer that says so, and the handler does not run.
func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	s, redis := newSite(t, idempotency.Options{Required: true, MaxBody: 10}, func(http.ResponseWriter, *http.Request) { t.Error("the handler runs") })
	for name, c := range map[string]struct {
		head, body string
		status     int
	}{
		"no key":               {"POST / HTTP/1.1", "", 400},
		"an empty key":         {"POST / HTTP/1.1\r\nIdempotency-Key:", "", 400},
		"an empty string":      {"POST / HTTP/1.1\r\nIdempotency-Key: \"\"", "", 400},
		"two keys":             {"POST / HTTP/1.1\r\nIdempotency-Key: a\r\nidempotency-key: b", "", 400},
		"one key twice":        {"POST / HTTP/1.1\r\nIdempotency-Key: a\r\nIdempotency-Key: a", "", 400},
		"256 bytes":            {"POST / HTTP/1.1\r\nIdempotency-Key: " + strings.Repeat("a", 256), "", 400},
		"a tab":                {"POST / HTTP/1.1\r\nIdempotency-Key: a\tb", "", 400},
		"bytes over 127":       {"POST / HTTP/1.1\r\nIdempotency-Key: caf\xc3\xa9", "", 400},
		"no UTF-8":             {"POST / HTTP/1.1\r\nIdempotency-Key: \xff", "", 400},
		"no client":            {"POST / HTTP/1.1\r\nIdempotency-Key: a\r\nX-Account: ", "", 403},
		"a body that ends":     {"POST / HTTP/1.1\r\nIdempotency-Key: a\r\nContent-Length: 9", "half", 400},
		"chunks that end":      {"POST / HTTP/1.1\r\nIdempotency-Key: a\r\nTransfer-Encoding: chunked", "4\r\nhalf\r\n", 400},
		"chunks that are none": {"POST / HTTP/1.1\r\nIdempotency-Key: a\r\nTransfer-Encoding: chunked", "x\r\n", 400},
		"a long body":          {"POST / HTTP/1.1\r\nIdempotency-Key: a\r\nContent-Length: 11", "eleven byte", 413},
		"many chunks":          {"POST / HTTP/1.1\r\nIdempotency-Key: a\r\nTransfer-Encoding: chunked", "b\r\neleven byte\r\n0\r\n\r\n", 413},
	} {
		answer := s.send(c.head, c.body, true)
		if kind := answer.Header.Get("Content-Type"); answer.StatusCode != c.status || kind != "application/problem+json" || !strings.Contains(answer.body, fmt.Sprintf(`"status":%d,"detail":"`, c.status)) {
			t.Errorf("%s: %s %s %q, want %d", name, answer.Status, kind, answer.body, c.status)
		}
	}
	if keys := redis.Keys(); len(keys) != 0 {
		t.Errorf("in Redis are %q", keys)
	}
}

// Bodies reach the handler as they came, and a gzipped one is not unpacked. What has no key, or another method, is served as if the middleware
// were not there.
func TestRequestsThatAreServed(t *testing.T) {
	t.Parallel()
	s, redis := newSite(t, idempotency.Options{MaxBody: 30}, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%q %v %v", body, err, idempotency.HoldOf(r.Context()) != nil)
	})
	long := strings.Repeat("x", 31)
	for name, c := range map[string]struct{ head, body, want string }{
		"ten bytes": {"POST /1 HTTP/1.1\r\nIdempotency-Key: 1\r\nContent-Length: 10", "ten bytes!", `"ten bytes!" <nil> true`},
		"chunks":    {"PATCH /2 HTTP/1.1\r\nIdempotency-Key: 2\r\nTransfer-Encoding: chunked", "3\r\nhal\r\n1\r\nf\r\n0\r\n\r\n", `"half" <nil> true`},
		"no body":   {"POST /3 HTTP/1.1\r\nIdempotency-Key: 3", "", `"" <nil> true`},
		"gzip":      {"POST /4 HTTP/1.1\r\nIdempotency-Key: 4\r\nContent-Encoding: gzip\r\nContent-Length: 4", "\x1f\x8b\b\x00", `"\x1f\x8b\b\x00" <nil> true`},
		"no key":    {"POST /5 HTTP/1.1\r\nContent-Length: 31", long, `"` + long + `" <nil> false`},
		"PUT":       {"PUT /6 HTTP/1.1\r\nIdempotency-Key: 6\r\nContent-Length: 31", long, `"` + long + `" <nil> false`},
		"GET":       {"GET /7 HTTP/1.1\r\nIdempotency-Key: 7\r\nIdempotency-Key: 7", "", `"" <nil> false`},
	} {
		for range 2 {
			if answer := s.send(c.head, c.body, false); answer.StatusCode != http.StatusOK || answer.body != c.want {
				t.Errorf("%s: %s %s, want %s", name, answer.Status, answer.body, c.want)
			}
		}
	}
	r, err := http.NewRequest(http.MethodPost, "/3", nil) // whose Body is nil, as no server's is
	testkit.Must(t, err)
	r.Header = http.Header{"Idempotency-Key": {"3"}, "X-Account": {"a"}}
	answer := httptest.NewRecorder()
	if s.Config.Handler.ServeHTTP(answer, r); answer.Body.String() != `"" <nil> true` || answer.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("without a Body: %d %s", answer.Code, answer.Body)
	}
	redistest.Await(t, "four answers in Redis, and no lock", func() bool { return len(redis.Keys()) == 4 }) // a repetition releases its lock behind its answer
}

// In an outage a request is refused, or served without its key; at once if the outage is known, and after a second if Redis is frozen.
func TestOutages(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]idempotency.OnOutage{"refused": idempotency.Refuse, "let in": idempotency.LetIn} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			e := testkit.Connect(t, redis.Addr())
			client := newClient(t, redis.Addr())
			handle := func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				fmt.Fprintf(w, "%s %v", body, err)
			}
			s := serve(t, e, client, idempotency.Options{OnOutage: on}, handle)
			patient := serve(t, e, client, idempotency.Options{OnOutage: on, Wait: time.Hour}, handle)
			check := func(what string) {
				t.Helper()
				for _, s := range []site{s, patient} {
					if on == idempotency.LetIn {
						if answer := s.wants("k", "body", http.StatusOK); answer.body != "body <nil>" {
							t.Errorf("%s: the answer is %q", what, answer.body)
						}
					} else if answer := s.wants("k", "body", http.StatusServiceUnavailable); answer.Header.Get("Retry-After") != "1" {
						t.Errorf("%s: Retry-After is %q", what, answer.Header.Get("Retry-After"))
					}
				}
			}
			redis.Freeze()
			check("frozen")
			redis.Thaw()
			redis.Kill()
			redistest.Await(t, "the outage to be known", func() bool { return !e.Up() })
			check("killed")
			e.Close()
			s.wants("k", "body", http.StatusServiceUnavailable)
		})
	}
}

// A request that has no time left is not let in: Redis is well, and another request of its key may be served now, or was before.
func TestARequestWithoutTimeIsNotLetIn(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	proxy := redistest.NewProxy(t, redis.Addr())
	var runs atomic.Int64
	on, waits := make(chan struct{}), idempotency.Options{Wait: time.Hour, OnOutage: idempotency.LetIn}
	s := serve(t, testkit.Connect(t, redis.Addr()), newClient(t, proxy.Addr()), waits, func(_ http.ResponseWriter, r *http.Request) {
		runs.Add(1)
		select {
		case <-on:
		case <-r.Context().Done():
		}
	})
	within := func(budget time.Duration) int {
		ctx, stop := context.WithTimeout(context.Background(), budget)
		defer stop()
		answer := httptest.NewRecorder()
		s.Config.Handler.ServeHTTP(answer, requestOf(t, ctx))
		return answer.Code
	}
	first := make(chan int)
	go func() { first <- within(time.Hour) }()
	redistest.Await(t, "the first request to be served", func() bool { return runs.Load() == 1 })
	if code := within(50 * time.Millisecond); code != http.StatusConflict {
		t.Errorf("while the first is served it is answered %d", code)
	}
	close(on)
	testkit.Receive(t, "the first answer", first)
	proxy.Latency(redistest.ServerToClient, 600*time.Millisecond) // the lock comes in time, and the answer of the first does not
	if code := within(300 * time.Millisecond); code != http.StatusServiceUnavailable {
		t.Errorf("when the first has been served it is answered %d", code)
	}
	if n := runs.Load(); n != 1 {
		t.Errorf("the handler ran %d times", n)
	}
}

// While the hash slot of a key is on its way to another node of a cluster, an answer waits for that, as it does for a slow Redis.
func TestAnAnswerWaitsForItsHashSlot(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 2, 0)
	const name = "idempotency:{ca978112ca1bbdcafac231b39a23dc4d:k}"
	slot, to := c.Slot(name), c.Nodes[0]
	if c.NodeOf(slot) == to {
		to = c.Nodes[1]
	}
	done := make(chan struct{})
	s := serve(t, testkit.Join(t, c), newClient(t, c.Nodes[0].Addr()), idempotency.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if c.NodeOf(slot) != to {
			move := c.BeginMove(slot, to)
			move.Keys(1) // the lock has gone, and the answer is nowhere
			go func() {
				defer close(done)
				time.Sleep(200 * time.Millisecond)
				move.Complete()
			}()
		}
		_, _ = io.WriteString(w, "done")
	})
	s.wants("k", "", http.StatusOK)
	testkit.Receive(t, "the end of the move", done)
	if answer := s.wants("k", "", http.StatusOK); !answer.replayed() {
		t.Errorf("the repetition is served again: %v", <-s.notKept)
	}
}

// An answer reaches its client also if Redis has gone while the handler ran, or does not answer. NotKept says why it is not kept.
func TestAnOutageBeforeTheStore(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*redistest.Server){"killed": (*redistest.Server).Kill, "frozen": (*redistest.Server).Freeze} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			s := serve(t, testkit.Connect(t, redis.Addr()), newClient(t, redis.Addr()), idempotency.Options{}, func(w http.ResponseWriter, r *http.Request) {
				stop(redis)
				_, _ = io.WriteString(w, "done")
			})
			if answer := s.wants("k", "", http.StatusOK); answer.body != "done" {
				t.Errorf("the answer is %q", answer.body)
			}
			testkit.Mentions(t, testkit.Receive(t, "NotKept", s.notKept), "store it")
			if name == "frozen" {
				redis.Thaw()
			}
		})
	}
}

// patience notes for how long the calls of a client may wait at least, but for an EVAL, which follows an EVALSHA.
type patience struct {
	rueidis.Client
	least atomic.Int64 // a Duration
}

func (p *patience) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if until, _ := ctx.Deadline(); cmd.Commands()[0] != "EVAL" {
		p.least.Store(min(p.least.Load(), int64(time.Until(until))))
	}
	return p.Client.Do(ctx, cmd)
}

// A long answer has more than the second that a short one has, to be stored and to be read.
func TestALongAnswerHasTime(t *testing.T) {
	t.Parallel()
	const most = 16 << 20
	redis := redistest.Start(t)
	p := &patience{Client: newClient(t, redis.Addr())}
	p.least.Store(int64(time.Hour))
	s := serve(t, testkit.Connect(t, redis.Addr()), p, idempotency.Options{MaxBody: most}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(make([]byte, most))
	})
	s.wants("k", "", http.StatusOK)
	if least := time.Duration(p.least.Load()); least <= time.Second || least > 4*time.Second {
		t.Errorf("a call waits for %v at most, want 3s", least)
	}
}

// A full Redis stores nothing, the client has its answer, and NotKept has the server's words. What else stands under the names is told as 500.
func TestAnswersThatRedisCannotStore(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	client := newClient(t, redis.Addr())
	s := serve(t, testkit.Connect(t, redis.Addr()), client, idempotency.Options{}, func(w http.ResponseWriter, r *http.Request) {
		redis.MustDo("CONFIG", "SET", "maxmemory", "1")
		_, _ = io.WriteString(w, "done")
	})
	s.wants("k", "", http.StatusOK)
	testkit.Mentions(t, testkit.Receive(t, "NotKept", s.notKept), "OOM")
	redis.MustDo("CONFIG", "SET", "maxmemory", "0")

	const name = "idempotency:{ca978112ca1bbdcafac231b39a23dc4d:k}" // the account by its hash, and the key
	for _, fill := range [][]string{{"LPUSH", name + ":answer", "x"}, {"SET", name + ":answer", "x"}, {"SET", name + ":answer", ""}, {"SET", name, "x"}} {
		redis.MustDo("DEL", name, name+":answer")
		redis.MustDo(fill...)
		s.wants("k", "", http.StatusInternalServerError)
		if is := redis.MustDo("EXISTS", fill[1]).Int; is != 1 {
			t.Errorf("%v is gone", fill)
		}
	}
}

func requestOf(t *testing.T, ctx context.Context) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/orders?n=1", nil)
	r.Header.Set("Idempotency-Key", "k")
	r.Header.Set("X-Account", "a")
	return r
}

// Who does not wait is told to come again. A client that leaves while it waits leaves nothing behind.
func TestAClientThatLeaves(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	e := testkit.Connect(t, redis.Addr())
	came, on := make(chan struct{}), make(chan struct{})
	s := serve(t, e, newClient(t, redis.Addr()), idempotency.Options{Wait: time.Hour}, func(http.ResponseWriter, *http.Request) {
		came <- struct{}{}
		<-on
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Config.Handler.ServeHTTP(httptest.NewRecorder(), requestOf(t, context.Background()))
	}()
	testkit.Receive(t, "the first request to be served", came)
	hasty := serve(t, e, newClient(t, redis.Addr()), idempotency.Options{}, func(http.ResponseWriter, *http.Request) { t.Error("the handler runs") })
	if answer := hasty.wants("k", "", http.StatusConflict); answer.Header.Get("Retry-After") != "1" {
		t.Errorf("who does not wait is told to come again after %q", answer.Header.Get("Retry-After"))
	}
	ctx, leave := context.WithCancel(context.Background())
	waiting := make(chan int)
	go func() {
		answer := httptest.NewRecorder()
		s.Config.Handler.ServeHTTP(answer, requestOf(t, ctx))
		waiting <- answer.Code
	}()
	redistest.Await(t, "the repetition to wait", func() bool { return e.Stats().Waiting == 1 })
	leave()
	if code := testkit.Receive(t, "the repetition to leave", waiting); code != http.StatusServiceUnavailable {
		t.Errorf("it is answered %d", code)
	}
	close(on)
	<-done
	redistest.Await(t, "only the answer to stand", func() bool { return len(redis.Keys()) == 1 })
}

// A handler that gives up because its client has left, and has written nothing or flushed a part, has not answered: the repetition is served. What has
// its whole length is an answer.
func TestAHandlerThatGivesUp(t *testing.T) {
	t.Parallel()
	gone := func(r *http.Request) { <-r.Context().Done() }
	for name, c := range map[string]struct {
		first func(w http.ResponseWriter, r *http.Request)
		kept  bool
	}{
		"nothing": {func(_ http.ResponseWriter, r *http.Request) { gone(r) }, false},
		"a part": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "do")
			w.(http.Flusher).Flush()
			gone(r)
		}, false},
		"all, by its length": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "4")
			_, _ = io.WriteString(w, "do")
			w.(http.Flusher).Flush()
			gone(r)
			_, _ = io.WriteString(w, "ne")
		}, true},
		"all, by its status": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			gone(r)
			w.(http.Flusher).Flush()
		}, true},
		"all, at once": {func(w http.ResponseWriter, r *http.Request) {
			gone(r)
			_, _ = io.WriteString(w, "done")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			came := make(chan struct{}, 1)
			s, _ := newSite(t, idempotency.Options{Wait: testkit.Patience}, func(w http.ResponseWriter, r *http.Request) {
				select {
				case came <- struct{}{}:
					c.first(w, r)
				default:
					_, _ = io.WriteString(w, "done")
				}
			})
			leaves := func(r *http.Request) {
				ctx, leave := context.WithCancel(r.Context())
				*r = *r.WithContext(ctx)
				go func() {
					redistest.Await(t, "the request to be served", func() bool { return len(came) == 1 })
					leave()
				}()
			}
			if answer, err := s.ask(http.MethodPost, "k", "", leaves); err == nil && !c.kept {
				t.Errorf("who has left gets %q", answer.body)
			}
			again, err := s.ask(http.MethodPost, "k", "")
			if err != nil || again.StatusCode == http.StatusOK && again.body != "done" || again.replayed() != c.kept {
				t.Errorf("the repetition is answered %q, %v, replayed %t", again.body, err, again.replayed())
			}
			if !c.kept {
				testkit.Mentions(t, testkit.Receive(t, "NotKept", s.notKept), idempotency.ErrNotKept.Error(), "the client left")
			}
		})
	}
}
