package bubble

import (
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/internal/redisnet"
	"github.com/wheellock/wheellock/scripts"
)

// orphan is an owner in Redis for whom no hold stands.
type orphan struct{ server, key, id string }

// orphanTime is how long one may stand in Redis while nothing befalls its process: an uncertain acquire is released when no copy
// of it can arrive any more, 2.25 s after it was sent, a release that finds no connection is repeated after a second at most, and who connects
// may wait for the server's clock for another.
const orphanTime = 5 * time.Second

// restTime is how long a process runs in peace after what may leave an owner that nobody holds: the judge finds it in that time.
const restTime = orphanTime + 2*time.Second

// cleanTime is after how long an engine releases an acquire that got no answer: then it cannot run any more.
const cleanTime = gate.LateWindow + 250*time.Millisecond

// ask notes a call for a name, until the function it returns is called: its process may have an owner there.
func (j *judge) ask(one *held) (answered func()) {
	p, s := one.p, one.s
	count := func(n int) {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.asking == nil {
			j.asking = make(map[*process]map[string]int)
		}
		if j.asking[p] == nil {
			j.asking[p] = make(map[string]int)
		}
		for _, part := range s.parts {
			j.asking[p][part] += n
		}
	}
	one.asked = time.Now()
	j.record(one)
	count(1)
	return func() {
		one.answered = time.Now()
		count(-1)
	}
}

// lookForOrphans judges that no owner stays in Redis for whom nobody holds anything.
func (j *judge) lookForOrphans() {
	j.mu.Lock()
	defer j.mu.Unlock()
	seen := make(map[orphan]time.Time)
	for _, s := range j.w.servers {
		for key, fields := range owners(s) {
			for _, id := range fields {
				if strings.HasSuffix(id, detachedSuffix) { // it runs out by itself
					if left := s.Truly(time.Duration(s.Do("PTTL", key).Int) * time.Millisecond); left < 0 || left > 2*j.w.plan.mostStay() {
						j.w.violation("orphan", "%s has %s for %v", id, key, left)
					}
					continue
				}
				if p := j.owner(id); p == nil || j.destroyed[id] || j.wanted(p, key, id) || lapsed(s, key, id) {
					continue
				}
				g := orphan{s.Name, key, id}
				seen[g] = time.Now()
				if since, known := j.orphans[g]; known {
					seen[g] = since
				}
				if age := time.Since(seen[g]); age > orphanTime {
					j.w.violation("orphan", "%s has stood in %s for %v, and nobody holds it", id, key, age)
					j.destroyed[id] = true
				}
			}
		}
	}
	j.orphans = seen
}

// lapsed reports whether it is a reader whose own lease has run out, among readers who keep the lock: his field stays, as Redisson's
// do, and nobody heeds it.
func lapsed(s *redisnet.Server, key, id string) bool {
	return s.Do("HGET", key, "mode").Str == "read" && s.Do("EXISTS", scripts.HoldKey(key, id)).Int == 0
}

// owner is the process whose owner field it is.
func (j *judge) owner(id string) *process {
	for _, p := range j.w.processes {
		if p.ours(id) {
			return p
		}
	}
	return nil
}

// wanted reports whether there may be a reason for an owner to stand in Redis. A question that takes a lock has its answer long
// before orphanTime is over; that for a quorum waits for other servers, a multi for its other names.
func (j *judge) wanted(p *process, key, id string) bool {
	if !p.lives(id) || p.well() < time.Second { // who is dead freed what he could; the rest runs out
		return true
	}
	if (strings.HasPrefix(key, quorumKind.String()) || strings.HasPrefix(key, multiKind.String())) && j.asking[p][key] > 0 {
		return true
	}
	bare := strings.TrimSuffix(id, ":write")
	return slices.ContainsFunc(j.holds, func(one *held) bool {
		if one.p != p {
			return false
		}
		now := strings.Split(one.h.TenureID(), ",") // parts of a quorum that came late have joined it
		return slices.ContainsFunc(append(now, one.ids...), func(own string) bool { return strings.TrimSuffix(own, ":write") == bare })
	})
}
