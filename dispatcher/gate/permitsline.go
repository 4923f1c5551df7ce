package gate

import (
	"strconv"
	"strings"
	"time"
)

// Engines that wait for permits stand in a line in Redis as those do that wait for a mutex (line.go), but nothing is given to them: when
// permits are free, a script calls one engine by a 0 in its inbox, and for 200 ms no other engine takes any (scripts/called.lua). A 1 tells an
// engine that it is the first now. Clients of Redisson free permits without calling anybody. So the first asks every leaderPause, and listens
// to the name's channel for as long as such permits are met.

// leaderPause is how long the first in line sleeps at most.
const leaderPause = 500 * time.Millisecond

// place is this engine's in the line for permits.
type place struct {
	permits int64 // how many it is for; 0: there is none
	leads   bool  // it is known to be the first
}

// heeds reports whether a message on the name's channel is for this engine.
func (p *place) heeds() bool { return p.leads || p.permits == 0 }

// leavesLine reports whether c can take nothing, and gives up our place. A Take that was sent for waiters before may have taken something.
func (c *Command) leavesLine() bool {
	switch c.Op {
	case Take:
		args := c.Args.Take()
		return args.Runs == "" && !args.Resent
	case PermitTake:
		return c.Args.PermitTake().N == 0
	}
	return false
}

// leaveLine gives up our place: no caller waits any more.
func (s *Sequencer) leaveLine() Command {
	at := s.place.permits
	s.place = place{}
	if s.Kind == PermitKind {
		return Command{Op: PermitTake, Args: PermitTakeArgs{Place: at}.Args()}
	}
	return Command{Op: Take, Args: TakeArgs{Place: at}.Args()}
}

// askedPlace is how many permits the place is for with which the next question leaves; 0: it leaves none.
func (s *Sequencer) askedPlace() int64 {
	w := s.contest.queue.head
	if s.place.permits == 0 && w != nil && !w.Try && s.rivals.inbox.state == subscribed {
		return w.N
	}
	return s.place.permits
}

// wantedPermits is how many permits the first waiter wants that c asks for, and a new place is for.
func (c *Command) wantedPermits() int64 {
	if c.Op == PermitTake {
		return c.Args.PermitTake().N
	}
	wanted, _, _ := strings.Cut(string(c.Args.Take().Runs), "x")
	n, _ := strconv.ParseInt(wanted, 10, 64) // without waiters none
	return n
}

// notePlace records what the answer to a question says about our place.
func (s *Sequencer) notePlace(c *Command) {
	p := c.Reply.Place()
	switch {
	case !p.Stands:
		s.place = place{}
	case p.New:
		s.place = place{permits: c.wantedPermits(), leads: p.Leads}
	default:
		s.place = place{permits: c.PermitsPlace(), leads: p.Leads}
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
	s.rivals.listens = p.Listens || asked && !p.Stands
	s.rivals.waitInLine(&s.Entry, s.cfg, fx)
	s.again = s.again || !asked && s.rivals.inbox.state == subscribed
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
		if s.contest.queue.lasting() == 0 && s.place.permits == 0 {
			s.place.permits = 1 // it is given up, for whatever number it is
		}
		s.hinted(now, fx)
		return
	}
	if s.place.permits != 0 {
		s.scheduleLead(now)
	}
	s.advance(now, fx)
}
