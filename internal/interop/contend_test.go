package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
)

// contest is a kind that both sides contend for.
type contest struct {
	what  string // the kind in the driver's words
	enter func(e *engine.Engine, name string) (leave func() error, err error)
	polls bool
}

// contests are all kinds that exclude, over three names each.
func contests() []contest {
	all := []contest{
		{what: "multi:m1,m2", enter: func(e *engine.Engine, _ string) (func() error, error) {
			return entered(lockOf(e, "multi:m1,m2", "").Lock(context.Background()))
		}},
		{what: "semaphore", enter: func(e *engine.Engine, name string) (func() error, error) {
			s := e.Semaphore(name)
			return func() error { return s.Release(context.Background(), 1) }, s.Acquire(context.Background(), 1)
		}},
		{what: "permit", enter: func(e *engine.Engine, name string) (func() error, error) {
			return entered(e.PermitSemaphore(name).Acquire(context.Background(), 1))
		}},
	}
	for _, k := range kinds {
		if k.excluder == "" {
			all = append(all, contest{k.redisson, func(e *engine.Engine, name string) (func() error, error) {
				return entered(k.lock(e, name).Lock(context.Background()))
			}, k.polls})
		}
	}
	return all
}

func entered(h *engine.Hold, err error) (func() error, error) {
	if err != nil {
		return nil, err
	}
	return func() error { return h.Unlock(context.Background()) }, nil
}

// TestContention has both sides enter three names of every kind for a while.
func TestContention(t *testing.T) {
	t.Parallel()
	contendForAll(t, newPair(t, engine.Options{}))
}

func contendForAll(t *testing.T, p *pair) {
	for _, c := range contests() {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			f := newFight(t, p, c.what, contention(t))
			f.redisson(c.what, 4)
			f.ours(8, func(name string) (func() error, error) { return c.enter(p.Engine, name) }, f.add)
			f.end(c.polls)
		})
	}
}

// TestReadersAndWritersContend: writers of both sides exclude everybody, and readers find none inside.
func TestReadersAndWritersContend(t *testing.T) {
	t.Parallel()
	readAndWrite(t, newPair(t, engine.Options{}))
}

func readAndWrite(t *testing.T, p *pair) {
	f := newFight(t, p, "rw", contention(t))
	f.redisson("write", 2)
	f.redisson("read", 4)
	f.ours(3, func(name string) (func() error, error) {
		return entered(p.RWMutex(name).Writer().Lock(context.Background()))
	}, f.add)
	f.ours(5, func(name string) (func() error, error) {
		return entered(p.RWMutex(name).Reader().Lock(context.Background()))
	}, f.look)
	f.end(false)
}

// fight is both sides entering three names for a while. Inside, each adds one to a counter by two commands: a lost
// addition, or a second party inside, proves that they did not exclude each other.
type fight struct {
	t        *testing.T
	p        *pair
	counters rueidis.Client
	names    []string
	prefix   string // of the counters
	lasts    time.Duration
	over     func() bool // our callers are to end
	theirs   []crew
	wg       sync.WaitGroup // our callers
	gaveUp   atomic.Int64   // those of them who went without
	said     []string       // by Redisson's threads at their end

	mu              sync.Mutex // guards the rest
	entered, passed int        // all sections of ours, and those in which nobody else was seen
	added           int64
	longest         time.Duration // wait
}

// crew is some threads of Redisson's.
type crew struct {
	answer <-chan string // what they did
	adds   bool          // each section added one
}

func newFight(t *testing.T, p *pair, what string, lasts time.Duration) *fight {
	t.Helper()
	counters, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: p.addrs(), DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(counters.Close)
	name := strings.ReplaceAll(what, ",", "+")
	f := &fight{
		t: t, p: p, counters: counters, prefix: "counters:" + what, lasts: lasts,
		names: []string{"x:" + name, "y:" + name, "z:" + name},
	}
	f.over = f.theirsAreOver
	return f
}

// theirsAreOver says that all of Redisson's threads have ended: ours go on as long, for Java may take seconds to begin.
func (f *fight) theirsAreOver() bool {
	return !slices.ContainsFunc(f.theirs, func(c crew) bool { return len(c.answer) == 0 })
}

// redisson has Redisson's threads enter the names, by the same rules.
func (f *fight) redisson(kind string, threads int, more ...string) {
	names := f.names
	if strings.HasPrefix(kind, "multi:") { // whatever the name, it is the same locks
		names = names[:1]
	}
	answer := f.p.java.Start("contend %s %s %d %g %s %s", kind, strings.Join(names, ","), threads, f.lasts.Seconds(), f.prefix, strings.Join(more, " "))
	f.theirs = append(f.theirs, crew{answer, kind != "read"})
}

// ours has callers of ours enter the names.
func (f *fight) ours(callers int, enter func(name string) (func() error, error), inside func(name string) bool) {
	for caller := range callers {
		f.wg.Go(func() {
			for turn := caller; !f.over(); turn++ {
				name := f.names[turn%len(f.names)]
				asked := time.Now()
				leave, err := enter(name)
				if errors.Is(err, engine.ErrWaitTimeout) || errors.Is(err, context.DeadlineExceeded) {
					f.gaveUp.Add(1)
					continue
				}
				if err != nil {
					f.t.Errorf("%s: %v", name, err)
					return
				}
				waited, alone := time.Since(asked), inside(name)
				if err := leave(); err != nil {
					f.t.Errorf("%s: leaving: %v", name, err)
				}
				f.note(waited, alone)
			}
		})
	}
}

func (f *fight) note(waited time.Duration, alone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entered++
	if alone {
		f.passed++
	}
	f.longest = max(f.longest, waited)
}

// add is what one who excludes all others does inside. False: it was not alone.
func (f *fight) add(name string) bool {
	ctx, c, count, inside := context.Background(), f.counters, f.prefix+":"+name+":count", f.prefix+":"+name+":inside"
	in, err := c.Do(ctx, c.B().Incr().Key(inside).Build()).AsInt64()
	n, _ := c.Do(ctx, c.B().Get().Key(count).Build()).AsInt64()
	for _, err := range []error{err, c.Do(ctx, c.B().Set().Key(count).Value(fmt.Sprint(n+1)).Build()).Error(), c.Do(ctx, c.B().Decr().Key(inside).Build()).Error()} {
		if err != nil {
			f.t.Errorf("counting: %v", err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.added++
	return in == 1
}

// look is what a reader does inside. False: a writer was there too.
func (f *fight) look(name string) bool {
	for range 2 {
		if in, _ := f.counters.Do(context.Background(), f.counters.B().Get().Key(f.prefix+":"+name+":inside").Build()).AsInt64(); in != 0 {
			return false
		}
	}
	return true
}

// end waits for everybody and judges.
func (f *fight) end(polls bool) {
	f.t.Helper()
	f.wg.Wait()
	total := f.added
	for _, crew := range f.theirs {
		said, ok := read(<-crew.answer)
		if !ok {
			f.t.Fatal(said)
		}
		if Field(f.t, said, "violations") > 0 || Field(f.t, said, "errors") > 0 || Field(f.t, said, "sections")+Field(f.t, said, "gaveUp") == 0 {
			f.t.Errorf("Redisson: %s", said)
		}
		if crew.adds {
			total += Field(f.t, said, "sections")
		}
		f.longest = max(f.longest, time.Duration(Field(f.t, said, "maxWaitMs"))*time.Millisecond)
		f.said = append(f.said, said)
		f.t.Logf("Redisson: %s", said)
	}
	f.t.Logf("ours: sections=%d gaveUp=%d; longest wait of both %v", f.entered, f.gaveUp.Load(), f.longest)
	if f.entered != f.passed || f.entered == 0 {
		f.t.Errorf("ours: in %d of %d sections we were alone", f.passed, f.entered)
	}
	counted := int64(0)
	for _, name := range f.names {
		n, _ := f.counters.Do(context.Background(), f.counters.B().Get().Key(f.prefix+":"+name+":count").Build()).AsInt64()
		counted += n
	}
	if counted != total {
		f.t.Errorf("%d added one, but the counters stand at %d", total, counted)
	}
	if !polls && f.longest > missedMessage {
		f.t.Errorf("somebody waited for %v: a message did not wake him", f.longest)
	}
}

// missedMessage is a wait that ended with a lease or by asking again, not by a message.
const missedMessage = 25 * time.Second
