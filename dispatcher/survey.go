package dispatcher

import (
	"context"
	"slices"
	"time"

	"github.com/wheellock/wheellock/internal/gate"
)

// survey is asking a node of a cluster who serves what: when a hash slot was found elsewhere, when a link broke, and
// while anything fails. The loop owns it.
type survey struct {
	dueAt    gate.Time // Never: nothing is known to be wrong
	sent     gate.Time // the last one
	answered gate.Time // the last one that was
	turn     int       // whom to ask next: one node may know less than another
	away     bool
	outage   outage
}

const (
	// surveyPause is between two questions while something fails: a failover takes a second at least.
	surveyPause = 250 * time.Millisecond
	// surveyEvery is between two questions while hash slots move: each that is asked for is learned by itself.
	surveyEvery = time.Second
	// surveyTime bounds one question.
	surveyTime = 2 * time.Second
)

// hurry makes the next survey due at that time at the latest.
func (s *survey) hurry(at gate.Time) { s.dueAt = min(s.dueAt, at) }

// soon makes a survey due, but not right after the last one.
func (s *survey) soon(now gate.Time) { s.hurry(max(now, s.sent+surveyEvery)) }

// ill reports whether some hash slot is served by nobody who can be reached.
func (d *Dispatcher) ill() bool {
	for _, n := range d.nodes {
		if n.slots > 0 && n.link.state != linkUp {
			return true
		}
	}
	return d.cluster.unassigned.slots > 0
}

// inquire sends a survey that is due, on an idle connection of a node that can be reached. Where there is none, the
// addresses of the beginning are tried.
func (d *Dispatcher) inquire(now gate.Time) {
	s := &d.cluster.survey
	if s.away || now < s.dueAt {
		return
	}
	n, anyUp := d.informant()
	if n == nil {
		if !anyUp {
			for _, seed := range d.cluster.Seeds {
				d.nodeAt(now, seed)
			}
		}
		return // the answer to a probe, or a connection that comes back, brings the next turn
	}
	s.away, s.sent, s.dueAt = true, now, gate.Never
	l := n.lend()
	l.task = surveying
	l.work <- struct{}{}
}

// informant is a node that can be asked: the next one after the last. anyUp says whether any could be, had it a connection.
func (d *Dispatcher) informant() (n *node, anyUp bool) {
	s := &d.cluster.survey
	for i := range d.nodes {
		at := (s.turn + i) % len(d.nodes)
		if d.nodes[at].link.state != linkUp {
			continue
		}
		anyUp = true
		if len(d.nodes[at].idle) > 0 {
			s.turn = at + 1
			return d.nodes[at], true
		}
	}
	return nil, anyUp
}

// alarm is when the loop is to look again.
func (s *survey) alarm(d *Dispatcher) gate.Time {
	if s.away || !slices.ContainsFunc(d.nodes, func(n *node) bool { return n.link.state == linkUp && len(n.idle) > 0 }) {
		return gate.Never
	}
	return s.dueAt
}

// surveyed is the answer to a survey.
func (d *Dispatcher) surveyed(now gate.Time, l *connection) {
	s := &d.cluster.survey
	s.away = false
	t := l.topology
	l.topology = nil
	if t == nil {
		s.outage.failure(d.cfg.Logger, "wheellock: a node does not tell who serves what", "node", l.n.addr, "error", l.linkErr)
		s.hurry(now + surveyPause)
		return
	}
	s.answered = now
	s.outage.over(d.cfg.Logger, "wheellock: it is known again who serves what", "node", l.n.addr)
	d.adopt(now, t)
	d.resettle(now)
	if d.ill() {
		s.hurry(now + surveyPause)
	}
}

// survey asks the connection's node who serves what.
func (l *connection) survey() {
	ctx, cancel := context.WithTimeout(l.n.ctx, surveyTime)
	defer cancel()
	l.topology, l.linkErr = AskTopology(ctx, l.n.client, l.n.addr)
}
