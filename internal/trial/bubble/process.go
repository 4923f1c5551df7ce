package bubble

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redisnet"
)

// process is one with an engine on each server. When it ends another takes its place.
type process struct {
	w     *World
	n     int
	links []*redisnet.Link
	past  []*redisnet.Link // of former lives: what they sent may still arrive
	clock clock

	mu       sync.Mutex // guards the rest; never held while blocking
	r        *rand.Rand // for points and travel
	engines  []*engine.Engine
	life     int             // how often it was started
	alive    context.Context // ends when this life is to end
	die      context.CancelFunc
	uuids    map[string]bool // of its engines, of all lives
	standing time.Time       // until then it does nothing
	kept     time.Time       // until then it is kept from running, or some goroutine of it
	troubled time.Time       // when something befell it last, or will have ended
	troubles []span          // all that befell it
	rests    time.Time       // until then none of its goroutines is kept at a point

	paused atomic.Int64 // ns for which it was kept from running, or some goroutine of it
	points atomic.Int64 // passed
}

func newProcess(w *World, n int) *process {
	p := &process{w: w, n: n, r: w.chance(processChance + uint64(n)), uuids: make(map[string]bool)}
	p.clock.rate = w.plan.drift * p.r.Float64()
	return p
}

func (p *process) String() string { return fmt.Sprintf("p%d.%d", p.n, p.life) }

// open starts a life.
func (p *process) open() error {
	p.life++
	p.past, p.links = append(p.past, p.links...), nil
	p.alive, p.die = context.WithCancel(context.Background())
	p.clock.start()
	var engines []*engine.Engine
	for _, s := range p.w.servers {
		l := redisnet.NewLink(p.String(), s)
		l.Up.Delay(p.travel)
		l.Down.Delay(p.travel)
		p.links = append(p.links, l)
		e, err := p.connect(s, l)
		if err != nil {
			return errors.Join(err, p.closeAll(engines))
		}
		engines = append(engines, e)
	}
	p.mu.Lock()
	p.engines = engines
	for _, e := range engines {
		p.uuids[uuid(e)] = true
	}
	p.mu.Unlock()
	p.w.note("%v opened %v", p, uuid(engines[0]))
	return nil
}

func (p *process) connect(s *redisnet.Server, l *redisnet.Link) (*engine.Engine, error) {
	defer p.opens()()
	o := p.w.plan.options
	o.Observer = p.observer()
	o.Redis = rueidis.ClientOption{InitAddress: []string{s.Name + ":6379"}, DialCtxFn: l.Dial, ForceSingleClient: true}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for {
		e, err := engine.Open(ctx, o)
		if err == nil && p.w.plan.blocked {
			p.block(e)
		}
		if err == nil || ctx.Err() != nil || p.w.failed() {
			return e, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// block has callbacks block all workers of an engine for as long as this life lasts.
func (p *process) block(e *engine.Engine) {
	ended, end := context.WithCancel(p.alive)
	end()
	f, alive := e.Mutex("callbacks").LockAsync(ended), p.alive // fails at once
	for range p.w.plan.options.Callbacks {
		f.Then(func(*engine.Hold, error) { <-alive.Done() })
	}
}

// uuid is that of an engine.
func uuid(e *engine.Engine) string {
	text := fmt.Sprint(e)
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "wheellock engine "), " ")
	return text
}

// travel is how long bytes are on their way.
func (p *process) travel() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.w.plan.travel/2 + time.Duration(p.r.Int64N(int64(p.w.plan.travel/2)+1))
}

// stand waits for as long as the process is stopped.
func (p *process) stand() {
	for {
		p.mu.Lock()
		until := p.standing
		p.mu.Unlock()
		rest := time.Until(until)
		if rest <= 0 {
			return
		}
		time.Sleep(rest)
	}
}

// stop stops it, as SIGSTOP does, as far as that can be: its callers, its engines at their points, and what its goroutines send and
// hear. (Were they stopped in Read or Write, goroutines of the client would spin that wait for them to come back, and that stop time.)
func (p *process) stop(d time.Duration) {
	until := time.Now().Add(d)
	p.mu.Lock()
	p.standing = until
	p.mu.Unlock()
	for _, l := range p.links {
		l.Up.Hold(until)
		l.Down.Hold(until)
	}
	p.keep(d)
}

// keep notes that it is kept from running for a time, or some goroutine of it.
func (p *process) keep(d time.Duration) {
	p.paused.Add(int64(d))
	p.trouble(d)
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(d); until.After(p.kept) {
		p.kept = until
	}
}

// keptFor is for how long it still is.
func (p *process) keptFor() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, time.Until(p.kept))
}

// stands reports whether it is stopped.
func (p *process) stands() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.standing)
}

// trouble notes that something befalls it for a time.
func (p *process) trouble(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	until := time.Now().Add(d)
	if until.After(p.troubled) {
		p.troubled = until
	}
	p.disturbedLocked(until)
}

// disturbedLocked notes until when something disturbs it from now on.
func (p *process) disturbedLocked(until time.Time) {
	if last := len(p.troubles) - 1; last >= 0 && !time.Now().After(p.troubles[last].to) {
		if until.After(p.troubles[last].to) {
			p.troubles[last].to = until
		}
	} else {
		p.troubles = append(p.troubles, span{time.Now(), until})
	}
}

// rest has none of its goroutines kept at a point for a time.
func (p *process) rest(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(d); until.After(p.rests) {
		p.rests = until
	}
}

// mend notes that what befalls it ends after a time at the latest.
func (p *process) mend(within time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now().Add(within)
	if p.kept.After(at) { // a goroutine is still kept from running
		at = p.kept
	}
	if p.troubled.After(at) {
		p.troubled = at
	}
}

// well is for how long nothing has befallen it.
func (p *process) well() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.troubled)
}

// engine is that on a server, in the present life.
func (p *process) engine(server int) *engine.Engine {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.engines[server]
}

// all are the engines, and the context of this life.
func (p *process) all() ([]*engine.Engine, context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.engines, p.alive
}

// ours reports whether an owner field is that of an engine of this process.
func (p *process) ours(owner string) bool {
	id, _, _ := strings.Cut(owner, ":")
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.uuids[id]
}

// lives reports whether an owner field is that of an engine of the present life.
func (p *process) lives(owner string) bool {
	id, _, _ := strings.Cut(owner, ":")
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.engines, func(e *engine.Engine) bool { return uuid(e) == id })
}

// restart ends this life and begins another. A crash frees nothing: the links are dead before anybody can.
func (p *process) restart(crash bool) {
	engines, _ := p.all()
	p.w.note("%v ends, crash %t", p, crash)
	if crash {
		p.kill()
	}
	p.overflows()
	p.mu.Lock()
	p.disturbedLocked(time.Now().Add(p.w.plan.mostStay())) // what it was about to get runs out
	p.mu.Unlock()
	p.die()
	p.w.judge.drop(p)
	if err := p.closeAll(engines); err != nil {
		p.w.violation("close", "%v: %v", p, err)
	}
	if p.w.failed() {
		return
	}
	if err := p.open(); err != nil {
		p.w.violation("open", "%v: %v", p, err)
	}
}

// overflows judges that nothing waited for a worker while all were blocked: nobody has callbacks here but those that block.
func (p *process) overflows() {
	engines, _ := p.all()
	for _, e := range engines {
		if n := e.Stats().Overflowed; n > 0 {
			p.w.violation("callbacks", "%v: %d steps of the engine waited for a callback worker", p, n)
		}
	}
}

// kill has nothing of it reach anybody any more.
func (p *process) kill() {
	for _, l := range p.links {
		never := time.Now().Add(1000 * time.Hour)
		l.Refuse(never)
		l.Up.Lose(never)
		l.Cut()
	}
}

// closeTime is how long Close may take.
const closeTime = 5*time.Second + 300*time.Millisecond

// closeAll closes engines.
func (p *process) closeAll(engines []*engine.Engine) error {
	var wg sync.WaitGroup
	for _, e := range engines {
		wg.Go(func() {
			p.w.calls.bounded(p, "Close", closeTime, func() { e.Close() })
		})
	}
	wg.Wait()
	return nil
}
