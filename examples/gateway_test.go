package examples

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// gateway is examples/gateway as it runs.
type gateway struct {
	*program
	at   string
	keys atomic.Int64
}

func startGateway(t *testing.T, redis string, args ...string) *gateway {
	t.Helper()
	g := &gateway{program: start(t, "gateway", redis, append(args, "-listen", "127.0.0.1:0")...)}
	g.at = g.url()
	return g
}

func (g *gateway) order(tenant, key string) answer {
	g.t.Helper()
	return send(g.t, http.MethodPost, g.at+"/orders", "Tenant", tenant, "Idempotency-Key", key)
}

func (g *gateway) report(tenant string) answer {
	g.t.Helper()
	return send(g.t, http.MethodGet, g.at+"/reports", "Tenant", tenant)
}

func (g *gateway) export(tenant string) answer {
	g.t.Helper()
	return send(g.t, http.MethodPost, g.at+"/exports", "Tenant", tenant)
}

func (g *gateway) awaitReady(ready bool) {
	g.t.Helper()
	redistest.Await(g.t, fmt.Sprintf("that it is ready: %t", ready), func() bool {
		return send(g.t, http.MethodGet, g.at+"/ready").status == http.StatusOK == ready
	})
}

// burst has five tenants order, report and export at once. Of each kind it wants that answer, or any if the status is 0.
func (g *gateway) burst(within time.Duration, orders, reports, exports int) {
	g.t.Helper()
	var wg sync.WaitGroup
	for i := range 5 {
		tenant := fmt.Sprintf("tenant %d", i)
		for kind, c := range map[string]struct {
			want int
			send func() answer
		}{
			"order":  {orders, func() answer { return g.order(tenant, fmt.Sprint(g.keys.Add(1))) }},
			"report": {reports, func() answer { return g.report(tenant) }},
			"export": {exports, func() answer { return g.export(tenant) }},
		} {
			wg.Go(func() {
				began := time.Now()
				got := c.send()
				if took := time.Since(began); c.want != 0 && got.status != c.want || took > within {
					g.t.Errorf("%s of %s: %v after %v, want %d", kind, tenant, got, took, c.want)
				}
				if asks := got.status == http.StatusTooManyRequests || got.status == http.StatusServiceUnavailable; asks != (got.header.Get("Retry-After") != "") {
					g.t.Errorf("%s: %v with the headers %v", kind, got, got.header)
				}
			})
		}
	}
	wg.Wait()
}

// stopsCleanly ends it, and wants it to leave no lock behind.
func (g *gateway) stopsCleanly(server *redistest.Server) {
	g.t.Helper()
	g.stop()
	if lines := g.ends(); !slices.Equal(lines, []string{"stopping", "stopped"}) {
		g.t.Errorf("the gateway said %q at its end", lines)
	}
	redistest.Await(g.t, "that no lock is left", func() bool {
		return !slices.ContainsFunc(server.Keys(), func(key string) bool { return strings.HasPrefix(key, "tenant:") || strings.HasSuffix(key, ":timeout") })
	})
}

func TestGateway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	g := startGateway(t, server.URL())
	other := testkit.Connect(t, server.Addr()) // stands for another gateway
	want := func(what string, got answer, status int, body string) {
		t.Helper()
		if got.status != status || got.body != body {
			t.Errorf("%s: %v, want %d %q", what, got, status, body)
		}
	}
	want("an order", g.order("acme", "a"), 200, "served")
	again := g.order("acme", "a")
	want("its repetition", again, 200, "served")
	if again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the repetition has the headers %v", again.header)
	}

	lock := testkit.MustLock(t, other.Mutex("tenant:acme"))
	want("an order beside another", g.order("acme", "b"), 429, "busy")
	want("another tenant's", g.order("globex", "b"), 200, "served")
	testkit.MustUnlock(t, lock)
	want("the order sent again", g.order("acme", "b"), 200, "served")

	limit := testkit.MustLock(t, other.Limit("limit:acme", 3).Of(3))
	want("a report beside three", g.report("acme"), 429, "Too Many Requests")
	want("an export beside three", g.export("acme"), 429, "busy")
	testkit.MustUnlock(t, limit)
	backend := testkit.MustLock(t, other.Limit("backend", 10).Of(7))
	want("an export without room in the backend", g.export("acme"), 429, "busy")
	if free, err := other.PermitSemaphore("limit:acme").Available(t.Context()); free != 3 || err != nil {
		t.Errorf("the tenant has %d places after it: %v", free, err)
	}
	testkit.MustUnlock(t, backend)
	want("an export", g.export("acme"), 200, "served")
	want("a report", g.report("acme"), 200, "served")

	before := server.Keys()
	for _, tenant := range []string{"", strings.Repeat("x", 2000)} {
		want("an order of no tenant", g.order(tenant, ""), 400, "no such tenant")
	}
	want("a report of no tenant", g.report(""), 400, "no such tenant")
	want("an export of no tenant", g.export(""), 400, "no such tenant")
	if after := server.Keys(); len(after) > len(before) {
		t.Errorf("no tenant left keys: %q, before %q", after, before)
	}
	g.stopsCleanly(server)
}

// While it is known that Redis is down, all that needs Redis is refused at once, although its budget is a minute, and reports are let in.
// Afterwards all is served.
func TestGatewayOutlivesRedis(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]struct{ begin, end func(*redistest.Server) }{
		"killed": {(*redistest.Server).Kill, (*redistest.Server).Restart},
		"frozen": {(*redistest.Server).Freeze, (*redistest.Server).Thaw},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			g := startGateway(t, server.URL(), "-budget", "80s") // a quarter for the locks
			const atOnce, soon = 5 * time.Second, testkit.Patience
			g.burst(soon, 200, 200, 200)
			outage.begin(server)
			g.burst(soon, 503, 200, 503) // it has its answers when the engine knows
			g.awaitReady(false)
			for range 3 {
				g.burst(atOnce, 503, 200, 503)
			}
			outage.end(server)
			g.awaitReady(true)
			g.burst(soon, 200, 200, 200)
			g.stopsCleanly(server)
		})
	}
}

// Before anybody knows that Redis stands still, a request is answered within its budget.
func TestGatewayKeepsItsBudget(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	g := startGateway(t, server.URL()+"?write_timeout=8s", "-budget", "400ms") // so late it is known
	server.Freeze()
	g.burst(5*time.Second, 503, 200, 503)
	g.awaitReady(true) // it is not known yet
	server.Thaw()
	redistest.Await(t, "that orders are served", func() bool { return g.order("acme", "a").status == 200 })
	g.stopsCleanly(server)
}

// The Go code of docs/GATEWAY.md and docs/ELECTION.md is that of programs and examples that tests run, but for its indentation.
func TestThePagesAreTheCode(t *testing.T) {
	t.Parallel()
	flat := func(text string) string { return regexp.MustCompile(`(?m)^\s+`).ReplaceAllString(text, "") }
	code := ""
	for _, path := range []string{"gateway/main.go", "../contrib/grpclock/example_test.go", "../engine/elect/example_test.go"} {
		text, err := os.ReadFile(filepath.FromSlash(path))
		testkit.Must(t, err)
		code += flat(string(text))
	}
	for _, block := range append(testkit.CodeBlocks(t, "docs/GATEWAY.md", "go"), testkit.CodeBlocks(t, "docs/ELECTION.md", "go")...) {
		if !strings.Contains(code, flat(block)) {
			t.Errorf("no test runs this code of the page:\n%s", block)
		}
	}
}
