package futures_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/futures"
)

// TestStress lets everything happen to one future at once, many times over. In every round exactly one
// call decides, everybody sees its answer, and every callback runs once.
func TestStress(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	runner := &goroutines{}
	for round := range uint64(400) {
		newStressRound(t, runner, rand.New(rand.NewPCG(seed, round))).run(2 + int(round%10))
		if t.Failed() {
			t.Fatalf("round %d of seed %d", round, seed)
		}
	}
	runner.Wait()
}

type stressRound struct {
	t         *testing.T
	random    *rand.Rand // of the goroutine of the test
	promise   futures.Promise[int]
	cancelled atomic.Int32 // how often the Canceler was told
	cancels   atomic.Int32 // how many Cancel calls won
	settles   atomic.Int32 // how many Settle calls won
	callbacks atomic.Int32
	wg        sync.WaitGroup

	mu      sync.Mutex // guards the rest
	derived []*futures.Future[int]
	want    int32 // callbacks registered
}

func newStressRound(t *testing.T, r futures.Runner, random *rand.Rand) *stressRound {
	s := &stressRound{t: t, random: random}
	s.promise.Init(r, cancelerFunc(func() { s.cancelled.Add(1) }))
	return s
}

func (s *stressRound) run(callers int) {
	actions := []func(int){s.settle, s.settle, s.cancel, s.wait, s.wait, s.giveUp, s.then, s.mapped, s.all, s.done}
	start := make(chan struct{})
	for i := range callers {
		action, hops := actions[s.random.IntN(len(actions))], s.random.IntN(3)
		s.wg.Go(func() {
			<-start
			for range hops {
				_ = s.promise.Settled()
			}
			action(i + 1)
		})
	}
	s.wg.Go(func() { <-start; s.settle(-1) }) // so that nobody waits for ever
	close(start)
	s.wg.Wait()

	if s.settles.Load()+s.cancels.Load() != 1 {
		s.t.Errorf("%d Settle and %d Cancel calls won, want one", s.settles.Load(), s.cancels.Load())
	}
	if s.cancelled.Load() != s.cancels.Load() {
		s.t.Errorf("Canceler told %d times of %d", s.cancelled.Load(), s.cancels.Load())
	}
	for _, f := range s.derived {
		s.check(f.Wait(s.t.Context()))
	}
	if s.callbacks.Load() != s.want {
		s.t.Errorf("%d callbacks ran, want %d", s.callbacks.Load(), s.want)
	}
}

// check is called with what anybody was told; Settle and Cancel calls may still be about to return.
func (s *stressRound) check(v int, err error) {
	if err != nil && (v != 0 || err != context.Canceled) || err == nil && v == 0 {
		s.t.Errorf("torn answer %d, %v", v, err)
	}
	if again, e := s.promise.Future().Result(); again != v || e != err {
		s.t.Errorf("two answers: %d, %v and %d, %v", v, err, again, e)
	}
}

func (s *stressRound) settle(i int) {
	if s.promise.Settle(i, nil) {
		s.settles.Add(1)
		s.check(i, nil)
	}
}

func (s *stressRound) cancel(int) {
	if s.promise.Future().Cancel() {
		s.cancels.Add(1)
		s.check(0, context.Canceled)
	}
}

func (s *stressRound) wait(int) { s.check(s.promise.Future().Wait(s.t.Context())) }

var errGaveUp = errors.New("gave up")

func (s *stressRound) giveUp(int) {
	ctx, cancel := context.WithCancelCause(s.t.Context())
	s.wg.Go(func() { cancel(errGaveUp) })
	v, err := s.promise.Future().Wait(ctx)
	if !errors.Is(err, errGaveUp) {
		s.check(v, err)
	}
}

func (s *stressRound) done(int) {
	<-s.promise.Future().Done()
	s.check(s.promise.Future().Result())
}

func (s *stressRound) then(int) {
	s.keep(1, s.promise.Future().Then(func(v int, err error) {
		s.callbacks.Add(1)
		s.check(v, err)
	}))
}

func (s *stressRound) mapped(int) {
	s.keep(1, futures.Map(s.promise.Future(), func(v int, err error) (int, error) {
		s.callbacks.Add(1)
		return v, err
	}))
}

func (s *stressRound) all(int) {
	f := s.promise.Future()
	s.keep(1, futures.Map(futures.All(f, f), func(vs []int, err error) (int, error) {
		s.callbacks.Add(1)
		if err != nil {
			err = context.Canceled // twice, joined
		}
		return vs[1], err
	}))
}

func (s *stressRound) keep(callbacks int32, f *futures.Future[int]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want += callbacks
	s.derived = append(s.derived, f)
}

// TestStressOfOrder registers numbered callbacks while the answer comes; one goroutine's keep their order.
func TestStressOfOrder(t *testing.T) {
	const callbacks = 100
	for range 100 {
		runner := &inOrder{}
		p := futures.New[int](runner, nil)
		var seen []int // by tasks, which run when all are handed over
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range callbacks {
				p.Future().Then(func(int, error) { seen = append(seen, i) })
			}
		})
		wg.Go(func() { p.Settle(1, nil) })
		wg.Wait()
		for _, task := range runner.tasks {
			task.Run()
		}
		if len(seen) != callbacks {
			t.Fatalf("%d callbacks ran, want %d", len(seen), callbacks)
		}
		for i, n := range seen {
			if i != n {
				t.Fatalf("order of callbacks: %v", seen)
			}
		}
	}
}

// inOrder keeps tasks in the order of the Go calls.
type inOrder struct {
	mu    sync.Mutex
	tasks []futures.Task
}

func (i *inOrder) Go(t futures.Task) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tasks = append(i.tasks, t)
}
