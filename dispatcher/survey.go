package dispatcher

import (
	"slices"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
)

// sendSurvey sends a survey that is due, on an idle connection of a node that can be reached. If no node can, it tries the
// addresses of the beginning, and those of masters that serve other shares.
func (c *cluster) sendSurvey(now gate.Time) {
	s := &c.survey
	if !s.Due(now) {
		return
	}
	n, anyUp := c.informant()
	if n == nil {
		if !anyUp {
			for _, addr := range slices.Concat(c.Seeds, c.Map.Masters()) {
				c.nodeAt(now, addr)
			}
		}
		return // the answer to a probe, or a connection that comes back, brings the next turn
	}
	s.Sent(now)
	connection := n.lend()
	connection.Task = redisconn.Survey
	connection.Start()
}

// informant returns a node that can be asked: the next one after the node asked last. anyUp reports whether any node could
// be asked if it had an idle connection.
func (c *cluster) informant() (n *node, anyUp bool) {
	for i := range c.nodes.all {
		at := (c.turn + i) % len(c.nodes.all)
		if c.nodes.all[at].link.state != linkUp {
			continue
		}
		anyUp = true
		if len(c.nodes.all[at].idle) > 0 {
			c.turn = at + 1
			return c.nodes.all[at], true
		}
	}
	return nil, anyUp
}

// alarm is when the loop is to look at the survey again; Never while no connection could carry one, for the return
// of a connection wakes the loop.
func (c *cluster) alarm() gate.Time {
	if !slices.ContainsFunc(c.nodes.all, func(n *node) bool { return n.link.state == linkUp && len(n.idle) > 0 }) {
		return gate.Never
	}
	return c.survey.Alarm()
}

// surveyed takes the answer to a survey.
func (c *cluster) surveyed(now gate.Time, from *connection) {
	logger := c.nodes.cfg.Logger
	m := from.Map
	from.Map = nil
	if m == nil {
		c.outage.Failed(logger, "wheellock: a node does not tell who serves what", from.node.where("error", from.Err)...)
		c.survey.Failed(now)
		return
	}
	c.survey.Answered()
	c.outage.Ended(logger, "wheellock: it is known again who serves what", from.node.where()...)
	c.apply(now, m)
	c.moveNames(now)
	if c.partlyDown() {
		c.survey.Retry(now)
	}
}
