package bubble

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// kind is that of a name.
type kind int

const (
	mutexKind kind = iota
	fencedKind
	spinKind
	simpleKind
	fairKind
	rwKind
	permitKind
	semaphoreKind
	latchKind
	multiKind
	quorumKind
	kinds
	partKind = kinds // one name of a multi, by itself
)

var kindNames = [kinds + 1]string{"mutex", "fenced", "spin", "simple", "fair", "rw", "permits", "semaphore", "latch", "multi", "quorum", "part"}

func (k kind) String() string { return kindNames[k] }

// onlyKind is the only kind that there is, if it is one.
var onlyKind = new(string)

// plan is what a world is like.
type plan struct {
	processes int
	callers   int // of each process
	servers   int
	kinds     []kind
	lasts     time.Duration // until it is mended
	lease     time.Duration // of watched holds
	options   engine.Options
	travel    time.Duration // of bytes, one way, at most
	think     time.Duration // between two things that a caller does, about
	faults    time.Duration // between two bursts of faults, about
	stalls    float64       // how likely it is that a goroutine is kept at a point
	favourite uint64        // which points keep goroutines often, and beyond a deadline; 0: none
	hot       bool          // many want one name, and have it for a moment
	brief     bool          // nobody has it for longer
	long      bool          // who has a lock keeps it for many leases: most of what is answered are renewals
	drift     float64       // how much faster or slower clocks run, at most
	blocked   bool          // callbacks of users block all workers
	simple    bool          // the parts of a quorum are simple locks
}

// How long a world lasts until it is mended, about: so many leases, within bounds.
const (
	worldLeases = 60
	leastWorld  = 15 * time.Second
	mostWorld   = 10 * time.Minute
	hotWorld    = 6 * time.Second // where many want one name
)

// draw makes the plan of a seed.
func draw(r *rand.Rand) plan {
	p := plan{
		processes: 2 + r.IntN(3),
		callers:   1 + r.IntN(4),
		servers:   1,
		lease:     []time.Duration{100, 300, 1000, 1000, 3000, 3000, 10_000, 30_000}[r.IntN(8)] * time.Millisecond,
		think:     spread(r, 20*time.Millisecond, 2*time.Second),
		faults:    spread(r, 300*time.Millisecond, 20*time.Second),
		stalls:    math.Pow(10, -1-3*r.Float64()),
		drift:     0.004 * r.Float64(),
	}
	p.lasts = time.Duration((0.5 + r.Float64()) * float64(min(max(worldLeases*p.lease, leastWorld), mostWorld)))
	p.travel = spread(r, 20*time.Microsecond, min(30*time.Millisecond, p.lease/10))
	for range 1 + r.IntN(4) {
		p.kinds = append(p.kinds, kind(r.IntN(int(kinds))))
	}
	if r.IntN(4) == 0 { // most locks are of this kind
		p.kinds = []kind{mutexKind}
	}
	if only := slices.Index(kindNames[:], *onlyKind); only >= 0 {
		p.kinds = []kind{kind(only)}
	}
	for _, k := range p.kinds {
		if k == quorumKind {
			p.servers = 3
		}
	}
	switch r.IntN(8) {
	case 0:
		p.stalls = 0
	case 1, 2, 3, 4:
		p.favourite = r.Uint64()
	}
	if p.hot = r.IntN(5) == 0; p.hot {
		p.kinds, p.callers = p.kinds[:1], 4+r.IntN(5)
		p.lasts = hotWorld/2 + time.Duration(r.Int64N(int64(hotWorld)))
		p.think, p.faults = spread(r, 200*time.Microsecond, 5*time.Millisecond), spread(r, 200*time.Millisecond, 2*time.Second)
		if r.IntN(3) == 0 { // nobody else listens, so that the name is handed on for long
			p.processes = 1
		}
	}
	p.long = !p.hot && r.IntN(4) == 0
	p.options = engine.Options{
		Lease:            p.lease,
		DeclaredKeysOnly: r.IntN(6) == 0,
		PubSub:           []engine.PubSub{engine.PubSubPlain, engine.PubSubPlain, engine.PubSubSharded, engine.PubSubBoth}[r.IntN(4)],
		PollCap:          []time.Duration{0, 0, 100 * time.Millisecond}[r.IntN(3)],
		HandoffTime:      []time.Duration{0, 0, 0, -1}[r.IntN(4)],
		MaxHold:          []time.Duration{0, 0, 0, 2 * p.lease}[r.IntN(4)],
		FairWaiterLease:  []time.Duration{0, 500 * time.Millisecond}[r.IntN(2)],
	}
	if p.blocked = r.IntN(2) == 0; p.blocked {
		p.options.Callbacks = 1 + r.IntN(2)
	}
	p.simple = r.IntN(2) == 0
	return p
}

// lineKinds are those for which engines stand in line.
var lineKinds = []kind{mutexKind, fencedKind, simpleKind, permitKind, semaphoreKind}

// hundred makes plans of a hundred engines that want one name of a kind, with a caller each. Their lease is one that a release can give.
func hundred(k kind) func(*rand.Rand) plan {
	return func(r *rand.Rand) plan {
		p := draw(r)
		p.processes, p.callers, p.servers, p.kinds = 100, 1, 1, []kind{k}
		p.hot, p.long, p.lasts, p.stalls, p.favourite = true, false, hotWorld, 0, 0
		p.lease, p.travel, p.think, p.faults = 3*time.Second, 100*time.Microsecond, time.Millisecond, time.Second
		p.options = engine.Options{Lease: p.lease, PubSub: p.options.PubSub}
		if k == semaphoreKind { // thousands of turns, for nobody waits for a lease to end
			p.lasts /= 2
		}
		return p
	}
}

// crowded makes plans of callers of which most want one name of a MultiLock, and have it for a moment.
func crowded(r *rand.Rand) plan {
	p := draw(r)
	p.processes, p.callers, p.servers, p.kinds = 1+r.IntN(3), 7, 1, []kind{multiKind}
	p.hot, p.brief, p.long, p.lasts, p.stalls, p.favourite = true, true, false, hotWorld, 0, 0
	p.lease, p.travel, p.think, p.faults = 3*time.Second, 100*time.Microsecond, 20*time.Microsecond, hotWorld
	p.options = engine.Options{Lease: p.lease, PubSub: p.options.PubSub}
	return p
}

// favours reports whether a point is one of those: about every fourth is, by its hash (FNV-1a).
func (p *plan) favours(point string) bool {
	if p.favourite == 0 {
		return false
	}
	h := p.favourite
	for _, b := range []byte(point) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h>>32%4 == 0
}

// spread draws a duration of any size between two: as likely between 1 and 10 ms as between 10 and 100.
func spread(r *rand.Rand, least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), r.Float64()))
}
