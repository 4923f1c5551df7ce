package gate

import (
	"time"
)

// Engines that wait for permits stand in a line in Redis as those do that wait for a mutex (line.go), but nothing is given to them: when
// permits are free, a script calls one engine by a 0 in its inbox, and for 200 ms no other engine takes any (scripts/called.lua). A 1 tells an
// engine that it is the first now. Clients of Redisson, and engines of an older version, free permits without calling anybody. So the first
// asks every leaderPause, and listens to the name's channel for as long as such permits are met. A script meets them if some are left in line
// (SINCE). An engine that is alone in line, or that finds nothing because others are always faster, expects them after a leaderPause in which
// nobody has called it.

const (
	// leaderPause is how long the first in line sleeps at most.
	leaderPause = 500 * time.Millisecond
	// othersTime is how long permits are expected that are freed without a call (OTHERS in scripts/called.lua).
	othersTime = 5 * time.Second
)

// place is this engine's in the line for permits.
type place struct {
	permits int64 // how many it is for; 0: there is none
	leads   bool  // it is known to be the first
}

// noteUncalled records that the next question leaves because of the time. If the first in line asks so, others may free permits.
func (s *Sequencer) noteUncalled(now Time) {
	if s.place.leads && !s.again {
		s.othersUntil = now + othersTime
	}
}

// heeds reports whether a message on the name's channel is for this engine.
func (p *place) heeds() bool { return p.leads || p.permits == 0 }

// leaveLine gives up our place: no caller waits any more.
func (s *Sequencer) leaveLine() Command {
	c := Command{Op: Take, Args: TakeArgs{Place: s.place.permits}.Args()}
	if s.Kind == PermitKind {
		c.Op = PermitTake
	}
	s.place = place{}
	return c
}

// askedPlace is how many permits the place is for with which the next question leaves; 0: it leaves none.
func (s *Sequencer) askedPlace() int64 {
	w := s.contest.queue.head
	if s.place.permits == 0 && w != nil && !w.Try && s.rivals.inbox.state == subscribed {
		return w.N
	}
	return s.place.permits
}

// notePlace records what the answer to a question says about our place.
func (s *Sequencer) notePlace(c *Command) {
	p := c.Reply.Place()
	switch {
	case !p.Stands:
		s.place = place{}
	case p.New:
		s.place = place{permits: c.Args.Take().wanted()}
	default:
		s.place = place{permits: c.Args.Take().Place}
	}
}

// markPlace records a question without an answer, which may have left a place.
func (s *Sequencer) markPlace(c *Command) {
	if s.place.permits == 0 && !c.leavesLine() {
		s.place.permits = c.PermitsPlace()
	}
}

// waitInLine sees to the subscriptions of an engine that waits for permits, and has it ask in line once its inbox is heard.
func (s *Sequencer) waitInLine(now Time, c *Command, fx *Effects) {
	p, asked := c.Reply.Place(), c.PermitsPlace() != 0
	s.rivals.listens = p.Listens || asked && !p.Stands || p.Leads && now < s.othersUntil
	s.rivals.waitInLine(&s.Entry, s.cfg, fx)
	if p.Leads {
		s.scheduleLead(now)
	}
}

// scheduleLead bounds the sleep of an engine that is the first in line.
func (s *Sequencer) scheduleLead(now Time) {
	s.place.leads = true
	s.contest.askAt = min(s.contest.askAt, now+leaderPause)
}

// notified handles the messages in the inbox. A place may be called that could not be given up, when nobody waits here.
func (s *Sequencer) notified(now Time, news News, fx *Effects) {
	if news.N > news.ones {
		if s.contest.queue.lasting() == 0 {
			s.place.permits = 1 // it is given up, for whatever number it is
		}
		s.hinted(now, fx)
		return
	}
	if s.place.permits != 0 {
		s.scheduleLead(now)
		if now < s.othersUntil {
			s.rivals.listens = true
			s.rivals.waitInLine(&s.Entry, s.cfg, fx)
			s.again = s.again || s.rivals.state == subscribed // messages did not lead to questions until now
		}
	}
	s.advance(now, fx)
}
