package idempotency_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/contrib/idempotency"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// member is a process that serves orders, counts them in Redis, and stands still at a step: before or after a command of the store, or in the work.
func member(addr, step string) {
	ctx := context.Background()
	option := rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true}
	e, err := engine.Open(ctx, engine.Options{Redis: option, Lease: 3 * time.Second})
	check(err)
	client, err := rueidis.NewClient(option)
	check(err)
	once, err := idempotency.New(e, steps{client, step}, idempotency.Options{Client: byHeader, Wait: time.Minute})
	check(err)
	orders := httptest.NewServer(once(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		run, err := client.Do(ctx, client.B().Incr().Key("runs").Build()).AsInt64()
		check(err)
		steps{nil, step}.at("in the work")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "run %d", run)
	})))
	fmt.Println(orders.URL)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// steps is a client that stands still at a step.
type steps struct {
	rueidis.Client
	stop string
}

func (s steps) at(step string) {
	if step == s.stop {
		fmt.Println("there")
		select {}
	}
}

func (s steps) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	command := cmd.Commands()[0]
	s.at("before " + command)
	result := s.Client.Do(ctx, cmd)
	if result.Error() == nil { // no NOSCRIPT: EVAL comes next
		s.at("after " + command)
	}
	return result
}

// process is a member, as the test sees it.
type process struct {
	site
	cmd *exec.Cmd
	out *bufio.Scanner
}

func startProcess(t *testing.T, redis *redistest.Server, step string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), "IDEMPOTENCY_TEST_REDIS="+redis.Addr(), "IDEMPOTENCY_TEST_STEP="+step), os.Stderr
	in, err := p.cmd.StdinPipe()
	testkit.Must(t, err)
	out, err := p.cmd.StdoutPipe()
	testkit.Must(t, err)
	p.out = bufio.NewScanner(out)
	testkit.Must(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	p.site = site{Server: &httptest.Server{URL: p.says(t)}, t: t, by: &http.Transport{DisableKeepAlives: true}}
	return p
}

func (p *process) says(t *testing.T) string {
	t.Helper()
	if !p.out.Scan() {
		t.Fatalf("a process has ended: %v", p.out.Err())
	}
	return p.out.Text()
}

// Of requests of one key to several processes at once, one is served, and all get its answer.
func TestProcessesServeOnce(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	var wg sync.WaitGroup
	for range 4 {
		p := startProcess(t, redis, "")
		for range 8 {
			wg.Go(func() {
				if answer, err := p.ask(http.MethodPost, "k", "order"); err != nil || answer.StatusCode != http.StatusCreated || answer.body != "run 1" {
					t.Errorf("%v, %v", answer, err)
				}
			})
		}
	}
	wg.Wait()
	if runs := redis.MustDo("GET", "runs").Text; runs != "1" {
		t.Errorf("the work ran %s times", runs)
	}
}

// If a process is killed before its work, the repetition is served, and the work runs once; after the store, the repetition gets its
// answer. In the work, and between the work and the store, nothing but the work itself knows that it was done: it runs again.
func TestAProcessIsKilled(t *testing.T) {
	t.Parallel()
	for step, c := range map[string]struct {
		runs     string
		replayed bool
	}{
		"before GET":     {"1", false},
		"in the work":    {"2", false},
		"before EVALSHA": {"2", false},
		"after EVAL":     {"1", true},
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			first, second := startProcess(t, redis, step), startProcess(t, redis, "")
			gone := make(chan error)
			go func() {
				_, err := first.ask(http.MethodPost, "k", "order")
				gone <- err
			}()
			if said := first.says(t); said != "there" {
				t.Fatalf("a process said %q", said)
			}
			testkit.Must(t, first.cmd.Process.Kill())
			if err := <-gone; err == nil {
				t.Error("a request to a process that was killed has an answer")
			}
			for i := range 2 {
				answer := second.wants("k", "order", http.StatusCreated)
				if answer.body != "run "+c.runs || answer.replayed() != (c.replayed || i > 0) {
					t.Errorf("the repetition is answered %q, a replay: %v", answer.body, answer.replayed())
				}
			}
			if runs := redis.MustDo("GET", "runs").Text; runs != c.runs {
				t.Errorf("the work ran %s times, want %s", runs, c.runs)
			}
		})
	}
}
