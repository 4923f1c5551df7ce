package bubble

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wheellock/wheellock/engine"
	rules "github.com/wheellock/wheellock/internal/judge"
	"github.com/wheellock/wheellock/internal/redismodel"
)

// judge looks at all holds, again and again, on true time.
type judge struct {
	w *World

	mu        sync.Mutex // guards the rest; held while clocks are read, never while blocking
	holds     []*held
	destroyed map[string]bool // owner ids whose keys somebody has deleted or put back
	forces    int             // calls of ForceUnlock
	doomed    doomed
	asking    map[*process]map[string]int
	staying   []stay
	waiting   map[*waiting]struct{}
	waited    map[string]time.Time // when somebody last waited for a name who does not any more
	ended     bool                 // some process has, and may have left a place in a fair queue
	orphans   map[orphan]time.Time
	past      map[*subject][]*held // all calls
}

// held is a call for a name, and the hold that it was granted.
type held struct {
	h       *engine.Hold // nil: none
	p       *process
	s       *subject
	shared  bool
	fixed   bool          // its lease is one that nobody renews
	lease   time.Duration // if it is
	least   time.Duration // for which its name stays taken, whatever becomes of it
	owner   engine.Owner
	permits int
	ids     []string // its owner fields
	wanted  wantedHint
	tried   bool // it asked once and did not wait
	again   bool // by an owner who had it
	spared  bool // what it stands on was destroyed before it was heard of
	token   int64

	asked, answered, granted time.Time

	free  time.Time         // from when on it surely was over
	stays time.Time         // until when its name stays taken, at the latest
	lacks map[int]time.Time // since when it has no part on a server, of a majority
	over  error             // what Err said when it was first not nil
}

// add takes up a hold that was granted, and judges it.
func (j *judge) add(one *held) {
	one.ids, one.granted = strings.Split(one.h.TenureID(), ","), time.Now()
	one.token, _ = one.h.Token()
	j.mu.Lock()
	j.holds = append(j.holds, one)
	j.mu.Unlock()
	j.w.note("%v %s holds %s by %v until %v", one.p, one.mode(), one.s.name, one.ids, one.h.Deadline().Sub(j.w.began))
	j.look()
	j.mu.Lock()
	defer j.mu.Unlock()
	one.spared = j.exempt(one)
}

func (one *held) mode() string {
	if one.shared {
		return "shared"
	}
	return "alone"
}

// remove forgets a hold, before it is given back.
func (j *judge) remove(one *held) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.holds = slices.DeleteFunc(j.holds, func(other *held) bool { return other == one })
}

// drop forgets the holds of a process that ends.
func (j *judge) drop(p *process) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = true
	j.holds = slices.DeleteFunc(j.holds, func(other *held) bool {
		if other.p == p && other.free.IsZero() {
			other.free = other.ends()
		}
		return other.p == p
	})
}

// run looks at times drawn by chance, and when a hold is to end.
func (j *judge) run() {
	r := j.w.chance(judgeChance)
	for {
		select {
		case <-j.w.done:
			return
		case <-time.After(min(spread(r, 100*time.Microsecond, 300*time.Millisecond), j.nextEnd())):
		}
		j.w.pulse.Store(int64(time.Since(j.w.began)))
		j.look()
		j.lookForOrphans()
		j.lookAtStays()
		j.lookAtWanted()
	}
}

// nextEnd is after how long the next hold ends if it is not renewed.
func (j *judge) nextEnd() time.Duration {
	return min(j.nextDeadline(nil)+time.Microsecond, time.Second)
}

// nextDeadline is the time to the next deadline of a hold of p, or of any hold if p is nil.
func (j *judge) nextDeadline(p *process) time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	next := never
	for _, one := range j.holds {
		if rest := time.Until(one.h.Deadline()); rest >= 0 && one.over == nil && (p == nil || one.p == p) {
			next = min(next, rest)
		}
	}
	return next
}

// never is the time to a deadline that there is not.
const never = time.Duration(math.MaxInt64 / 2)

// look judges all holds against each other, and against what stands in Redis.
func (j *judge) look() {
	j.destroy(j.doomed.take())
	j.w.judging.Store(true)
	defer j.w.judging.Store(false)
	j.mu.Lock()
	defer j.mu.Unlock()
	var valid []*held
	for _, one := range j.holds {
		if one.p.stands() { // nobody can do anything there
			continue
		}
		err := one.h.Err()
		if one.over != nil && err == nil {
			j.w.violation("final", "%v: the hold of %s by %v was over (%v) and is valid again", one.p, one.s.name, one.ids, one.over)
			one.over = nil
		}
		if err != nil {
			j.note(one, err)
			continue
		}
		if !j.exempt(one) {
			valid = append(valid, one)
		}
	}
	for i, one := range valid {
		others := slices.DeleteFunc(slices.Clone(valid[:i]), func(other *held) bool { return !other.s.meets(one.s) })
		total, _, _, void := one.s.tally.read()
		if (one.permits == 0 || !void) && rules.Excludes(total, one, others...) {
			j.w.violation("exclusion", "%v beside %v", one, others)
		}
		j.deadline(one)
		j.whole(one)
	}
	j.count()
}

func (one *held) String() string {
	if one.h == nil {
		return fmt.Sprintf("%v asking for %s", one.p, one.s.name)
	}
	return fmt.Sprintf("%v having %s by %v (until %v, token %d)", one.p, one.s.name, one.ids, one.h.Deadline().Sub(one.p.w.began), one.token)
}

func (j *judge) note(one *held, err error) {
	if one.over == nil {
		one.over = err
		if one.free.IsZero() {
			one.free = one.ends()
		}
		j.w.note("%v: the hold of %s by %v is over: %v", one.p, one.s.name, one.ids, err)
	}
	if !errors.Is(err, engine.ErrLost) && !errors.Is(err, engine.ErrUnlocked) {
		j.w.violation("errors", "%v: a hold ended with %v", one.p, err)
	}
}

// exempt reports whether what a hold stands on was destroyed: then no lock on Redis can keep its word.
func (j *judge) exempt(one *held) bool {
	left, ids := 0, one.ids
	if one.s.kind == quorumKind { // it may have got parts since, and lost others
		ids = strings.Split(one.h.TenureID(), ",")
	}
	for _, id := range ids {
		if !j.destroyed[id] && !j.destroyed[id+":write"] { // who reads under a writer of its own stands there as that
			left++
		}
	}
	if one.s.kind == quorumKind {
		held, _ := one.h.Parts()
		return left-(len(ids)-held) < len(j.w.servers)/2+1 // a part that is over is there until its loop has noticed: it keeps no word
	}
	return left < len(one.ids)
}

// forcing notes that somebody begins to force a lock, or has done so: whoever stands in Redis meanwhile may lose his.
func (j *judge) forcing(n int) {
	j.mu.Lock()
	j.forces += n
	first, last := j.forces == 1 && n > 0, j.forces == 0
	j.mu.Unlock()
	switch {
	case first:
		j.w.servers[0].After(func(m *redismodel.Server) { j.doomed.add(idsIn(m)) })
	case last:
		j.w.servers[0].After(nil)
	}
	j.destroy(j.doomed.take())
}

// destroy notes that what stands on a server now is about to be destroyed, in whole or in part.
func (j *judge) destroy(ids []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.destroyed == nil {
		j.destroyed = make(map[string]bool)
	}
	for _, id := range ids {
		j.destroyed[id] = true
	}
}
