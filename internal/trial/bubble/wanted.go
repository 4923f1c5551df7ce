package bubble

import (
	"context"
	"slices"
	"time"

	"github.com/wheellock/wheellock/engine"
)

// wantedHint is what a holder who has called Wanted listens to.
type wantedHint struct {
	told   <-chan struct{} // nil: it has not called it
	since  time.Time
	judged bool // it was told
}

// waiting is a caller that waits for a name.
type waiting struct {
	*held
	since time.Time
}

const (
	// wantedTime is how long somebody may wait until a holder is told who wants to be, while nothing befalls anybody for twice as long:
	// the waiter asks and subscribes, and others are counted every 250 ms.
	wantedTime = time.Second
	// youngTime is how old a hold is when others are counted first.
	youngTime = 2 * time.Second
	// listenTime is after how long nobody listens who does not wait, once nothing befalls anybody any more.
	listenTime = 5 * time.Second
)

// waits notes that somebody waits, until the function it returns is called.
func (j *judge) waits(of *held) (done func()) {
	one := &waiting{of, time.Now()}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.waiting == nil {
		j.waiting = make(map[*waiting]struct{})
	}
	j.waiting[one] = struct{}{}
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.waiting, one)
		if j.waited == nil {
			j.waited = make(map[string]time.Time)
		}
		for _, part := range of.s.parts {
			j.waited[part] = time.Now()
		}
	}
}

// listen calls Wanted of a hold.
func (j *judge) listen(one *held) {
	told := one.h.Wanted()
	j.mu.Lock()
	defer j.mu.Unlock()
	if one.wanted.told == nil {
		one.wanted = wantedHint{told: told, since: time.Now()}
	} else if one.wanted.told != told {
		j.w.violation("wanted", "a hold has two channels")
	}
}

// untilWanted has a lock until somebody else wants it, or for a while.
func (c *caller) untilWanted(alive context.Context, one *held) {
	c.w.judge.listen(one)
	ctx, cancel := context.WithTimeout(one.h.Context(alive), spread(c.r, 10*time.Millisecond, 5*wantedTime))
	defer cancel()
	select {
	case <-one.wanted.told:
	case <-ctx.Done():
	}
	c.p.stand()
}

// lookAtWanted judges that holders are told of those who have waited since they got their lock, and of nobody else.
func (j *judge) lookAtWanted() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for other := range j.waiting {
		// Beside holds of its own process it cannot have the name, and nobody elsewhere hears of it: a writer behind our readers.
		if slices.ContainsFunc(j.holds, func(own *held) bool { return own.p == other.p && own.s == other.s }) {
			other.since = time.Now()
		}
	}
	for _, one := range j.holds {
		if one.wanted.told == nil || one.over != nil || one.wanted.judged {
			continue
		}
		select {
		case <-one.wanted.told:
			one.wanted.judged = true
			j.isWanted(one)
			continue
		default:
		}
		if one.s.kind > rwKind || one.p.well() < 2*wantedTime || time.Since(one.wanted.since) < wantedTime || time.Since(one.granted) < youngTime+wantedTime {
			continue
		}
		for other := range j.waiting {
			if other.s != one.s || time.Since(other.since) < wantedTime || other.p.well() < 2*wantedTime ||
				one.shared && other.shared || // a reader waits for no readers: it may be let in, and ask for too short a lease to have it
				one.owner != (engine.Owner{}) && one.owner == other.owner || one.s.kind == spinKind && one.p != other.p {
				continue
			}
			j.w.violation("wanted", "%v has waited for %s for %v, and %v, who has it as %v, was not told", other.p, one.s.name, time.Since(other.since), one.p, one.ids)
			return
		}
	}
}

// isWanted judges that somebody has waited since a holder, who was just told so, got its lock. What has befallen somebody may have left a
// subscription behind, and who dies leaves its place in a fair queue. Who gives up while its question is on its way stands in Redis until
// the answer has come and it has left.
func (j *judge) isWanted(one *held) {
	for _, p := range j.w.processes {
		if p.well() < listenTime {
			return
		}
	}
	var last time.Time
	for _, part := range one.s.parts {
		if at := j.waited[part]; at.After(last) {
			last = at
		}
	}
	if one.s.kind == fairKind && j.ended || !last.Before(one.granted.Add(-4*j.w.plan.travel)) {
		return
	}
	for other := range j.waiting {
		if other.s.meets(one.s) {
			return
		}
	}
	j.w.violation("wanted", "%v, who has %s as %v since %v, was told that somebody waits; the last who did went %v before", one.p, one.s.name, one.ids,
		one.granted.Sub(j.w.began), one.granted.Sub(last))
}
