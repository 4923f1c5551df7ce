package chaos

import (
	"slices"
	"time"
)

// Bounds of what a client may take while Redis is gone and its callers wait, and of how soon they go on afterwards.
const (
	outageShare  = 0.05 // of a processor, over outageWindow
	outageWindow = time.Second
	outageAfter  = 300 * time.Millisecond           // from the end of Redis until the bounds hold
	outageGrowth = 32 << 20                         // resident bytes
	outageReturn = 1500 * time.Millisecond          // until all who waited have gone on: probes are up to a second apart, and 64 hold it in turns
	outageLasts  = outageAfter + outageWindow*11/10 // at least: a window must fit in
)

// hotDeath ends Redis while callers of one process have and want the same lock.
func hotDeath(s *strike) bool {
	for end := now().plus(restWithin); !s.hotNow(); time.Sleep(5 * time.Millisecond) {
		if now() >= end || s.ruined() {
			return false
		}
	}
	s.server.Kill()
	s.down.from = now() // it is gone
	time.Sleep(outageLasts + s.upTo(outageWindow/4))
	s.down.to = now()
	s.server.Restart()
	s.back = now()
	if s.IntN(3) == 0 { // or the next one strikes while some may not have gone on
		time.Sleep(outageReturn)
	}
	return true
}

// hotNow reports whether every client has just been granted something.
func (ph *phase) hotNow() bool {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	recent := now().plus(-50 * time.Millisecond)
	return !slices.ContainsFunc(ph.clients, func(p *process) bool {
		said := p.said()
		return !slices.ContainsFunc(said[max(0, len(said)-200):], func(r record) bool { return r.What == granted && r.At > recent })
	})
}

// outage is what a client did while Redis was gone.
type outage struct {
	Share  float64 // of a processor, in the worst window
	Before int64   // resident bytes
	Most   int64
	All    time.Duration // from the return of Redis until all who waited for it had an answer
	Left   int           // of these, callers who had none outageReturn later, nor in their turn
}

// during reads what a client took from the end of Redis until it was started again.
func during(used []usage, down span) (o outage) {
	var in []usage
	for _, u := range used {
		if u.at <= down.from || o.Before == 0 {
			o.Before = u.memory
		}
		if u.at >= down.from.plus(outageAfter) && u.at <= down.to {
			in = append(in, u)
			o.Most = max(o.Most, u.memory)
		}
	}
	for i, from := range in {
		next := slices.IndexFunc(in[i:], func(u usage) bool { return u.at.sub(from.at) >= outageWindow })
		if next < 0 {
			next = len(in) - 1 - i
		}
		if to := in[i+next]; i == 0 || to.at.sub(from.at) >= outageWindow {
			o.Share = max(o.Share, share(from, to))
		}
	}
	return o
}

// share is how much of a processor a client had between two moments.
func share(from, to usage) float64 {
	if to.at.sub(from.at) < outageWindow/2 {
		return 0 // too short a time for an opinion
	}
	return float64(to.cpu-from.cpu) / float64(to.at.sub(from.at))
}

// resumed reads how the callers went on who waited when Redis was back, until it was gone again; slack is for how long the machine stood
// still meanwhile. Who came late is left behind, unless that was for so long that it is slow: then turns count, for all who waited are
// served before those who came later. They stop for no longer than it takes to probe twice, because the first probe may come to nothing.
func (o *outage) resumed(calls []*hold, back, next instant, slack time.Duration) {
	var waited []*hold
	var answers []instant // since then, to anybody
	for _, c := range calls {
		at := c.answeredAt()
		if at > back {
			answers = append(answers, at)
		}
		if c.calledAt < back && (at == 0 || at > back) {
			waited = append(waited, c)
		}
	}
	slices.Sort(answers)
	for _, c := range waited {
		at := c.answeredAt()
		o.All = max(o.All, at.sub(back))
		if at == 0 {
			at = never
		}
		if at <= back.plus(outageReturn+slack) {
			continue
		}
		end, last, turns, rest := min(at, next), back, 0, time.Duration(0)
		for _, a := range answers {
			if a <= end {
				rest, last, turns = max(rest, a.sub(last)), a, turns+1
			}
		}
		if slack < outageReturn/10 || max(rest, end.sub(last)) > 2*outageReturn+slack || turns > 2*len(waited) {
			o.Left++
		}
	}
}

// outages checks what clients with a hot lock did while Redis was gone.
func (h *history) outages() {
	by := make(map[*process][]*hold)
	for _, c := range h.calls {
		by[c.client] = append(by[c.client], c)
	}
	for i, b := range h.phase.blows {
		if b.down.to == 0 {
			continue
		}
		next := never // the end of Redis after this one
		if after := slices.IndexFunc(h.phase.blows[i+1:], func(b blow) bool { return b.down.to != 0 }); after >= 0 {
			next = h.phase.blows[i+1+after].down.from
		}
		for _, p := range h.phase.clients {
			o := during(p.used(), b.down)
			after := span{b.back, min(next, b.back.plus(4*outageReturn))}                                        // a machine that stands still may do so for all of it
			slack := max(after.shared(h.phase.stalls), after.shared(h.stalls[p])) + after.shared(h.phase.faints) // one waits for the other
			o.resumed(by[p], b.back, next, slack)
			if next < b.back.plus(outageReturn+slack) {
				o.Left = 0 // there was no time to see
			}
			h.figures.outages++
			h.figures.share = max(h.figures.share, o.Share)
			o.judge(func(format string, args ...any) {
				h.fail("outage", "client %d, "+format, append([]any{p.Number}, args...)...)
			})
		}
	}
}

// judge tells what was beyond the bounds.
func (o *outage) judge(fail func(format string, args ...any)) {
	if o.Share > outageShare {
		fail("while Redis was gone, took %.0f %% of a processor", 100*o.Share)
	}
	if o.Most > o.Before+outageGrowth {
		fail("while Redis was gone, grew from %d to %d MB", o.Before>>20, o.Most>>20)
	}
	if o.Left > 0 {
		fail("%d callers who waited when Redis came back did not go on within %v, nor in their turn", o.Left, outageReturn)
	}
}
