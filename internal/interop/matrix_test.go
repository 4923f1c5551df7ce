package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
)

// kinds are the locks that have an owner, by Redisson's name.
var kinds = []struct {
	redisson string
	lock     func(e *engine.Engine, name string) *engine.Mutex
	polls    bool // its waiters poll, so no message wakes them
	shared   bool // holders do not exclude each other
}{
	{redisson: "lock", lock: (*engine.Engine).Mutex},
	{redisson: "fenced", lock: (*engine.Engine).FencedMutex},
	{redisson: "spin", lock: (*engine.Engine).SpinMutex, polls: true},
	{redisson: "fair", lock: (*engine.Engine).FairMutex},
	{redisson: "write", lock: func(e *engine.Engine, name string) *engine.Mutex { return e.RWMutex(name).Writer() }},
	{redisson: "read", lock: func(e *engine.Engine, name string) *engine.Mutex { return e.RWMutex(name).Reader() }, shared: true},
}

// byMessage is below any lease and any poll of what waits in this package's tests, and far above a message's way,
// also on a machine so busy that Java hardly runs.
const byMessage = 15 * time.Second

// contention is how long both sides contend: WHEELLOCK_CONTEND=20s for a full run.
func contention(t *testing.T) time.Duration {
	if text := os.Getenv("WHEELLOCK_CONTEND"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	return 2 * time.Second
}

// open opens an engine whose waiters are woken by messages or not at all.
func open(t *testing.T, server *redistest.Server, opts engine.Options) *engine.Engine {
	t.Helper()
	opts.Redis = rueidis.ClientOption{InitAddress: []string{server.Addr()}}
	if opts.PollCap == 0 {
		opts.PollCap = time.Hour
	}
	e, err := engine.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func unlock(t *testing.T, h *engine.Hold) {
	t.Helper()
	if err := h.Unlock(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestRedissonAndWheellock(t *testing.T) {
	server := redistest.Start(t)
	java := StartRedisson(t, server)
	e := open(t, server, engine.Options{})
	ctx := context.Background()
	for _, k := range kinds {
		// A reader waits for a writer; everybody else for one of their own.
		holder, holds := k.redisson, k.lock
		if k.shared {
			holder, holds = "write", func(e *engine.Engine, name string) *engine.Mutex { return e.RWMutex(name).Writer() }
		}
		t.Run(k.redisson+": ours holds, Redisson waits", func(t *testing.T) {
			name := "held:" + k.redisson
			h, err := holds(e, name).Lock(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if got := java.Do("try %s %s t1", k.redisson, name); got != "false" {
				t.Errorf("Redisson's tryLock beside our hold = %s", got)
			}
			answer := java.Start("lock %s %s t1", k.redisson, name)
			awaitWaiter(t, server, k.polls)
			unlock(t, h)
			woken(t, answer, "Redisson's waiter")
			java.Do("unlock %s %s t1", k.redisson, name)
		})
		t.Run(k.redisson+": Redisson holds, ours waits", func(t *testing.T) {
			name := "theirs:" + k.redisson
			java.Do("lock %s %s t1", holder, name)
			if _, err := k.lock(e, name).TryLock(ctx); !errors.Is(err, engine.ErrHeld) {
				t.Errorf("our TryLock beside Redisson's hold = %v", err)
			}
			waiter := k.lock(e, name).LockAsync(ctx)
			awaitWaiter(t, server, k.polls)
			java.Do("unlock %s %s t1", holder, name)
			within, cancel := context.WithTimeout(ctx, byMessage)
			defer cancel()
			h, err := waiter.Wait(within)
			if err != nil {
				t.Fatalf("our waiter after Redisson's unlock: %v", err)
			}
			unlock(t, h)
		})
		t.Run(k.redisson+": seen from the other side", func(t *testing.T) {
			name := "seen:" + k.redisson
			h, err := k.lock(e, name).Lock(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if got := java.Do("locked %s %s", k.redisson, name); got != "true" {
				t.Errorf("Redisson's isLocked of our hold = %s", got)
			}
			if ttl, _ := strconv.Atoi(java.Do("ttl %s %s", k.redisson, name)); ttl < 20_000 || ttl > 30_000 {
				t.Errorf("Redisson's remainTimeToLive of our hold = %d ms, want nearly 30 s", ttl)
			}
			unlock(t, h)
			java.Do("lock %s %s t1", k.redisson, name)
			state, err := k.lock(e, name).Inspect(ctx)
			if err != nil || !state.Locked || state.Ours || !strings.HasPrefix(state.Owner, java.Do("owner t1")) || state.Count != 1 {
				t.Errorf("Inspect of Redisson's hold = %+v, %v", state, err)
			}
			java.Do("unlock %s %s t1", k.redisson, name)
		})
		t.Run(k.redisson+": forced from the other side", func(t *testing.T) {
			name := "forced:" + k.redisson
			h, err := k.lock(e, name).Lock(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if got := java.Do("force %s %s", k.redisson, name); got != "true" {
				t.Errorf("Redisson's forceUnlock of our hold = %s", got)
			}
			if err := h.Unlock(ctx); !errors.Is(err, engine.ErrLost) {
				t.Errorf("Unlock after Redisson's forceUnlock = %v, want ErrLost", err)
			}
			java.Do("lock %s %s t1", k.redisson, name)
			if freed, err := k.lock(e, name).ForceUnlock(ctx); !freed || err != nil {
				t.Errorf("ForceUnlock of Redisson's hold = %t, %v", freed, err)
			}
			// Redisson's fair lock takes the unlocking of a lock that is gone for success.
			if answer, ok := java.Try("unlock %s %s t1", k.redisson, name); ok != (k.redisson == "fair") || !ok && !strings.Contains(answer, "IllegalMonitorState") {
				t.Errorf("Redisson's unlock after our ForceUnlock = %s", answer)
			}
		})
		t.Run(k.redisson+": both contend", func(t *testing.T) { contend(t, server, java, e, k.redisson, k.lock, k.shared) })
	}
}

// awaitWaiter returns when somebody listens for an unlocking; pollers are given the time to poll.
func awaitWaiter(t *testing.T, server *redistest.Server, polls bool) {
	t.Helper()
	if polls {
		time.Sleep(20 * time.Millisecond) // nothing tells that somebody polls
		return
	}
	redistest.Await(t, "somebody listens", func() bool { return server.Subscriptions().Count() > 0 })
}

func woken(t *testing.T, answer <-chan string, who string) {
	t.Helper()
	select {
	case line := <-answer:
		if said, ok := read(line); !ok {
			t.Errorf("%s: %s", who, said)
		}
	case <-time.After(byMessage):
		t.Fatalf("%s was not woken", who)
	}
}

// contend has both sides enter three names for a while. Inside, each adds one to a counter by two commands: a
// lost addition, or a second party inside, proves that they did not exclude each other.
func contend(t *testing.T, server *redistest.Server, java *Redisson, e *engine.Engine, kind string, lock func(*engine.Engine, string) *engine.Mutex, shared bool) {
	names := []string{"x:" + kind, "y:" + kind, "z:" + kind}
	prefix := "counters:" + kind
	d := contention(t)
	theirs := java.Start("contend %s %s 4 %g %s", kind, strings.Join(names, ","), d.Seconds(), prefix)
	var mu sync.Mutex
	var wg sync.WaitGroup
	sections, violations := map[string]int{}, 0
	end := time.Now().Add(d)
	counters, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer counters.Close()
	for caller := range 8 {
		wg.Go(func() {
			for turn := caller; time.Now().Before(end); turn++ {
				name := names[turn%len(names)]
				h, err := lock(e, name).Lock(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				ok := shared || section(counters, prefix+":"+name)
				unlock(t, h)
				mu.Lock()
				sections[name]++
				if !ok {
					violations++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	answer, ok := read(<-theirs)
	if !ok {
		t.Fatal(answer)
	}
	if n := field(t, answer, "violations") + int64(violations); n > 0 || field(t, answer, "errors") > 0 {
		t.Errorf("%d violations; Redisson said %s", n, answer)
	}
	if field(t, answer, "sections") == 0 || len(sections) == 0 {
		t.Errorf("one side never got in: ours %v, Redisson's %s", sections, answer)
	}
	if shared {
		return
	}
	total := field(t, answer, "sections")
	var counted int64
	for _, name := range names {
		total += int64(sections[name])
		n, _ := strconv.ParseInt(server.MustDo("GET", prefix+":"+name+":count").Text, 10, 64)
		counted += n
	}
	if counted != total {
		t.Errorf("%d sections, but the counters stand at %d", total, counted)
	}
	t.Logf("%s: ours %v, Redisson's %s", kind, sections, answer)
}

// section is what one party does inside. False: it was not alone.
func section(c rueidis.Client, counter string) bool {
	ctx := context.Background()
	inside, _ := c.Do(ctx, c.B().Incr().Key(counter+":inside").Build()).AsInt64()
	n, _ := c.Do(ctx, c.B().Get().Key(counter+":count").Build()).AsInt64()
	c.Do(ctx, c.B().Set().Key(counter+":count").Value(fmt.Sprint(n+1)).Build())
	c.Do(ctx, c.B().Decr().Key(counter+":inside").Build())
	return inside == 1
}

// TestWatchdogsAndDeath: either side's watchdog carries a lock through three leases; when it is killed the
// other side gets in after the lease.
func TestWatchdogsAndDeath(t *testing.T) {
	const lease = 1500 * time.Millisecond
	server := redistest.Start(t)
	e := open(t, server, engine.Options{Lease: lease})
	ctx := context.Background()
	for _, k := range kinds {
		t.Run(k.redisson, func(t *testing.T) {
			java := StartRedisson(t, server, "--watchdog-ms", strconv.Itoa(int(lease.Milliseconds())))
			other, waits := k.redisson, k.lock
			if k.shared {
				other, waits = "write", func(e *engine.Engine, name string) *engine.Mutex { return e.RWMutex(name).Writer() }
			}
			name := "watched:" + k.redisson
			h, err := k.lock(e, name).Lock(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if got := java.Do("try %s %s t1 %d", other, name, (3 * lease).Milliseconds()); got != "false" {
				t.Errorf("Redisson got in beside our watched hold: %s", got)
			}
			unlock(t, h)

			java.Do("lock %s %s t1", k.redisson, name)
			if _, err := waits(e, name).Lock(ctx, engine.WithWait(3*lease)); !errors.Is(err, engine.ErrWaitTimeout) {
				t.Errorf("our Lock beside Redisson's watched hold = %v", err)
			}
			java.Kill()
			h, err = waits(e, name).Lock(ctx, engine.WithWait(lease+byMessage))
			if err != nil {
				t.Fatalf("after the death of Redisson's holder: %v", err)
			}
			unlock(t, h)
		})
	}
}
