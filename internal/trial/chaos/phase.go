package chaos

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
)

// shortLease is the watchdog's in clients of plans that say nothing else: so short that a stop outlasts it often.
// A long one shows what is left behind.
const shortLease = time.Second

// plan is what a phase is made of.
type plan struct {
	name     string
	kinds    []kind
	each     int // names of each kind
	clients  int
	workers  int  // in each client
	hot      bool // each client keeps to one name, which no other asks for
	faults   []fault
	slow     int // pauses between strikes are so many times as long; 0: once
	habits   habits
	lease    time.Duration // the watchdog's; 0: shortLease
	aof      string        // appendfsync; empty: Redis keeps nothing on disk
	lasts    time.Duration // under faults
	recovery time.Duration // and then without
	sample   time.Duration // of a soak: how often everything is measured; 0: not a soak
}

// phase is a plan at work.
type phase struct {
	plan
	tb           testing.TB
	seed         uint64
	random       *rand.Rand // of the phase's own goroutine
	server       *redistest.Server
	places       []place
	struck       sync.Mutex // held by the fault that is at work on the server
	began        instant
	warm         instant // a soak has done enough to be measured; else as began
	recoveryFrom instant // the last fault was over by then

	mu      sync.Mutex // guards the rest
	clients []*process // those at work
	gone    []*process // those that were killed
	blows   []blow
	stalls  []span // of this process
	faints  []span // of Redis, whatever the reason
	served  []serverGauge
}

// all clients are struck.
const all = -1

// blow is a strike that hit.
type blow struct {
	fault  *fault
	when   span
	client int     // its number, or all
	place  *place  // nil: all
	down   span    // Redis was gone; 0: it was not
	back   instant // it answered again
	hit    bool
}

// run carries a plan out and returns what was seen.
func run(tb testing.TB, p plan, seed uint64) *history {
	tb.Helper()
	h := carryOut(tb, p, seed)
	h.read(h.phase)
	return h
}

// carryOut carries a plan out, to its quiet end.
func carryOut(tb testing.TB, p plan, seed uint64) *history {
	tb.Helper()
	ph := &phase{plan: p, tb: tb, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), places: places(p.kinds, p.each)}
	if ph.lease == 0 {
		ph.lease = shortLease
	}
	args := []string{"--enable-debug-command", "yes", "--enable-protected-configs", "yes", "--busy-reply-threshold", "20"}
	if p.aof != "" {
		args = append(args, "--appendonly", "yes", "--appendfsync", p.aof, "--auto-aof-rewrite-percentage", "0")
	}
	ph.server = redistest.Start(tb, args...)
	ph.furnish()
	ph.began = now()
	stopPace := ph.pace()
	for i := range p.clients {
		client := ph.start(i)
		ph.mu.Lock()
		ph.clients = append(ph.clients, client)
		ph.mu.Unlock()
	}
	ph.storm()
	ph.recoveryFrom = now()
	time.Sleep(p.recovery)
	return ph.settle(stopPace)
}

// start starts the client with a number, which is its seed too.
func (ph *phase) start(number int) *process {
	return startClient(ph.tb, setting{Number: number, Seed: ph.seed + uint64(number), Addr: ph.server.Addr(),
		Workers: ph.workers, Hot: ph.hot, Lease: ph.lease, Places: ph.places, Habits: ph.habits, Sample: ph.sample})
}

// replace starts another client in the place of one that was killed.
func (ph *phase) replace(dead *process) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	i := slices.Index(ph.clients, dead)
	ph.gone = append(ph.gone, dead)
	ph.clients[i] = ph.start(len(ph.clients) + len(ph.gone) - 1)
}

// anyone draws a client.
func (ph *phase) anyone(random *rand.Rand) *process {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	return ph.clients[random.IntN(len(ph.clients))]
}

// storm lets every fault of the plan strike again and again until the time is over.
func (ph *phase) storm() {
	silent := func(p *process) bool { return len(p.said()) == 0 }
	for !ph.tb.Failed() && !ph.ruined() && slices.ContainsFunc(ph.clients, silent) { // it opens its engine
		time.Sleep(10 * time.Millisecond)
	}
	ph.warmUp()
	end := ph.warm.plus(ph.lasts)
	latest := end.plus(overtime)
	if ph.sample > 0 { // measuring Redis takes seconds on a machine that is very busy
		latest = latest.plus(3 * overtime)
	}
	over := func() bool {
		return now() >= end && (ph.allHit() || now() >= latest) || ph.tb.Failed() || ph.ruined()
	}
	var running sync.WaitGroup
	for i := range ph.faults {
		f := &ph.faults[i]
		random := rand.New(rand.NewPCG(ph.seed, uint64(1000+i)))
		running.Go(func() {
			for !over() {
				pause := f.pause
				if pause == 0 {
					pause = 300 * time.Millisecond
				}
				time.Sleep(time.Duration(random.Int64N(int64(pause * time.Duration(max(ph.slow, 1))))))
				ph.strike(f, random)
			}
		})
	}
	running.Wait()
	for !over() { // there may be no faults
		time.Sleep(10 * time.Millisecond)
	}
}

// warmUp has each client of a soak do so much that it takes what it usually does: for how long, depends on the machine.
func (ph *phase) warmUp() {
	const grants = 1000
	cold := func(p *process) bool { return p.lastGauge().Granted < grants }
	if ph.warm = now(); ph.sample == 0 {
		return
	}
	for end := ph.began.plus(overtime); now() < end && !ph.tb.Failed() && !ph.ruined() && slices.ContainsFunc(ph.clients, cold); {
		time.Sleep(10 * time.Millisecond)
	}
	ph.warm = now()
}

// ruined reports whether a client has ended that nobody was to end: then the phase is over.
func (ph *phase) ruined() bool {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	return slices.ContainsFunc(ph.clients, func(p *process) bool { return p.ruin() != "" })
}

// overtime is how much longer a storm lasts at most, on a machine that was busy with something else, until each fault
// has hit.
const overtime = time.Minute

// allHit reports whether each fault has hit as often as it must, and holders and waiters: those of a soak are not known.
func (ph *phase) allHit() bool {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	h := &history{phase: ph}
	hits := h.hits()
	if slices.ContainsFunc(ph.faults, func(f fault) bool { return hits[f.name] < 3 }) {
		return false
	}
	if ph.sample > 0 {
		late := slices.IndexFunc(ph.served, func(g serverGauge) bool { return g.At >= ph.warm })
		return late >= 0 && len(ph.served)-late >= 2*fewest && !slices.ContainsFunc(ph.clients, func(p *process) bool { return p.gauges() < 2*fewest })
	}
	h.hearAll(ph)
	h.strikes()
	return len(h.violations) == 0
}

// strike lets a fault strike once. One at a time works on the server, and on each client.
func (ph *phase) strike(f *fault, random *rand.Rand) {
	s := &strike{phase: ph, Rand: random}
	b := blow{fault: f, client: all}
	if f.onServer {
		ph.struck.Lock()
		defer ph.struck.Unlock()
	} else {
		s.victim = ph.anyone(random)
		if !s.victim.disturbing.TryLock() {
			return
		}
		defer s.victim.disturbing.Unlock()
		if s.victim.wasKilled() {
			return
		}
		b.client = s.victim.Number
	}
	b.when.from = now()
	b.hit = f.strike(s)
	b.when.to, b.place, b.down, b.back = now(), s.place, s.down, s.back
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.blows = append(ph.blows, b)
}

// pace notes when this process, or Redis, did not run, and in a soak what Redis takes; call what it returns to end that.
func (ph *phase) pace() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		pace(ctx, paceBeat, func(r record) {
			ph.mu.Lock()
			defer ph.mu.Unlock()
			ph.stalls = append(ph.stalls, span{r.At, r.Until})
		})
	})
	running.Go(func() {
		pulse(ctx, ph.server.Addr(), func(s span) {
			ph.mu.Lock()
			defer ph.mu.Unlock()
			ph.faints = append(ph.faints, s)
		})
	})
	if ph.sample > 0 {
		running.Go(func() { ph.watch(ctx) })
	}
	return func() { cancel(); running.Wait() }
}
