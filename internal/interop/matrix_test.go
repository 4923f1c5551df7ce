package interop

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// pair is Redisson and an engine of ours on one server, or on the nodes of a cluster.
type pair struct {
	server *redistest.Server   // the first of nodes
	nodes  []*redistest.Server // masters
	java   *Side
	*engine.Engine
}

func newPair(t *testing.T, opts engine.Options, flags ...string) *pair {
	t.Helper()
	p := newServers(t, false)
	p.java, p.Engine = StartRedisson(t, p.server, flags...), open(t, p.server, opts)
	return p
}

// newServers is a pair with nobody on its server, or on its three masters.
func newServers(t *testing.T, cluster bool) *pair {
	t.Helper()
	requireJava(t)
	if cluster {
		nodes := redistest.StartCluster(t, 3, 0).Nodes
		return &pair{server: nodes[0], nodes: nodes}
	}
	server := redistest.Start(t)
	return &pair{server: server, nodes: []*redistest.Server{server}}
}

// addrs are those of the nodes.
func (p *pair) addrs() []string {
	var all []string
	for _, node := range p.nodes {
		all = append(all, node.Addr())
	}
	return all
}

// urls are their addresses as Redisson takes them.
func (p *pair) urls() string {
	var all []string
	for _, node := range p.nodes {
		all = append(all, node.URL())
	}
	return strings.Join(all, ",")
}

// TestMatrix: each side waits for the other and is woken by its message, sees its hold, and can force it.
func TestMatrix(t *testing.T) {
	t.Parallel()
	p := newPair(t, engine.Options{})
	for _, k := range kinds {
		t.Run(k.redisson+": ours holds, Redisson waits", func(t *testing.T) { p.theyWait(t, k) })
		t.Run(k.redisson+": Redisson holds, ours waits", func(t *testing.T) { p.weWait(t, k) })
		t.Run(k.redisson+": ours is seen by Redisson", func(t *testing.T) { p.theySee(t, k) })
		t.Run(k.redisson+": Redisson's is seen by us", func(t *testing.T) { p.weSee(t, k) })
		t.Run(k.redisson+": ours is forced by Redisson", func(t *testing.T) { p.theyForce(t, k) })
		t.Run(k.redisson+": Redisson's is forced by us", func(t *testing.T) { p.weForce(t, k) })
	}
}

// TestMatrixWithNameMapper is the same with a prefix on both sides.
func TestMatrixWithNameMapper(t *testing.T) {
	t.Parallel()
	p := newPair(t, engine.Options{NameMapper: func(name string) string { return "shop:" + name }}, "--prefix", "shop:")
	for _, k := range kinds {
		t.Run(k.redisson, func(t *testing.T) {
			p.theyWait(t, k)
			p.weWait(t, k)
			p.theySee(t, k)
			p.weSee(t, k)
			p.theyForce(t, k)
			p.weForce(t, k)
		})
	}
	names := append(p.server.Keys(), p.server.Subscriptions().Channels...)
	if stray := slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "shop:") || strings.Contains(name, "{shop:") }); len(stray) > 0 {
		t.Errorf("without the prefix: %q", stray)
	}
}

func (p *pair) theyWait(t *testing.T, k kind) {
	name := "held:" + k.redisson
	h := lock(t, k.other().lock(p.Engine, name))
	if got := p.java.Do("try %s %s %s", k.redisson, name, k.redisson); got != "false" {
		t.Errorf("Redisson's tryLock beside our hold = %s", got)
	}
	answer := p.java.Start("lock %s %s %s", k.redisson, name, k.redisson)
	p.awaitWaiter(t, k, name)
	if !k.polls {
		p.awaitSleeper(t)
	}
	unlock(t, h)
	woken(t, answer, "Redisson's waiter")
	p.java.Do("unlock %s %s %s", k.redisson, name, k.redisson)
}

func (p *pair) weWait(t *testing.T, k kind) {
	name, holder := "theirs:"+k.redisson, k.other().redisson
	p.java.Do("lock %s %s %s", holder, name, k.redisson)
	if _, err := k.lock(p.Engine, name).TryLock(context.Background()); !errors.Is(err, engine.ErrHeld) {
		t.Errorf("our TryLock beside Redisson's hold = %v", err)
	}
	waiter := k.lock(p.Engine, name).LockAsync(context.Background())
	p.awaitWaiter(t, k, name)
	p.java.Do("unlock %s %s %s", holder, name, k.redisson)
	within, cancel := context.WithTimeout(context.Background(), byMessage)
	defer cancel()
	h, err := waiter.Wait(within)
	if err != nil {
		t.Fatalf("our waiter after Redisson's unlock: %v", err)
	}
	unlock(t, h)
}

func (p *pair) theySee(t *testing.T, k kind) {
	name := "ours:" + k.redisson
	p.wantTheirView(t, k, name, "false", "free")
	h := lock(t, k.lock(p.Engine, name))
	p.wantTheirView(t, k, name, "true", "held")
	if token, fenced := h.Token(); fenced {
		if seen := number(p.java.Do("token %s", name)); seen < token {
			t.Errorf("Redisson sees token %d after ours was %d", seen, token)
		}
	}
	unlock(t, h)
	p.wantTheirView(t, k, name, "false", "free")
}

// wantTheirView asks what Redisson sees: it holds nothing itself.
func (p *pair) wantTheirView(t *testing.T, k kind, name, locked, when string) {
	t.Helper()
	for question, want := range map[string]string{"locked %s %s": locked, "heldby %[1]s %[2]s %[1]s": "false", "count %[1]s %[2]s %[1]s": "0"} {
		if got := p.java.Do(question, k.redisson, name); got != want {
			t.Errorf("%s: Redisson's "+question+" of our lock = %s, want %s", when, k.redisson, name, got, want)
		}
	}
	ttl := number(p.java.Do("ttl %s %s", k.redisson, name))
	if locked == "true" && (ttl <= 20_000-byMessage.Milliseconds() || ttl > 30_000) || locked == "false" && ttl != -2 {
		t.Errorf("%s: Redisson's remainTimeToLive of our lock = %d ms", when, ttl)
	}
}

func (p *pair) weSee(t *testing.T, k kind) {
	name, m := "seen:"+k.redisson, k.lock(p.Engine, "seen:"+k.redisson)
	p.java.Do("lock %s %s %s", k.redisson, name, k.redisson)
	p.java.Do("lock %s %s %s", k.redisson, name, k.redisson)
	state, err := m.Inspect(context.Background())
	if err != nil || !state.Locked || state.Ours || !strings.HasPrefix(state.Owner, p.java.Do("owner %s", k.redisson)) || state.Count != 2 || state.TTL <= 0 {
		t.Errorf("Inspect of Redisson's hold = %+v, %v", state, err)
	}
	if token := p.java.Do("token %s", name); k.redisson == "fenced" && token != strconv.FormatInt(state.Token, 10) {
		t.Errorf("Inspect tells the token %d, Redisson %s", state.Token, token)
	}
	p.java.Do("unlock %s %s %s", k.redisson, name, k.redisson)
	p.java.Do("unlock %s %s %s", k.redisson, name, k.redisson)
	if state, err := m.Inspect(context.Background()); err != nil || state.Locked {
		t.Errorf("Inspect after Redisson's unlock = %+v, %v", state, err)
	}
}

func (p *pair) theyForce(t *testing.T, k kind) {
	name := "forced:" + k.redisson
	h := lock(t, k.lock(p.Engine, name))
	if got := p.java.Do("force %s %s", k.redisson, name); got != "true" {
		t.Errorf("Redisson's forceUnlock of our hold = %s", got)
	}
	if err := h.Unlock(context.Background()); !errors.Is(err, engine.ErrLost) {
		t.Errorf("Unlock after Redisson's forceUnlock = %v, want ErrLost", err)
	}
}

func (p *pair) weForce(t *testing.T, k kind) {
	name := "ours-forces:" + k.redisson
	p.java.Do("lock %s %s %s", k.redisson, name, k.redisson)
	if freed, err := k.lock(p.Engine, name).ForceUnlock(context.Background()); !freed || err != nil {
		t.Errorf("ForceUnlock of Redisson's hold = %t, %v", freed, err)
	}
	// Redisson's fair lock takes the unlocking of a lock that is gone for success.
	if answer, ok := p.java.Try("unlock %s %s %s", k.redisson, name, k.redisson); ok != (k.redisson == "fair") || !ok && !strings.Contains(answer, "IllegalMonitorState") {
		t.Errorf("Redisson's unlock after our ForceUnlock = %s", answer)
	}
}

// TestReadersOfBothSides read together, and keep the writers of both sides out, until the last of them has left.
func TestReadersOfBothSides(t *testing.T) {
	t.Parallel()
	p := newPair(t, engine.Options{})
	rw, ctx := p.RWMutex("shelf"), context.Background()
	p.java.Do("lock read shelf r1")
	first, second := lock(t, rw.Reader()), lock(t, p.RWMutex("shelf").Reader())
	p.java.Do("lock read shelf r2")
	if _, err := rw.Writer().TryLock(ctx); !errors.Is(err, engine.ErrHeld) {
		t.Errorf("our writer beside readers = %v", err)
	}
	if got := p.java.Do("try write shelf w1"); got != "false" {
		t.Errorf("Redisson's writer beside readers = %s", got)
	}
	theirs := p.java.Start("lock write shelf w1")
	p.awaitWaiter(t, kind{}, "shelf")
	ours := rw.Writer().LockAsync(ctx)
	p.java.Do("unlock read shelf r1")
	unlock(t, first)
	unlock(t, second)
	if _, err := ours.Result(); err == nil || len(theirs) > 0 {
		t.Error("a writer came in beside Redisson's second reader")
	}
	p.java.Do("unlock read shelf r2")
	select { // one writer after the other, in whatever order
	case <-ours.Done():
		h, err := ours.Result()
		if err != nil {
			t.Fatalf("our writer after the last reader: %v", err)
		}
		p.awaitSleeper(t) // our message wakes Redisson's writer only when it sleeps
		unlock(t, h)
		woken(t, theirs, "Redisson's writer")
		p.java.Do("unlock write shelf w1")
	case line := <-theirs:
		if said, ok := read(line); !ok {
			t.Fatalf("Redisson's writer after the last reader: %s", said)
		}
		p.java.Do("unlock write shelf w1")
		within, cancel := context.WithTimeout(ctx, byMessage)
		defer cancel()
		h, err := ours.Wait(within)
		if err != nil {
			t.Fatalf("our writer after Redisson's: %v", err)
		}
		unlock(t, h)
	case <-time.After(byMessage):
		t.Fatal("no writer came in after the last reader")
	}
}
