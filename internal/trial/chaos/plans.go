package chaos

import (
	"slices"
	"time"
)

var (
	everyKind  = []kind{mutexes, reentrant, fenced, fairs, rws, semaphores, permits, latches}
	leasedKind = []kind{mutexes, reentrant, fenced, fairs, rws, permits} // what comes back when its holder dies
	lineKind   = []kind{mutexes, fenced, rws, semaphores, permits}       // engines stand in line for them
	lockKind   = []kind{mutexes, reentrant, fenced, fairs, rws}          // what needs nothing in Redis that is not its own
)

// pick finds faults by their names.
func pick(names ...string) []fault {
	var all []fault
	for _, list := range [][]fault{linkFaults, serverFaults, dataFaults, clientFaults} {
		for _, f := range list {
			if slices.Contains(names, f.name) {
				all = append(all, f)
			}
		}
	}
	if len(all) != len(names) {
		panic("chaos: a fault that is not in the table")
	}
	return all
}

// Bounds of a phase's time under its faults: each of them has to hit.
const (
	shortest = 2 * time.Second
	longest  = 15 * time.Second
)

// onlyLong are the phases for runs of some minutes. The last three show something when they last. Of the others make test has the faults
// elsewhere: in virtual time, or in a phase that has more of them.
var onlyLong = []string{"weather", "restarts, everysec", "refused", "deadlines", "foreign bytes", "answers lost", "sparse", "everything"}

// isShort reports whether a run is one of make test.
func isShort(whole time.Duration) bool { return whole < 2*time.Minute }

// plans are the phases of a run whose faults are to last so long in all.
func plans(whole time.Duration) []plan {
	lasts := min(max(whole/13, shortest), longest)
	base := plan{kinds: everyKind, each: 8, clients: 4, workers: 24, habits: everyday, lasts: lasts, recovery: 2 * time.Second}
	if isShort(whole) {
		base.habits.Pause = 40 * time.Millisecond // a fault hits whoever calls then: thousands do, at a third of the processor time
	}
	with := func(name string, change func(*plan), faults ...string) plan {
		p := base
		p.name, p.faults = name, pick(faults...)
		if change != nil {
			change(&p)
		}
		return p
	}
	locks := func(p *plan) { p.kinds = lockKind }
	leased := func(p *plan) { p.kinds = leasedKind }
	long := func(p *plan) { p.lease, p.habits.Forget = 10*time.Second, 0 } // what is left behind is seen
	lost := func(p *plan) { long(p); p.lasts, p.recovery = 2*lasts, 5*time.Second }
	hot := func(p *plan) {
		p.kinds, p.each, p.clients, p.workers, p.hot, p.habits = []kind{mutexes, fenced}, 2, 4, 64, true, eager
		p.recovery = time.Second
	}
	refused := func(p *plan) {
		p.kinds, p.each, p.workers, p.lease, p.habits = []kind{mutexes, rws, permits}, 32, 40, 2*time.Second, lastingHolds
		p.recovery = 500 * time.Millisecond
	}
	brinks := func(p *plan) {
		p.kinds, p.each, p.clients, p.workers, p.more, p.habits = []kind{edges}, 1, 3, 100, 2, brink
		p.lasts, p.recovery = lasts*2/3, 500*time.Millisecond
	}
	foreign := func(p *plan) { p.kinds, p.lasts, p.recovery = lockKind, lasts*2/3, 500*time.Millisecond }
	published := func(p *plan) {
		p.kinds, p.each, p.lasts, p.recovery = []kind{fenced, mutexes, fairs, rws, semaphores, permits}, 2, lasts*2/3, 500*time.Millisecond
	}
	staying := func(p *plan) {
		p.kinds, p.workers, p.lease = []kind{stays}, 12, 500*time.Millisecond
		p.habits.Wait, p.habits.WaitFor = 500, 2*time.Second
		p.habits.Middle, p.habits.MiddleHold = 500, 400*time.Millisecond // some die while they hold
	}
	// Each caller waits in a line with those of all other clients.
	fleet := func(p *plan) {
		p.kinds, p.each, p.clients, p.workers, p.fleet = lineKind, 1, 24, len(lineKind), true
		p.habits = habits{CtxEnd: 20, CtxEndIn: 40 * time.Millisecond, Middle: 1000, MiddleHold: 5 * time.Millisecond}
		p.lease, p.hits, p.recovery = fleetLease, 1, time.Second
		if isShort(whole) {
			p.clients = 12 // the start of one costs as much as all of its calls
		}
	}
	// Where few call, nobody else comes by to free who was left behind.
	sparse := func(p *plan) {
		p.kinds, p.clients, p.workers, p.lease, p.latency = lockKind, 2, 10, 10*time.Second, 30*time.Millisecond
		p.habits.Pause, p.habits.Middle = time.Second, 500
		p.habits.Try, p.habits.Wait, p.habits.CtxEnd, p.habits.Drop = 100, 0, 100, 50
		p.lasts = 3 * lasts
	}
	return []plan{
		with("weather", func(p *plan) { p.habits.Forget = 20 }, "latency", "jitter", "10 kB/s", "slow close", "messages lost", "callers go away"),
		with("cuts", long, "reset", "reset at a byte", "half-close", "connections refused", "answer swallowed", "CLIENT KILL normal",
			"CLIENT KILL pubsub", "SCRIPT FLUSH"),
		with("partitions", nil, "black hole, in", "black hole, out", "black hole, both", "lost by a firewall", "late delivery"),
		with("server ill", func(p *plan) { p.lasts, p.slow = 2*lasts, 2 }, "redis SIGSTOP", "DEBUG SLEEP", "BUSY script", "CLIENT PAUSE", "maxmemory", "foreign key", "READONLY", "too many clients"),
		with("restarts, everysec", func(p *plan) { p.kinds, p.aof = lockKind, "everysec" }, "redis kill -9, everysec", "reset"),
		with("restarts, always", func(p *plan) { p.aof = "always" }, "redis kill -9, fsync always", "SCRIPT FLUSH"),
		with("data loss", locks, "redis kill -9, no AOF", "FLUSHALL", "DEL by an operator"),
		with("clients", leased, "client SIGSTOP", "client kill -9", "CPU starvation"),
		with("hot locks, Redis gone", hot, "redis kill -9, hot locks"),
		with("refused", refused, "refused after a lost answer"),
		with("deadlines", brinks, "client asleep over a deadline"),
		with("foreign bytes", foreign, "bytes nobody asked for"),
		with("publisher", published, "a publisher"),
		with("names stay taken", staying, "client kill -9", "client SIGSTOP", "answer swallowed", "reset", "late delivery"),
		with("fleet", fleet, "first in line killed", "first in line stopped"),
		with("answers lost", lost, "answer swallowed", "reset"),
		with("sparse", sparse, "SCRIPT FLUSH", "callers go away"),
		with("everything", func(p *plan) { p.kinds, p.slow = lockKind, 5 }, "latency", "reset at a byte", "answer swallowed", "black hole, both", "black hole, in", "late delivery", "messages lost",
			"SCRIPT FLUSH", "CLIENT KILL normal", "CLIENT KILL pubsub", "redis SIGSTOP", "BUSY script", "maxmemory", "READONLY", "CLIENT PAUSE",
			"redis kill -9, no AOF", "FLUSHALL", "DEL by an operator", "client SIGSTOP", "client kill -9", "CPU starvation"),
	}
}
