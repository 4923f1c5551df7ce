package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// happening is a line of watch.
type happening struct {
	Event, Name, Kind string
	Owner             struct{ ID, Identity string }
	Holders, Waiting  int
	Error             string
}

// watching is a watch that runs in this process.
type watching struct {
	*testing.T
	reads io.Reader
	lines *json.Decoder
	end   context.CancelFunc
	exit  chan int
	notes strings.Builder
}

// watch runs wheellock watch, until end is called at the latest.
func watch(t *testing.T, args ...string) *watching {
	reads, writes := io.Pipe()
	ctx, end := context.WithCancel(t.Context())
	w := &watching{T: t, reads: reads, lines: json.NewDecoder(reads), end: end, exit: make(chan int, 1)}
	go func() {
		w.exit <- run(ctx, patiently(append([]string{"watch"}, args...)), strings.NewReader(""), writes, &w.notes)
		writes.Close()
	}()
	t.Cleanup(func() {
		end()
		reads.Close()
	})
	return w
}

// want awaits a line of this event, past those of another number of waiters.
func (w *watching) want(event, name, identity string) (h happening) {
	w.Helper()
	for h.Event == "" || h.Event == "waiting" && event != "waiting" {
		h = happening{}
		if err := w.lines.Decode(&h); err != nil {
			w.Fatalf("waiting for %s of %s: %v", event, name, err)
		}
	}
	if h.Event != event || h.Name != name || !strings.Contains(h.Owner.Identity, identity) {
		w.Fatalf("watch tells %+v, want %s of %s, by %q", h, event, name, identity)
	}
	return h
}

// ends ends it, and complains of another exit code than 0.
func (w *watching) ends() {
	w.Helper()
	w.end()
	go io.Copy(io.Discard, w.reads) // what it tells last
	if code := testkit.Receive(w.T, "its end", w.exit); code != 0 || w.notes.Len() > 0 {
		w.Errorf("watch ended with %d, and said %q", code, w.notes.String())
	}
}

// watch hears of each change from Redis, without an interval, and is no waiter for anybody.
func TestWatch(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Identity = "a@pod-1" })
	b := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Identity = "b@pod-2" })
	w := watch(t, "--interval", "1h", "--redis", server.URL(), "stock:7")
	w.want("free", "stock:7", "")
	h := testkit.MustLock(t, a.FencedMutex("stock:7"))
	if got := w.want("granted", "stock:7", "a@pod-1"); got.Owner.ID != h.TenureID() || got.Kind != "fenced" || got.Holders != 1 {
		t.Errorf("granted: %+v", got)
	}
	if said, _ := inside(t, 0, "show", "stock:7", "--redis", server.URL()); !strings.Contains(said, "waiting    0 processes") {
		t.Errorf("watch counts as a waiter: %s", said)
	}
	next := b.FencedMutex("stock:7").LockAsync(testkit.Soon(t))
	if got := w.want("waiting", "stock:7", ""); got.Waiting != 1 {
		t.Errorf("waiting: %+v", got)
	}
	testkit.MustUnlock(t, h)
	w.want("freed", "stock:7", "a@pod-1")
	if got := w.want("granted", "stock:7", "b@pod-2"); got.Waiting != 0 {
		t.Errorf("granted to the waiter: %+v", got)
	}
	testkit.MustWait(t, next)
	server.MustDo("DEL", "stock:7")
	w.want("freed", "stock:7", "b@pod-2")
	// The process of this owner has died.
	server.MustDo("EVAL", `redis.call('HSET', KEYS[1], '11111111-1111-1111-1111-111111111111:1', 1) redis.call('PEXPIRE', KEYS[1], 1000)`, "1", "stock:7")
	w.want("granted", "stock:7", "")
	w.want("lost", "stock:7", "")
	h = testkit.MustLock(t, a.FencedMutex("stock:7"), engine.WithMinHold(2*time.Second))
	w.want("granted", "stock:7", "a@pod-1")
	testkit.MustUnlock(t, h)
	w.want("detached", "stock:7", "a@pod-1")
	w.want("freed", "stock:7", "a@pod-1")
	w.ends()
}

// Of permits and of many readers it tells how many there are; each owner is told of at the beginning.
func TestWatchOfSeveralHolders(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a, b := testkit.Connect(t, server.Addr()), testkit.Connect(t, server.Addr())
	read := testkit.MustLock(t, a.RWMutex("rw").Reader())
	testkit.MustLock(t, b.RWMutex("rw").Reader())
	w := watch(t, "--interval", "1h", "--redis", server.URL(), "rw", "pool", "rw")
	w.want("free", "pool", "")
	w.want("held", "rw", ".test@")
	w.want("held", "rw", ".test@")
	testkit.MustUnlock(t, read)
	if got := w.want("freed", "rw", ".test@"); got.Owner.ID != read.TenureID() || got.Holders != 1 {
		t.Errorf("a reader has gone: %+v, want %s", got, read.TenureID())
	}
	for i := range 2 {
		testkit.MustLock(t, a.Limit("pool", 2))
		if got := w.want("granted", "pool", ""); got.Holders != i+1 || got.Kind != "permits" {
			t.Errorf("a permit: %+v", got)
		}
	}
	server.MustDo("DEL", "pool", "{pool}:timeout")
	w.want("freed", "pool", "")
	w.ends()
}

// Without the right to CLIENT TRACKING it says so, and sees what it finds; --count and --for end it.
func TestWatchWithoutTracking(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	w := watch(t, "--interval", "100ms", "--count", "2", "--redis", asUser(server, "~*", "&*", "+@all", "-client|tracking"), "stock:7")
	w.want("free", "stock:7", "")
	testkit.MustLock(t, e.Mutex("stock:7"))
	w.want("granted", "stock:7", ".test@")
	if code := testkit.Receive(t, "its end", w.exit); code != 0 || !strings.Contains(w.notes.String(), "changes show every 100ms") {
		t.Errorf("watch ended with %d, and said %q", code, w.notes.String())
	}
	if _, said := inside(t, 0, "watch", "--count", "1", "--redis", server.URL()+"?protocol=2", "stock:7"); !strings.Contains(said, "there is no RESP3") {
		t.Errorf("without RESP3 it says %q", said)
	}
	said, _ := inside(t, 0, "watch", "--for", "10ms", "--redis", server.URL(), "stock:7")
	if strings.Count(said, "\n") > 1 {
		t.Errorf("--for: %s", said)
	}
}

// While Redis cannot be asked, it says that it is blind, and afterwards what is there.
func TestWatchIsBlind(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	testkit.MustLock(t, testkit.Connect(t, server.Addr()).Mutex("stock:7"))
	w := watch(t, "--interval", "100ms", "--redis", server.URL(), "stock:7")
	w.want("held", "stock:7", ".test@")
	server.Kill()
	if got := w.want("blind", "", ""); got.Error == "" {
		t.Error("it does not say why")
	}
	server.Restart()
	if got := w.want("free", "stock:7", ""); got.Holders != 0 {
		t.Errorf("afterwards: %+v", got)
	}
	server.MustDo("REPLICAOF", "127.0.0.1", "1")
	if got := w.want("blind", "", ""); !strings.Contains(got.Error, "not connected to it") {
		t.Errorf("of a replica that is cut off it says %q", got.Error)
	}
	server.MustDo("REPLICAOF", "NO", "ONE")
	w.want("free", "stock:7", "")
	w.ends()
}

// A server that stands still is told in words of its own, and not in those of a socket.
func TestWatchOfAServerThatStandsStill(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	w := watch(t, "--interval", "100ms", "--redis", server.URL()+"?write_timeout=500ms", "stock:7")
	w.want("free", "stock:7", "")
	server.Freeze()
	if got := w.want("blind", "", ""); got.Error != "Redis: no answer in time" {
		t.Errorf("it says %q", got.Error)
	}
	server.Thaw()
	w.want("free", "stock:7", "")
	w.ends()
}
