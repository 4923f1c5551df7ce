package bubble

import (
	"cmp"
	"slices"
	"time"

	"github.com/wheellock/wheellock/engine"
	rules "github.com/wheellock/wheellock/internal/judge"
)

// at is a time as package judge counts it.
func (w *World) at(t time.Time) rules.Time {
	if t.IsZero() {
		return 0
	}
	return rules.Time(t.Sub(w.began))
}

// Judged is the call as package judge sees it.
func (one *held) Judged() rules.Call {
	w := one.p.w
	call := rules.Call{Shared: one.shared, Permits: int64(one.permits), Tried: one.tried || one.hopeless(), Asked: w.at(one.asked), Answered: w.at(one.answered), Granted: w.at(one.granted),
		Free: max(w.at(one.free), w.at(one.stays)), Token: one.token}
	if one.owner != (engine.Owner{}) {
		call.Owner = one.owner
	}
	return call
}

// hopeless reports whether the answers to a call may all come too late: its lease, less a margin, is no longer than bytes travel. Then it may
// wait beside a free lock, so it counts as a call that asks once.
func (one *held) hopeless() bool {
	return one.fixed && one.lease-5*time.Millisecond <= 2*one.p.w.plan.travel
}

// grace is how much later than its holder's deadline a lease may end in Redis: an acquire was on its way, deadlines have a margin, and
// clocks run at different speeds.
func (p *plan) grace() time.Duration { return 100*time.Millisecond + p.lease/20 }

// ends is when what a hold stands on in Redis ends by itself, at the latest.
func (one *held) ends() time.Time {
	return time.Now().Add(max(0, one.p.clock.truly(time.Until(one.h.Deadline()))) + one.p.w.plan.grace())
}

// record keeps a call for the review.
func (j *judge) record(one *held) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.past == nil {
		j.past = make(map[*subject][]*held)
	}
	j.past[one.s] = append(j.past[one.s], one)
}

// grants is how many calls were granted, and to how many processes.
func (j *judge) grants() (n, processes int) {
	had := make(map[*process]bool)
	for _, calls := range j.past {
		for _, c := range calls {
			if !c.granted.IsZero() {
				n, had[c.p] = n+1, true
			}
		}
	}
	return n, len(had)
}

// freed notes that a hold surely is over from some time on.
func (j *judge) freed(one *held, at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if one.free.IsZero() {
		one.free = at
	}
}

// span is a time in which something befell a process.
type span struct{ from, to time.Time }

// settling is after how long everything is as if nothing had befallen a process: what is uncertain has been released, and who died
// stands in no queue.
func (w *World) settling() time.Duration {
	return orphanTime + cmp.Or(w.plan.options.FairWaiterLease, 5*time.Second)
}

// quiet is the longest part of a time in which nothing befell some processes, nor had for settling.
func (w *World) quiet(from, to rules.Time, settling time.Duration, processes ...*process) (longest time.Duration) {
	var troubles []span
	for _, p := range processes {
		troubles = append(troubles, p.troubles...)
	}
	slices.SortFunc(troubles, func(a, b span) int { return a.from.Compare(b.from) })
	for _, t := range troubles {
		longest = max(longest, time.Duration(min(w.at(t.from), to)-from))
		from = max(from, w.at(t.to.Add(settling)))
	}
	return max(longest, time.Duration(to-from))
}

// review brings all calls before the rules of package judge that look back.
func (j *judge) review() {
	for s, calls := range j.past {
		switch s.kind {
		case fencedKind:
			for one, other := range rules.Tokens(calls) {
				if !one.spared {
					j.w.violation("tokens", "%v after %v", one, other)
				}
			}
		case fairKind:
			j.order(calls)
		}
		if s.kind <= rwKind {
			j.gaps(s, calls)
		}
		if s.kind == multiKind && j.w.plan.brief {
			j.turns(calls)
		}
	}
}

// inVain reports whether a call of a's process may have been granted in vain until some time, because its lease was over before its
// answer had come. Its engine gives up the places of all its callers then, whose numbers follow that one, and they join the queue again.
func inVain(calls []*held, a *held, until time.Time) bool {
	return slices.ContainsFunc(calls, func(c *held) bool {
		return c.p == a.p && c.fixed && c.lease < rules.InLine && c.asked.Before(until) && (c.answered.IsZero() || c.answered.After(a.asked))
	})
}

// order judges that nobody is overtaken in the queue of a fair lock while nothing befalls anybody.
func (j *judge) order(calls []*held) {
	for pair, overtaken := range rules.Order(calls, rules.InLine) {
		a, b := pair[0], pair[1]
		from, to := j.w.at(a.asked), j.w.at(b.granted)
		if b.again || inVain(calls, a, b.granted) || j.w.quiet(from, to, j.w.settling(), j.w.processes...) < time.Duration(to-from) {
			continue
		}
		j.w.pairs++
		if overtaken {
			j.w.violation("order", "%v before %v, asking since %v", b, a, a.asked.Sub(j.w.began))
		}
	}
}

// keptInVain reports whether a name may be taken at some time by a call that got nothing: it was granted when its caller had given up, and
// stays taken for its least time.
func (w *World) keptInVain(calls []*held, at rules.Time) bool {
	return slices.ContainsFunc(calls, func(c *held) bool {
		return c.least > 0 && c.granted.IsZero() && w.at(c.asked) < at && (c.answered.IsZero() || at < w.at(c.answered.Add(w.settling()+c.least)))
	})
}

// leftToTTL is for how long readers who have died may keep writers out after the last living one has left: where nobody looks whether they
// live, for the longest lease that a reader asks for.
func (w *World) leftToTTL(s *subject) time.Duration {
	if s.kind == rwKind && w.plan.options.DeclaredKeysOnly {
		return 2 * w.plan.lease
	}
	return 0
}

// turnTime is how long a call for several names may wait at most beside others that want one of them for a moment.
const turnTime = 2 * time.Second

// turns judges that calls for several names have their turns.
func (j *judge) turns(calls []*held) {
	for _, c := range calls {
		from, to := j.w.at(c.asked), j.w.at(c.answered)
		if waited := j.w.quiet(from, to, j.w.settling(), j.w.processes...); !c.tried && waited > turnTime {
			j.w.violation("turns", "%v waited for %s for %v", c.p, c.s.name, waited)
		}
	}
}

// gaps judges that no name is free for long while somebody waits for it in peace.
func (j *judge) gaps(s *subject, calls []*held) {
	for gap := range rules.Gaps(calls) {
		from := gap.From + rules.Time(j.w.leftToTTL(s))
		if time.Duration(gap.To-from) <= j.w.gap || j.w.keptInVain(calls, gap.To) {
			continue
		}
		j.w.gap = max(j.w.gap, j.w.quiet(from, gap.To, j.w.settling(), j.w.processes...))
		if j.w.gap > rules.Stranded {
			j.w.violation("liveness", "from %v until %v nobody had what they wanted: %v", time.Duration(gap.From), time.Duration(gap.To), gap.Waiting)
		}
	}
}
