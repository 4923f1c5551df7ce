package interop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// lease is that of the tests in which somebody dies, on both sides: a machine may stand still for a third of it without
// taking a lock from the living. These tests sleep, so they run side by side.
const lease = 10 * time.Second

// newMortals is a pair with that lease.
func newMortals(t *testing.T, flags ...string) *pair {
	t.Helper()
	t.Parallel()
	return newPair(t, engine.Options{Lease: lease}, append(flags, "--watchdog-ms", fmt.Sprint(lease.Milliseconds()))...)
}

// TestWatchdogs: either side's watchdog carries a lock of each kind through three leases, while the other side waits.
func TestWatchdogs(t *testing.T) {
	p := newMortals(t)
	holds := make(map[string]*engine.Hold)
	tries := make(map[string]<-chan string)
	waits := make(map[string]*futures.Future[*engine.Hold])
	for _, k := range kinds {
		name := k.redisson
		holds[name] = lock(t, k.lock(p.Engine, "ours:"+name))
		tries[name] = p.java.Start("try %s ours:%s %s %d", k.other().redisson, name, name, 3*lease.Milliseconds())
		p.java.Do("lock %s theirs:%s keeps-%s", name, name, name)
		waits[name] = k.other().lock(p.Engine, "theirs:"+name).LockAsync(context.Background(), engine.WithWait(3*lease))
	}
	holds["permit"] = p.lastPermit(t, "desk")
	tries["permit"] = p.java.Start("acquire permit desk permit 1 %d", 3*lease.Milliseconds())
	for name, try := range tries {
		if said, ok := read(<-try); !ok || said != "false" && said != "-" {
			t.Errorf("%s: Redisson got in beside our watched hold: %s", name, said)
		}
		unlock(t, holds[name])
	}
	for name, wait := range waits {
		if _, err := wait.Wait(context.Background()); !errors.Is(err, engine.ErrWaitTimeout) {
			t.Errorf("%s: our Lock beside Redisson's watched hold = %v", name, err)
		}
		if said, ok := p.java.Try("unlock %s theirs:%s keeps-%s", name, name, name); !ok {
			t.Errorf("%s: Redisson lost its hold: %s", name, said)
		}
	}
}

// lastPermit takes the only permit there is.
func (p *pair) lastPermit(t *testing.T, name string) *engine.Hold {
	t.Helper()
	permits := p.PermitSemaphore(name)
	if _, err := permits.TrySetPermits(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	h, err := permits.Acquire(context.Background(), 1)
	testkit.Must(t, err)
	return h
}

// TestRedissonIsKilled: whoever of ours waits gets in when the lease of the dead has run out.
func TestRedissonIsKilled(t *testing.T) {
	p := newMortals(t)
	ctx := context.Background()
	waiters := make(map[string]*futures.Future[*engine.Hold])
	for _, k := range kinds {
		p.java.Do("lock %s %s %s", k.redisson, k.redisson, k.redisson)
		waiters[k.redisson] = k.other().lock(p.Engine, k.redisson).LockAsync(ctx)
	}
	p.java.Do("set-permits permit permit 1")
	p.java.Do("acquire permit permit permit 1 0 %d", lease.Milliseconds())
	waiters["permit"] = p.PermitSemaphore("permit").AcquireAsync(ctx, 1)
	for name, waiter := range waiters {
		if name != "permit" && settled(waiter) { // Redisson's permit has no watchdog
			t.Errorf("%s: ours got in while Redisson lived", name)
		}
	}
	p.java.Kill()
	within, cancel := context.WithTimeout(ctx, lease+byMessage)
	defer cancel()
	for name, waiter := range waiters {
		h, err := waiter.Wait(within)
		if err != nil {
			t.Errorf("%s: after the death of Redisson's holder: %v", name, err)
			continue
		}
		unlock(t, h)
	}
}

func settled[T any](f *futures.Future[T]) bool {
	_, err := f.Result()
	return !errors.Is(err, futures.ErrPending)
}

// TestOursIsKilled: whoever of Redisson's waits gets in when the lease of the dead has run out.
func TestOursIsKilled(t *testing.T) {
	p := newMortals(t)
	mortal := startOurs(t, p.server)
	waiters := make(map[string]<-chan string)
	for _, k := range kinds {
		mortal.Do("lock %s %s t1", k.redisson, k.redisson)
		waiters[k.redisson] = p.java.Start("lock %s %s %s", k.other().redisson, k.redisson, k.redisson)
		p.awaitWaiter(t, k, k.redisson)
	}
	mortal.Do("set-permits permit permit 1")
	mortal.Do("acquire permit permit t1 1")
	waiters["permit"] = p.java.Start("acquire permit permit permit 1")
	for name, waiter := range waiters {
		if len(waiter) > 0 {
			t.Errorf("%s: Redisson got in while ours lived: %s", name, <-waiter)
		}
	}
	mortal.Kill()
	for name, waiter := range waiters {
		wokenWithin(t, waiter, "Redisson's waiter for "+name, lease+byMessage)
	}
}

// TestWaitersInLineAreKilled: the dead in a fair queue do not keep it up. Ours are skipped when the life of their engine
// is over, by any engine of ours; Redisson's when their deadline is.
func TestWaitersInLineAreKilled(t *testing.T) {
	p := newMortals(t, "--fair-wait-ms", "1000")
	ctx := context.Background()
	queued := func(n int64) {
		t.Helper()
		redistest.Await(t, fmt.Sprint(n, " stand in line"), func() bool { return p.server.MustDo("LLEN", scripts.FairQueue("line")).Int == n })
	}
	survivor := StartRedisson(t, p.server)
	mortal := startOurs(t, p.server)
	h := lock(t, p.FairMutex("line"))
	p.java.Start("lock fair line t1")
	queued(1)
	mortal.Start("lock fair line t1")
	queued(2)
	theirs := survivor.Start("lock fair line t1")
	queued(3)
	ours := p.FairMutex("line").LockAsync(ctx)
	queued(4)
	p.java.Kill()
	mortal.Kill()
	unlock(t, h)
	wokenWithin(t, theirs, "Redisson's waiter behind two dead", lease+byMessage)
	survivor.Do("unlock fair line t1")
	within, cancel := context.WithTimeout(ctx, byMessage)
	defer cancel()
	last, err := ours.Wait(within)
	testkit.Must(t, err)
	unlock(t, last)
}

// oursAt in the environment says that this test program is to be a driver, for the server at that address.
const oursAt = "WHEELLOCK_INTEROP_OURS"

// startOurs starts a process of its own with engines of ours, to be killed.
func startOurs(t *testing.T, server *redistest.Server) *Side {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), oursAt+"="+server.Addr())
	return Drive(t, command)
}

// serve is that process: it obeys until its input ends.
func serve(addr string) {
	ours := NewOurs(func() *engine.Engine {
		e, err := engine.Open(context.Background(), engine.Options{Redis: rueidis.ClientOption{InitAddress: []string{addr}}, Lease: lease, PollCap: time.Hour, AnswerTimeout: -1})
		if err != nil {
			panic(err)
		}
		return e
	})
	fmt.Println("ready ours")
	var mu sync.Mutex // held while a line is written
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		id, command, _ := strings.Cut(lines.Text(), " ")
		go func() {
			answer := <-ours.Start("%s", command)
			mu.Lock()
			defer mu.Unlock()
			fmt.Println(id, answer)
		}()
	}
}
