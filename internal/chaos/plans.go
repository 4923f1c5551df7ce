package chaos

import (
	"slices"
	"time"
)

var (
	everyKind  = []kind{mutexes, reentrant, fenced, fairs, rws, semaphores, permits, latches}
	leasedKind = []kind{mutexes, reentrant, fenced, fairs, rws, permits} // what comes back when its holder dies
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

// Bounds of a phase's time under its faults: each of them has to hit. All at once they need the longer one.
const (
	shortest           = 3 * time.Second
	longest            = 20 * time.Second
	shortestEverything = 15 * time.Second
)

// plans are the phases of a run whose faults are to last so long in all.
func plans(whole time.Duration) []plan {
	lasts := min(max(whole/9, shortest), longest)
	base := plan{kinds: everyKind, each: 8, clients: 4, workers: 24, habits: everyday, lasts: lasts, calm: 2 * time.Second}
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
	all := []plan{
		with("weather", nil, "latency", "jitter", "10 kB/s", "slow close", "messages lost", "callers go away"),
		with("cuts", nil, "reset", "reset at a byte", "half-close", "connections refused", "answer swallowed", "CLIENT KILL normal",
			"CLIENT KILL pubsub", "SCRIPT FLUSH"),
		with("partitions", nil, "black hole, in", "black hole, out", "black hole, both", "lost by a firewall", "late delivery"),
		with("server ill", func(p *plan) { p.lasts, p.slow = 2*lasts, 2 }, "redis SIGSTOP", "DEBUG SLEEP", "BUSY script", "CLIENT PAUSE", "maxmemory", "foreign key", "READONLY", "too many clients"),
		with("restarts, everysec", func(p *plan) { p.kinds, p.aof = lockKind, "everysec" }, "redis kill -9, everysec", "reset"),
		with("restarts, always", func(p *plan) { p.aof = "always" }, "redis kill -9, fsync always", "SCRIPT FLUSH"),
		with("data loss", locks, "redis kill -9, no AOF", "FLUSHALL", "DEL by an operator"),
		with("clients", leased, "client SIGSTOP", "client kill -9", "CPU starvation"),
		with("everything", func(p *plan) { p.kinds, p.slow = lockKind, 5 }, "latency", "reset at a byte", "answer swallowed", "black hole, both", "black hole, in", "late delivery", "messages lost",
			"SCRIPT FLUSH", "CLIENT KILL normal", "CLIENT KILL pubsub", "redis SIGSTOP", "BUSY script", "maxmemory", "READONLY", "CLIENT PAUSE",
			"redis kill -9, no AOF", "FLUSHALL", "DEL by an operator", "client SIGSTOP", "client kill -9", "CPU starvation"),
	}
	if lasts < shortestEverything {
		all = all[:len(all)-1]
	}
	return all
}
