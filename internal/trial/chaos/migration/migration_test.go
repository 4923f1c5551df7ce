package migration

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// work is what must not run twice at once.
type work func(context.Context) error

// version is a program that does work under a lock, once.
type version func(context.Context, *engine.Engine, work) error

// versions are those of one program, in a process, on the way from another library.
type versions struct{ before, both, after version }

func after(ctx context.Context, e *engine.Engine, restock work) error {
	return engine.Do(ctx, e.Mutex("locks:stock:7"), func(ctx context.Context, _ *engine.Hold) error {
		return restock(ctx) // ctx ends if the lock is lost
	})
}

func tryAfter(ctx context.Context, e *engine.Engine, restock work) error {
	hold, err := e.Mutex("locks:stock:7").TryLock(ctx)
	if errors.Is(err, engine.ErrHeld) {
		return nil // another process restocks
	} else if err != nil {
		return err
	}
	defer hold.Unlock(ctx)
	return restock(hold.Context(ctx)) // this context ends if the lock is lost
}

// stage is one of the versions.
type stage int

const (
	before stage = iota
	both
	afterwards
	stages
)

// process is one of a fleet: it runs one version, over and over, until it is replaced.
type process struct {
	e    *engine.Engine
	runs [stages]version
	now  stage
	stop context.CancelFunc
	done chan struct{}
}

// fleet are processes that share a lock.
type fleet struct {
	t         *testing.T
	processes []*process
	inside    atomic.Int64
	overlaps  atomic.Int64
	turns     [stages]atomic.Int64 // how often a version had its turn
}

// newFleet starts a fleet of the first version.
func newFleet(t *testing.T, from func(t *testing.T, addr string) versions) *fleet {
	t.Helper()
	redis := redistest.Start(t)
	f := &fleet{t: t}
	for range 4 {
		v := from(t, redis.Addr())
		e := testkit.Connect(t, redis.Addr(), func(o *engine.Options) { o.AnswerTimeout = -1 }) // a machine may stand still for a second
		f.processes = append(f.processes, &process{e: e, runs: [stages]version{v.before, v.both, v.after}})
	}
	for _, p := range f.processes {
		f.start(p, before)
	}
	t.Cleanup(func() {
		for _, p := range f.processes {
			f.end(p)
		}
	})
	return f
}

// start has a process run a version.
func (f *fleet) start(p *process, s stage) {
	ctx, stop := context.WithCancel(context.Background())
	p.now, p.stop, p.done = s, stop, make(chan struct{})
	go func() {
		defer close(p.done)
		for ctx.Err() == nil {
			err := p.runs[s](context.WithoutCancel(ctx), p.e, func(context.Context) error {
				if f.inside.Add(1) > 1 {
					f.overlaps.Add(1)
				}
				time.Sleep(time.Millisecond)
				f.inside.Add(-1)
				f.turns[s].Add(1)
				return nil
			})
			if err != nil {
				f.t.Errorf("version %d: %v", s, err)
				return
			}
		}
	}()
}

// end shuts a process down, which finishes its turn.
func (f *fleet) end(p *process) {
	f.t.Helper()
	p.stop()
	testkit.Receive(f.t, "a process to finish its turn", p.done)
}

// deploy replaces one process after the other by the next version. In every mixture of versions, each has turns.
func (f *fleet) deploy(next stage) {
	f.t.Helper()
	for _, p := range f.processes {
		f.end(p)
		f.start(p, next)
		f.awaitTurns()
	}
}

// awaitTurns waits until every version that runs has had a few turns.
func (f *fleet) awaitTurns() {
	f.t.Helper()
	var want [stages]int64
	for _, p := range f.processes {
		want[p.now] = f.turns[p.now].Load() + 3
	}
	redistest.Await(f.t, "turns of all versions", func() bool {
		for s := range stages {
			if f.turns[s].Load() < want[s] {
				return f.t.Failed()
			}
		}
		return true
	})
}

// simply is the version that takes the lock of redsync and redislock itself: before and after may run beside each other.
func simply(ctx context.Context, e *engine.Engine, restock work) error {
	return engine.Do(ctx, e.SimpleMutex("stock:7"), func(ctx context.Context, _ *engine.Hold) error {
		return restock(ctx) // ctx ends if the lock is lost
	})
}

func trySimply(ctx context.Context, e *engine.Engine, restock work) error {
	hold, err := e.SimpleMutex("stock:7").TryLock(ctx)
	if errors.Is(err, engine.ErrHeld) {
		return nil // another process restocks
	} else if err != nil {
		return err
	}
	defer hold.Unlock(ctx)
	return restock(hold.Context(ctx)) // this context ends if the lock is lost
}

// simplyBoth is on the way from a SimpleMutex to a Mutex.
func simplyBoth(ctx context.Context, e *engine.Engine, restock work) error {
	return engine.Do(ctx, e.SimpleMutex("stock:7"), func(ctx context.Context, _ *engine.Hold) error {
		return after(ctx, e, restock)
	})
}

var libraries = map[string]func(*testing.T, string) versions{
	"redsync": redsyncFleet, "redislock": redislockFleet, "rueidislock": rueidislockFleet,
	"redsync, trying": redsyncTryFleet, "redislock, trying": redislockTryFleet, "rueidislock, trying": rueidislockTryFleet,
}

// In both steps of docs/MIGRATING.md no two processes are ever in the critical section at once, whatever versions run beside each other.
func TestTwoSteps(t *testing.T) {
	t.Parallel()
	for name, from := range libraries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, from)
			f.awaitTurns()
			f.deploy(both)
			f.deploy(afterwards)
			if f.overlaps.Load() != 0 {
				t.Errorf("%d times two were in the critical section", f.overlaps.Load())
			}
			t.Logf("turns of before, both and after: %d, %d, %d", f.turns[0].Load(), f.turns[1].Load(), f.turns[2].Load())
		})
	}
}

// In one step to a SimpleMutex, too, and on from there to a Mutex in two.
func TestOneStepToASimpleMutex(t *testing.T) {
	t.Parallel()
	in := func(from func(*testing.T, string) versions, next, last version) func(*testing.T, string) versions {
		return func(t *testing.T, addr string) versions {
			old := from(t, addr)
			return versions{old.before, next, last}
		}
	}
	simple := func(*testing.T, string) versions { return versions{before: simply} }
	for name, from := range map[string]func(*testing.T, string) versions{
		"redsync": in(redsyncFleet, simply, nil), "redislock": in(redislockFleet, simply, nil),
		"redsync, trying": in(redsyncTryFleet, trySimply, nil), "redislock, trying": in(redislockTryFleet, trySimply, nil),
		"on to a Mutex": in(simple, simplyBoth, after),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, from)
			f.awaitTurns()
			f.deploy(both)
			if f.processes[0].runs[afterwards] != nil {
				f.deploy(afterwards)
			}
			if f.overlaps.Load() != 0 {
				t.Errorf("%d times two were in the critical section", f.overlaps.Load())
			}
			t.Logf("turns: %d, %d, %d", f.turns[0].Load(), f.turns[1].Load(), f.turns[2].Load())
		})
	}
}

// With the first step left out, two are: what TestTwoSteps looks for can be found.
func TestOneStepOverlaps(t *testing.T) {
	t.Parallel()
	for name, from := range libraries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, from)
			f.end(f.processes[0])
			f.start(f.processes[0], afterwards)
			redistest.Await(t, "two in the critical section", func() bool { return f.overlaps.Load() > 0 })
		})
	}
}

// A process of the first step whose old lock ended while it waited for the new one does no work: an old process may have begun. That is for
// locks that nobody renews.
func TestAnOldLockThatEnded(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]func(*testing.T, string) versions{"redsync": redsyncFleet, "redislock": redislockFleet} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			e := testkit.Connect(t, server.Addr())
			v := from(t, server.Addr())
			other := testkit.Connect(t, server.Addr())
			hold := testkit.MustLock(t, other.Mutex("locks:stock:7"))
			result := make(chan error, 1)
			go func() {
				result <- v.both(testkit.Soon(t), e, func(context.Context) error {
					t.Error("the work runs")
					return nil
				})
			}()
			waits := func() bool { return len(server.MustDo("PUBSUB", "CHANNELS").Items) > 0 }
			redistest.Await(t, "the process to wait for the new lock", waits)
			server.MustDo("DEL", "stock:7")
			testkit.MustUnlock(t, hold)
			if err := testkit.Receive(t, "the process", result); err == nil {
				t.Error("no error")
			}
		})
	}
}

// Under one name the engine and redsync or redislock exclude each other, but not as locks do: they answer with errors and do not wait.
func TestTheSameName(t *testing.T) {
	t.Parallel()
	ctx := testkit.Soon(t)
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { client.Close() })

	theirs := redsync.New(goredis.NewPool(client)).NewMutex("stock:7", redsync.WithTries(1))
	testkit.Must(t, theirs.LockContext(ctx))
	testkit.WantIs(t, "the name is redsync's", testkit.ResultOf(e.Mutex("stock:7").Lock(ctx)), engine.ErrForeignKey)
	if _, err := theirs.UnlockContext(ctx); err != nil {
		t.Fatal(err)
	}

	hold := testkit.MustLock(t, e.Mutex("stock:7"))
	if taken := new(redsync.ErrTaken); !errors.As(theirs.LockContext(ctx), &taken) {
		t.Error("redsync does not see that the name is taken")
	}
	if _, err := redislock.New(client).Obtain(ctx, "stock:7", time.Minute, nil); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("redislock: %v, want WRONGTYPE", err)
	}
	testkit.MustUnlock(t, hold)
}

// The Go code of docs/MIGRATING.md is that of this package, but for its indentation.
func TestThePageIsTheCode(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	testkit.Must(t, err)
	code := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		testkit.Must(t, err)
		code += flat(string(text))
	}
	blocks := testkit.CodeBlocks(t, "docs/MIGRATING.md", "go")
	if len(blocks) < 7 {
		t.Errorf("the page has %d blocks of Go", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(code, flat(block)) {
			t.Errorf("no test runs this code of the page:\n%s", block)
		}
	}
}

// flat is a text without its indentation.
func flat(text string) string {
	return regexp.MustCompile(`(?m)^\s+`).ReplaceAllString(text, "")
}
