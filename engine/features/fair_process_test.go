package features_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

const fairName = "stock:7"

var fairQueue = scripts.FairQueue(fairName)

// addrOfParent is the environment variable by which a test makes a process of its own of this binary.
const addrOfParent = "WHEELLOCK_TEST_FAIR_WAITERS"

// servedKey is the list into which whoever holds the lock writes the owner that Redis has for it.
const servedKey = "served"

// TestFairWaiters is that process: it reads how many more callers are to wait, until its input ends.
func TestFairWaiters(t *testing.T) {
	addr := os.Getenv(addrOfParent)
	if addr == "" {
		t.Skip("it is the other process of other tests")
	}
	w := newFairWaiters(t, addr)
	var n int
	for in := bufio.NewReader(os.Stdin); ; {
		if _, err := fmt.Fscanln(in, &n); err != nil {
			break
		}
		w.wait(n)
	}
	w.done.Wait()
}

// fairWaiters are callers of one engine that wait for a fair lock, and write down that they got it.
type fairWaiters struct {
	t      *testing.T
	e      *engine.Engine
	client rueidis.Client
	done   sync.WaitGroup
}

func newFairWaiters(t *testing.T, addr string) *fairWaiters {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	testkit.Must(t, err)
	t.Cleanup(client.Close)
	return &fairWaiters{t: t, client: client, e: testkit.Connect(t, addr, func(o *engine.Options) { o.FairWaiterLease = fairLife })}
}

// fairLife is FairWaiterLease in these tests: a process that stands still for two thirds of it may lose its places.
const fairLife = 3 * time.Second

func (f *fairWaiters) wait(n int) {
	for range n {
		f.done.Add(1)
		f.e.FairMutex(fairName).LockAsync(context.Background()).Then(func(h *engine.Hold, err error) {
			defer f.done.Done()
			if err != nil {
				f.t.Errorf("Lock: %v", err)
				return
			}
			if err := f.client.Do(context.Background(), f.client.B().Rpush().Key(servedKey).Element(h.TenureID()).Build()).Error(); err != nil {
				f.t.Errorf("RPUSH: %v", err)
			}
			if err := testkit.Patiently(h.Unlock); err != nil {
				f.t.Errorf("Unlock: %v", err)
			}
		})
	}
}

// otherProcess is a process whose callers wait.
type otherProcess struct {
	*exec.Cmd
	in io.WriteCloser
}

func startOther(t *testing.T, addr string) *otherProcess {
	t.Helper()
	p := &otherProcess{Cmd: exec.Command(os.Args[0], "-test.run=^TestFairWaiters$", "-test.timeout=5m")}
	p.Env = append(os.Environ(), addrOfParent+"="+addr)
	p.Stdout, p.Stderr = t.Output(), t.Output()
	var err error
	if p.in, err = p.StdinPipe(); err == nil {
		err = p.Start()
	}
	testkit.Must(t, err)
	t.Cleanup(func() {
		p.in.Close()
		p.Wait()
	})
	return p
}

func (o *otherProcess) wait(n int) { fmt.Fprintln(o.in, n) }

// awaitLength waits until a list is that long, for as long as it grows: a busy machine may take a while for thousands.
func awaitLength(t *testing.T, s *redistest.Server, list string, n int64) {
	t.Helper()
	for length := int64(0); length < n; {
		before := length
		redistest.Await(t, fmt.Sprintf("more than %d of %d in %s", before, n, list), func() bool {
			length = s.MustDo("LLEN", list).Int
			return length >= n || length >= before+1000
		})
	}
}

// checkServed asserts that those were served who stood in the queue, in its order.
func checkServed(t *testing.T, s *redistest.Server, queue []string) {
	t.Helper()
	awaitLength(t, s, servedKey, int64(len(queue)))
	served := s.MustDo("LRANGE", servedKey, "0", "-1").Texts()
	if !slices.Equal(served, queue) {
		for i := range queue {
			if served[i] != queue[i] {
				t.Fatalf("number %d of %d was %s, want %s", i, len(queue), served[i], queue[i])
			}
		}
	}
}

// checkNoQueue asserts that a fair lock has left nothing in Redis.
func checkNoQueue(t *testing.T, s *redistest.Server) {
	t.Helper()
	redistest.Await(t, "nothing to be left", func() bool {
		return !slices.ContainsFunc(s.Keys(), func(key string) bool { return strings.Contains(key, fairName) })
	})
}

// invariant: fair-queue-order
func TestFairServesProcessesInTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holder := testkit.Connect(t, s.Addr())
	held := testkit.MustLock(t, holder.FairMutex(fairName))
	const processes, rounds, each = 4, 10, 25
	var others []*otherProcess
	for range processes {
		others = append(others, startOther(t, s.Addr()))
	}
	for range rounds {
		for _, p := range others {
			p.wait(each)
		}
	}
	awaitLength(t, s, fairQueue, processes*rounds*each)
	queue := s.MustDo("LRANGE", fairQueue, "0", "-1").Texts()
	testkit.MustUnlock(t, held)
	checkServed(t, s, queue)
	checkNoQueue(t, s)
}

// invariant: fair-queue-order
func TestFairProcessesThatDieDelayAllByOneLease(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	here := newFairWaiters(t, s.Addr())
	var others []*otherProcess
	for range 6 {
		others = append(others, startOther(t, s.Addr()))
	}
	held := testkit.MustLock(t, here.e.FairMutex(fairName))
	var n int64
	for i := range 10 { // of a hundred, thirty in six processes that will die
		others[i%6].wait(1)
		others[(i+1)%6].wait(1)
		others[(i+2)%6].wait(1)
		n += 3
		awaitLength(t, s, fairQueue, n)
		here.wait(7)
		n += 7
		awaitLength(t, s, fairQueue, n)
	}
	ours := strings.Split(held.TenureID(), ":")[0]
	queue := slices.DeleteFunc(s.MustDo("LRANGE", fairQueue, "0", "-1").Texts(), func(owner string) bool { return !strings.HasPrefix(owner, ours) })
	for _, p := range others {
		testkit.Must(t, p.Process.Kill())
		p.Wait()
	}
	start := time.Now()
	testkit.MustUnlock(t, held)
	checkServed(t, s, queue)
	// One lease for all. One for each process would be 18 s, one for each waiter minutes, and five minutes each for a
	// queue that skips them as Redisson does.
	if took := time.Since(start); took > 4*fairLife {
		t.Errorf("the rest was served after %v, want about %v", took, fairLife)
	} else {
		t.Logf("the rest was served after %v", took)
	}
	checkNoQueue(t, s)
}
