package elect_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/elect"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// history is every term that began, and what was wrong with it.
type history struct {
	*testing.T
	mu       sync.Mutex
	last     tenancy
	terms    int
	overlaps int
	lower    int
	late     time.Duration // how long after the next began a context closed its Done, at most; Err says it before
	began    chan tenancy
}

// tenancy is a term of a process.
type tenancy struct {
	ctx  context.Context
	term int64
	by   *process
}

// process is a candidate behind a proxy of its own, as on a machine of its own.
type process struct {
	*elect.Election
	e     *engine.Engine
	proxy *redistest.Proxy
	leave chan struct{}
}

// lead notes a term. All processes are this one, so one clock judges: when a term begins, Err of the term before must not be nil.
func (h *history) lead(by *process) func(context.Context, int64) error {
	return func(ctx context.Context, term int64) error {
		h.mu.Lock()
		begun := time.Now()
		if before := h.last.ctx; before != nil {
			if before.Err() == nil {
				h.overlaps++
				h.Errorf("term %d began before the end of term %d", term, h.last.term)
			}
			context.AfterFunc(before, func() {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.late = max(h.late, time.Since(begun))
			})
		}
		if term <= h.last.term {
			h.lower++
			h.Errorf("term %d after %d", term, h.last.term)
		}
		h.terms++
		h.last = tenancy{ctx, term, by}
		h.mu.Unlock()
		h.began <- h.last
		select {
		case <-ctx.Done():
		case <-by.leave:
		}
		return nil
	}
}

const forcedLease = 600 * time.Millisecond

// Leaders change for every reason there is. At no time do two lead, and terms grow.
func TestForcedChanges(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	outside := testkit.Connect(t, server.Addr())
	h := &history{T: t, began: make(chan tenancy, 1000)}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for i := range 6 {
		proxy := redistest.NewProxy(t, server.Addr())
		e := testkit.Connect(t, proxy.Addr(), testkit.Lease(forcedLease), func(o *engine.Options) { o.Logger = nil })
		p := &process{elect.New(e, name, elect.Options{Identity: fmt.Sprint(i)}), e, proxy, make(chan struct{})}
		running.Go(func() { _ = p.Run(ctx, h.lead(p)) })
	}
	seen := make(chan elect.Leader, 10_000)
	view := redistest.NewProxy(t, server.Addr())
	observer := elect.New(testkit.Connect(t, view.Addr(), func(o *engine.Options) { o.Logger = nil }), name, elect.Options{})
	running.Go(func() {
		for leader := range observer.Observe(ctx) {
			seen <- leader
		}
	})

	changes, done := testkit.Times(t, 500, 4), make(map[string]int)
	leader := testkit.Receive(t, "a first leader", h.began)
	for i := range changes {
		if i%10 == 9 {
			view.Cut()
		}
		what, heal := force(server, outside, leader, i)
		done[what]++
		leader = testkit.Receive(t, fmt.Sprintf("a leader after %q", what), h.began)
		heal()
	}
	for len(h.began) > 0 { // the last one may have ended by itself
		leader = <-h.began
	}

	h.mu.Lock()
	t.Logf("%d forced changes, %d terms: %d overlaps, %d terms not above the one before; Done closed %v after the next term began, at most; %v",
		changes, h.terms, h.overlaps, h.lower, h.late, done)
	h.mu.Unlock()
	last := int64(0)
	for last < leader.term {
		select {
		case l := <-seen:
			if l.Term <= last {
				t.Errorf("the observer saw term %d after %d", l.Term, last)
			}
			last = l.Term
		case <-time.After(testkit.Patience):
			t.Fatalf("the observer missed the leader in term %d; it saw %d last", leader.term, last)
		}
	}
}

// force ends a term somehow, and returns how the fault is healed.
func force(server *redistest.Server, outside *engine.Engine, term tenancy, i int) (what string, heal func()) {
	heal = func() {}
	p, ctx := term.by, context.Background()
	resign := func() { go p.Resign(ctx) }
	switch i % 10 {
	case 0:
		resign()
		return "resign", heal
	case 1:
		select {
		case p.leave <- struct{}{}:
		case <-term.ctx.Done():
		}
		return "lead returns", heal
	case 2:
		p.proxy.SwallowReply(redistest.Swallow{Match: "EVALSHA", Times: 3})
		resign()
		return "resign, answers swallowed", p.proxy.SwallowNothing
	case 3:
		resign()
		p.proxy.Cut()
		return "resign, connections cut", heal
	case 4:
		server.Do("DEL", name)
		return "DEL", heal
	case 5:
		freeByForce(outside)
		return "ForceUnlock elsewhere", heal
	case 6:
		freeByForce(p.e)
		return "ForceUnlock by its own engine", heal
	case 7:
		server.Do("DEL", "{"+name+"}:leading")
		return "DEL of the second lock", heal
	case 8:
		dir := []redistest.Direction{redistest.ClientToServer, redistest.ServerToClient, redistest.Both}[rand.IntN(3)]
		p.proxy.BlackHole(dir, true)
		return "black hole", func() { p.proxy.BlackHole(redistest.Both, false) }
	default:
		p.proxy.RefuseNew(true)
		p.proxy.Cut()
		return "cut off", func() { p.proxy.RefuseNew(false) }
	}
}

// freeByForce asks until it is answered: a call of which Redis has not heard, on a busy machine, would end no term.
func freeByForce(e *engine.Engine) {
	_ = testkit.Patiently(func(ctx context.Context) error {
		_, err := e.FencedMutex(name).ForceUnlock(ctx)
		for err != nil && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond) // sleeps: the pace of questions
			_, err = e.FencedMutex(name).ForceUnlock(ctx)
		}
		return err
	})
}

// TestHandOver measures a planned hand-over between processes, from the call of Resign to the call of the next lead, and counts its script
// calls: 5, however many stand in line.
func TestHandOver(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	began, leave := make(chan *elect.Election), make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for range 12 { // each stands back for half a second after its term
		e := testkit.Connect(t, server.Addr())
		el := elect.New(e, name, elect.Options{})
		running.Go(func() {
			_ = el.Run(ctx, func(ctx context.Context, _ int64) error {
				select {
				case began <- el:
				case <-leave:
				}
				<-ctx.Done()
				return nil
			})
		})
	}
	defer close(leave)
	leader := testkit.Receive(t, "a first leader", began)
	var took []time.Duration
	before, since := server.CommandCounts()["evalsha"], time.Now()
	for range testkit.Times(t, 1000, 8) {
		time.Sleep(50 * time.Millisecond) // sleeps: the pace; faster, all would stand back
		asked := time.Now()
		resign(t, leader)
		leader = testkit.Receive(t, "the next leader", began)
		took = append(took, time.Since(asked))
	}
	t.Logf("planned hand-over, %d times: p50 %v, p99 %v, at most %v", len(took), quantile(took, 0.5), quantile(took, 0.99), quantile(took, 1))
	waited := time.Since(since).Seconds()
	calls := float64(server.CommandCounts()["evalsha"] - before)
	if n := float64(len(took)); calls > 8*n+12*waited { // some ask again meanwhile, and each of the 12 once in a second
		t.Errorf("%.1f script calls for a hand-over, want 5", calls/n)
	}
}

func quantile(of []time.Duration, q float64) time.Duration {
	slices.Sort(of)
	return of[min(len(of)-1, int(q*float64(len(of))))].Round(time.Microsecond)
}
