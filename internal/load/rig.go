package load

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/testkit/figures"
	"github.com/wheellock/wheellock/internal/testkit/usage"
)

// Config is what a Rig needs.
type Config struct {
	Plan    Plan
	Process int              // which of Plan.Processes this is, from 0
	Redis   []engine.Options // of one server, or those of a quorum: how to connect, and how long to wait for answers; nothing else is used
	Cells   Cells
	Logger  *slog.Logger // hears of broken links; nil discards
	Contest *Contest     // nil: there is none

	// NameFor is for tests: it gives callers different locks for what they take for one name, and so makes
	// an engine that does not exclude. Nil: every caller gets the lock of the name.
	NameFor func(caller, name int) string
}

// Rig is the share of a run that falls to one process.
type Rig struct {
	plan    Plan
	process int
	contest *Contest
	clients []*client // one, or one for each caller
	witness *witness  // nil: no section is checked in Redis
	places  []place
	proof   proof
	nameFor func(caller, name int) string
	picker  picker
	terms   []engine.LockOption
	callers []*caller
	tally   *tally
	pace    pace
	waker   *waker

	failures failures
	ending   atomic.Bool // no new call is to begin, and sections are to end
	waits    context.Context
	giveUp   context.CancelFunc // ends all waits for locks
	running  counted
	limits   limits
	interval time.Duration // between samples

	// Owned by Run.
	last    cut
	step    int // of the measured time, from 0
	started int // callers
}

// cut is where the last sample ended.
type cut struct {
	at     time.Time
	engine Engine
	usage  usage.Usage
}

// Open connects to Redis, which was reached before, and makes everything ready. ctx bounds that.
func Open(ctx context.Context, cfg Config) (*Rig, error) {
	p := cfg.Plan
	r := &Rig{
		plan: p, process: cfg.Process, nameFor: cfg.NameFor, contest: cfg.Contest, picker: newPicker(p.Names, p.Zipf), proof: proofOf(p.Kind),
		limits: usualLimits, interval: time.Second,
		pace: pace{stretches: schedule(&p), process: float64(cfg.Process), processes: float64(p.Processes)},
	}
	r.waits, r.giveUp = context.WithCancel(context.Background())
	if p.Lease > 0 {
		r.terms = append(r.terms, engine.WithLease(p.Lease))
	}
	if p.Wait > 0 {
		r.terms = append(r.terms, engine.WithWait(p.Wait))
	}
	if err := r.connect(ctx, &cfg); err != nil {
		return nil, err
	}
	var err error
	if r.waker, err = newWaker(); err != nil {
		r.disconnect()
		return nil, err
	}
	if err := errors.Join(r.makePlaces(cfg.Cells), r.setPermits(ctx)); err != nil {
		r.Close()
		return nil, err
	}
	n := p.share(cfg.Process)
	shards := min(n, 4*runtime.GOMAXPROCS(0))
	r.tally = newTally(shards, n)
	for i := range n {
		id := i*p.Processes + cfg.Process // so the first n callers of a step are spread evenly over the processes
		c := &caller{
			rig: r, client: r.clients[i%len(r.clients)], id: id, shard: &r.tally.shards[i%shards], place: i / shards,
			random: rand.New(rand.NewPCG(p.Seed, uint64(id))),
		}
		if r.contest != nil && r.contest.Fresh {
			c.fresh = &fresh{client: c.client, simple: p.Kind == Simple, prefix: p.Prefix, call: 1<<60 | uint64(id)<<40}
		}
		r.callers = append(r.callers, c)
	}
	return r, nil
}

// connect opens the clients. The witness has connections of its own: checks must not wait behind the commands that they check.
func (r *Rig) connect(ctx context.Context, cfg *Config) (err error) {
	defer func() {
		if err != nil {
			r.disconnect()
		}
	}()
	if r.plan.Check > 0 {
		r.witness, err = patiently(ctx, func() (*witness, error) { return newWitness(cfg.Redis[0].Redis, &r.plan) })
		if err != nil {
			return fmt.Errorf("connecting for the checks: %w", err)
		}
	}
	clients := 1
	if r.contest != nil && r.contest.Each {
		clients = r.plan.share(r.process)
	}
	for range clients {
		c := &client{}
		r.clients = append(r.clients, c)
		if r.contest != nil && r.contest.Open != nil {
			if c.library, err = r.contest.Open(); err != nil {
				return err
			}
			continue
		}
		for _, to := range cfg.Redis {
			e, err := patiently(ctx, func() (*engine.Engine, error) { return engine.Open(ctx, r.options(to, cfg.Logger)) })
			if err != nil {
				return err
			}
			c.engines = append(c.engines, e)
		}
	}
	return nil
}

// patiently opens what needs a server, again and again while the server does not answer, until ctx ends. The run has reached it before,
// so it is not gone: on a busy machine it may take longer than a connection waits.
func patiently[T any](ctx context.Context, open func() (T, error)) (opened T, err error) {
	for {
		opened, err = open()
		if err == nil || ctx.Err() != nil {
			return opened, err
		}
		// The engine says it in words alone, which are those of earlier versions, too.
		if silent := errors.Is(err, os.ErrDeadlineExceeded) || strings.Contains(err.Error(), "no answer"); !silent {
			return opened, err
		}
	}
}

// options are those of an engine. Its bounds are far above what the callers can ask for, because a request that the engine turned
// away would be counted as failed although it says nothing about the lock.
func (r *Rig) options(to engine.Options, logger *slog.Logger) engine.Options {
	o := engine.Options{Redis: to.Redis, HandoffTime: r.plan.Handoff, AnswerTimeout: to.AnswerTimeout, Logger: logger}
	o.Redis.ClientName = "loadgen"
	o.MaxRequests = max(1<<18, 2*r.plan.Workers)
	o.MaxWaitersPerName = o.MaxRequests
	return o
}

// engines are those of all clients.
func (r *Rig) engines(yield func(*engine.Engine) bool) {
	for _, c := range r.clients {
		for _, e := range c.engines {
			if !yield(e) {
				return
			}
		}
	}
}

// counts are the counters of all engines together.
func (r *Rig) counts() (sum Engine, waiting int64) {
	for e := range r.engines {
		stats := e.Stats()
		counts := engineCounts(&stats)
		figures.Add(&sum, &counts)
		waiting += stats.Waiting
	}
	return sum, waiting
}

// reachable reports whether all servers are.
func (r *Rig) reachable() bool {
	for e := range r.engines {
		if !e.Stats().Up {
			return false
		}
	}
	return true
}

func (r *Rig) isEnding() bool { return r.ending.Load() }

// start sets the callers of this step going, but for those of earlier steps. Their ids grow, so the first that belongs to a later
// step ends the search.
func (r *Rig) start() {
	for _, c := range r.callers[r.started:] {
		if c.id >= r.plan.Callers(r.step) {
			return
		}
		r.started++
		r.running.Add(1)
		if r.plan.Async {
			newChain(c).toPlan()
		} else {
			go newGoroutine(c).run()
		}
	}
}

// stop has no new call begin, and sections end.
func (r *Rig) stop() {
	r.ending.Store(true)
	r.waker.stop()
}

// Close closes a rig that is not to run.
func (r *Rig) Close() {
	r.waker.stop()
	r.disconnect()
}

func (r *Rig) disconnect() {
	r.giveUp()
	for _, c := range r.clients {
		c.close()
	}
	if r.witness != nil {
		r.witness.close()
	}
}

// counted is a WaitGroup that can be asked.
type counted struct {
	wg   sync.WaitGroup
	left atomic.Int64
}

func (c *counted) Add(n int) {
	c.wg.Add(n)
	c.left.Add(int64(n))
}

func (c *counted) Done() {
	c.left.Add(-1)
	c.wg.Done()
}

// zero is closed when nobody is left.
func (c *counted) zero() <-chan struct{} {
	zero := make(chan struct{})
	go func() {
		c.wg.Wait()
		close(zero)
	}()
	return zero
}
