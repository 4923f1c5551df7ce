package chaos

import (
	"slices"
	"time"
)

var (
	everyKind  = []kind{mutexes, reentrant, fenced, fairs, rws, semaphores, permits}
	leasedKind = []kind{mutexes, reentrant, fenced, fairs, rws, permits} // what comes back when its holder dies
	lockKind   = []kind{mutexes, reentrant, fenced, fairs, rws}          // what needs nothing in Redis that is not its own
)

// allFaults are those of every kind.
var allFaults = slices.Concat(serverFaults, dataFaults, clientFaults)

// pick finds faults by their names.
func pick(names ...string) []fault {
	var all []fault
	for _, f := range allFaults {
		if slices.Contains(names, f.name) {
			all = append(all, f)
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

// onlyLong is the phase for runs of some minutes: it shows something when it lasts.
const onlyLong = "everything"

// isShort reports whether a run is one of make test.
func isShort(whole time.Duration) bool { return whole < 2*time.Minute }

// plans are the phases of a run whose faults are to last so long in all.
func plans(whole time.Duration) []plan {
	lasts := min(max(whole/8, shortest), longest)
	base := plan{kinds: everyKind, each: 8, clients: 4, workers: 24, habits: everyday, lasts: lasts, recovery: 2 * time.Second}
	if isShort(whole) {
		base.habits.Pause = 40 * time.Millisecond // a fault hits whoever calls then: thousands do, at a third of the processor time
	}
	with := func(name string, change func(*plan), faults ...string) plan {
		p := base
		p.name, p.faults = name, pick(faults...)
		change(&p)
		return p
	}
	hot := func(p *plan) {
		p.kinds, p.each, p.clients, p.workers, p.hot, p.habits = []kind{mutexes, fenced}, 2, 4, 64, true, eager
		p.recovery = time.Second
	}
	return []plan{
		with("server ill", func(p *plan) { p.lasts, p.slow = 2*lasts, 2 }, "redis SIGSTOP", "BUSY script", "CLIENT KILL normal", "CLIENT KILL pubsub", "SCRIPT FLUSH"),
		with("restarts, always", func(p *plan) { p.aof = "always" }, "redis kill -9, fsync always", "SCRIPT FLUSH"),
		with("data loss", func(p *plan) { p.kinds = lockKind }, "redis kill -9, no AOF", "FLUSHALL", "DEL by an operator"),
		with("clients", func(p *plan) { p.kinds = leasedKind }, "client SIGSTOP", "client kill -9"),
		with("hot locks, Redis gone", hot, "redis kill -9, hot locks"),
		with("everything", func(p *plan) { p.kinds, p.slow = lockKind, 5 }, "SCRIPT FLUSH", "CLIENT KILL normal", "CLIENT KILL pubsub", "redis SIGSTOP",
			"BUSY script", "redis kill -9, no AOF", "FLUSHALL", "DEL by an operator", "client SIGSTOP", "client kill -9"),
	}
}
