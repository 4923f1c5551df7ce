package httplock_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"

	"github.com/wheellock/wheellock/contrib/httplock"
)

// limitOf is a limit of n for each Idempotency-Key.
func limitOf(n int, with ...func(*httplock.LimitOptions)) httplock.LimitOptions {
	o := httplock.LimitOptions{Key: httplock.IdempotencyKey, N: func(string) int { return n }}
	for _, change := range with {
		change(&o)
	}
	return o
}

func limited(t *testing.T, e *engine.Engine, o httplock.LimitOptions, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	limit, err := httplock.Limit(e, o)
	testkit.Must(t, err)
	site := httptest.NewServer(limit(handle))
	t.Cleanup(site.Close)
	return site
}

// Many requests at once, to two processes: never more than n of a key are inside. If they wait, all are served; if not, the others are told to
// come again.
func TestLimitOfRequests(t *testing.T) {
	t.Parallel()
	const requests, n = 400, 3
	for name, wait := range map[string]time.Duration{"waiting": testkit.Patience, "not waiting": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			var inside, most, ok, refused atomic.Int64
			handle := func(http.ResponseWriter, *http.Request) {
				now := inside.Add(1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				time.Sleep(100 * time.Microsecond) // sleeps: how long the request takes
				inside.Add(-1)
			}
			var sites []*httptest.Server
			for range 2 {
				e := testkit.Connect(t, redis.Addr(), func(o *engine.Options) { o.AnswerTimeout = testkit.Patience }) // of a busy machine
				sites = append(sites, limited(t, e, limitOf(n, func(o *httplock.LimitOptions) { o.Wait = wait }), handle))
			}
			var wg sync.WaitGroup
			for i := range requests {
				wg.Go(func() {
					switch answer, err := post(t, sites[i%2], "a"); {
					case err != nil:
						t.Error(err)
					case answer.StatusCode == http.StatusOK:
						ok.Add(1)
					case answer.StatusCode == http.StatusTooManyRequests && answer.Header.Get("Retry-After") == "1":
						refused.Add(1)
					default:
						t.Error(answer.Status, answer.Header)
					}
				})
			}
			wg.Wait()
			t.Logf("%d served, %d told to come again, %d inside at most", ok.Load(), refused.Load(), most.Load())
			if most.Load() > n || ok.Load()+refused.Load() != requests || ok.Load() == 0 || wait > 0 && refused.Load() > 0 {
				t.Errorf("%d were inside, of a limit of %d; %d served, %d refused", most.Load(), n, ok.Load(), refused.Load())
			}
		})
	}
}

// In an outage a request is refused, or so many of a key are let in.
func TestLimitInAnOutage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		on      httplock.OnOutage
		here    int
		answers []int // to requests of one key that come one inside the other
	}{
		"refused": {httplock.Refuse, 0, []int{503}}, "let in": {httplock.LetInHere, 2, []int{200, 200, 503}},
	} {
		virtual.Test(t, func(w *virtual.World) {
			e, link := w.Connect()
			var site http.Handler
			var answers []int
			ask := func(key string) int {
				r := httptest.NewRequestWithContext(w.T.Context(), http.MethodPost, "/", nil)
				r.Header.Set("Idempotency-Key", key)
				answer := httptest.NewRecorder()
				site.ServeHTTP(answer, r)
				return answer.Code
			}
			limit, err := httplock.Limit(e, limitOf(5, func(o *httplock.LimitOptions) {
				o.OnOutage, o.Here, o.Wait = c.on, c.here, 50*time.Millisecond
			}))
			testkit.Must(w.T, err)
			site = limit(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if httplock.IdempotencyKey(r) == "a" {
					answers = append(answers, ask("a"))
				}
			}))
			link.Down.Lose(time.Now().Add(time.Hour))
			for range 2 { // who has left makes room
				answers = nil
				answers = append(answers, ask("a"))
				for i := range c.answers {
					if len(answers) != len(c.answers) || answers[len(answers)-1-i] != c.answers[i] {
						w.T.Errorf("%s: answered %v from the inside out, want %v", name, answers, c.answers)
						break
					}
				}
			}
			if got := ask("b"); c.here > 0 && got != http.StatusOK {
				w.T.Errorf("%s: another key is answered %d", name, got)
			}
		})
	}
}

// A panic gives the permit back; numbers that are no limit, keys that are no names, and what is no semaphore have an answer.
func TestLimitAnswers(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	redis.MustDo("SET", "limit:text", "x")
	e := testkit.Connect(t, redis.Addr())
	n := 1
	site := limited(t, e, limitOf(0, func(o *httplock.LimitOptions) { o.N = func(string) int { return n } }), func(_ http.ResponseWriter, r *http.Request) {
		if hold := httplock.HoldOf(r.Context()); hold == nil || hold.Name() != "limit:a" {
			t.Errorf("the hold is %v", hold)
		}
		panic(http.ErrAbortHandler)
	})
	if _, err := post(t, site, "a"); err == nil {
		t.Error("a request whose handler panics has an answer")
	}
	redistest.Await(t, "the permit to be back", func() bool {
		held, err := e.PermitSemaphore("limit:a").Acquired(context.Background())
		return err == nil && held == 0
	})
	wants(t, site, "text", http.StatusInternalServerError)
	wants(t, site, strings.Repeat("a", 1020), http.StatusBadRequest)
	n = 0
	wants(t, site, "a", http.StatusInternalServerError)
}

func TestLimitOptions(t *testing.T) {
	t.Parallel()
	e := testkit.Connect(t, redistest.Start(t).Addr())
	for want, o := range map[string]httplock.LimitOptions{
		"Key and N": {},
		"Wait -1s":  limitOf(1, func(o *httplock.LimitOptions) { o.Wait = -time.Second }),
		"OnOutage":  limitOf(1, func(o *httplock.LimitOptions) { o.OnOutage = 7 }),
		"Here 0":    limitOf(1, func(o *httplock.LimitOptions) { o.OnOutage = httplock.LetInHere }),
		"Here 1":    limitOf(1, func(o *httplock.LimitOptions) { o.Here = 1 }),
	} {
		if _, err := httplock.Limit(e, o); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one about %s", err, want)
		}
	}
	testkit.WantIs(t, "without an engine", testkit.ResultOf(httplock.Limit(nil, limitOf(1))), engine.ErrInvalid)
}
