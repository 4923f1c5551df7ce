package dispatcher

import (
	"slices"

	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/internal/gate"
)

// inquire sends a survey that is due, on an idle connection of a node that can be reached. If no node can, it tries the
// addresses of the beginning.
func (d *Dispatcher) inquire(now gate.Time) {
	s := &d.cluster.survey
	if !s.Due(now) {
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
	s.Sent(now)
	c := n.lend()
	c.Task = redisconn.Survey
	c.Start()
}

// informant returns a node that can be asked: the next one after the node asked last. anyUp reports whether any node could
// be asked if it had an idle connection.
func (d *Dispatcher) informant() (n *node, anyUp bool) {
	for i := range d.nodes {
		at := (d.cluster.turn + i) % len(d.nodes)
		if d.nodes[at].link.state != linkUp {
			continue
		}
		anyUp = true
		if len(d.nodes[at].idle) > 0 {
			d.cluster.turn = at + 1
			return d.nodes[at], true
		}
	}
	return nil, anyUp
}

// surveyAlarm is when the loop is to look at the survey again; Never while no connection could carry one, for the return
// of a connection wakes the loop.
func (d *Dispatcher) surveyAlarm() gate.Time {
	if !slices.ContainsFunc(d.nodes, func(n *node) bool { return n.link.state == linkUp && len(n.idle) > 0 }) {
		return gate.Never
	}
	return d.cluster.survey.Alarm()
}

// surveyed takes the answer to a survey.
func (d *Dispatcher) surveyed(now gate.Time, c *connection) {
	s, outage := &d.cluster.survey, &d.cluster.outage
	m := c.Map
	c.Map = nil
	if m == nil {
		outage.Failed(d.cfg.Logger, "wheellock: a node does not tell who serves what", "node", c.node.addr, "error", c.Err)
		s.Failed(now)
		return
	}
	s.Answered(now)
	outage.Over(d.cfg.Logger, "wheellock: it is known again who serves what", "node", c.node.addr)
	d.adopt(now, m)
	d.resettle(now)
	if d.partlyDown() {
		s.Retry(now)
	}
}
