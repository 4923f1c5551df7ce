package gate

import (
	"cmp"
	"time"
)

// Engines that wait for permits stand in a line in Redis as those do that wait for a mutex (line.go), but nothing is given to them: when
// permits are free, a script calls one engine by a 0 in its inbox, and for 200 ms no other engine takes any (scripts/called.lua). If they are
// too few for its first waiter, which wants several, it collects: it asks every collectPause, and stays called. If the others do not give
// enough permits back meanwhile, it rests: it leaves the line, asks twice a second, and then collects for twice as long.
// A 2 calls an engine that is to ask after a pause: clients of Redisson listen, which take longer to ask, and have a turn then.
// A 1 tells an engine that it is the first now. Clients of Redisson, and engines of an older version, free permits without calling anybody. So the first
// asks every leaderPause, and listens to the name's channel for as long as such permits are met. A script meets them if some are left in line
// (SINCE). An engine that is alone in line, or that finds nothing because others are always faster, expects them after a leaderPause in which
// nobody has called it.

const (
	// leaderPause is how long the first in line sleeps at most.
	leaderPause = 500 * time.Millisecond
	// othersTime is how long permits are expected that are freed without a call (OTHERS in scripts/called.lua).
	othersTime = 5 * time.Second

	// collectPause is less than CALL in scripts/called.lua by a long round trip.
	collectPause = 80 * time.Millisecond
	// askLater is the message that calls an engine after a pause, and othersSlot how long the turn of others lasts then (LATER and SLOT in
	// scripts/called.lua).
	askLater   = 2
	othersSlot = 40 * time.Millisecond

	// How long an engine collects permits, at first and at most. Then it rests for collectRest times as long.
	leastCollect   = 250 * time.Millisecond
	longestCollect = 5 * time.Second
	collectRest    = 4
)

// collecting is when this engine keeps the others from taking permits.
type collecting struct {
	began     Time          // 0: it does not
	lasts     time.Duration // this time, or the next
	notBefore Time          // until when it rests
}

// rests reports whether an engine with a first waiter that wants so many permits stands in no line.
func (c *collecting) rests(now Time, n int64) bool { return n > 1 && now < c.notBefore }

// rests reports whether the first waiter is to leave the permits that come free to others.
func (s *Sequencer) rests(now Time) bool {
	w := s.contest.queue.head
	return w != nil && s.collecting.rests(now, w.N)
}

// permitsPlace is this engine's place in the line for permits.
type permitsPlace struct {
	permits int64 // how many it is for; 0: there is none
	leads   bool  // it is known to be the first
}

// noteUncalled records that the next question leaves because of the time. If the first in line asks so, others may free permits.
func (s *Sequencer) noteUncalled(now Time) {
	if s.place.leads && !s.again && s.collecting.began == 0 {
		s.othersUntil = now + othersTime
	}
}

// heeds reports whether a message on the name's channel is for this engine.
func (p *permitsPlace) heeds() bool { return p.leads || p.permits == 0 }

// leaveLine gives up our place: no caller waits any more. If it collected, its turn is over, and it rests for its share.
func (s *Sequencer) leaveLine(now Time) Command {
	c := Command{Op: Take, Args: TakeArgs{Place: s.place.permits}.Args()}
	if s.Kind == PermitKind {
		c.Op = PermitTake
	}
	if on := &s.collecting; on.began != 0 {
		on.began, on.notBefore = 0, now+collectRest*(now-on.began)
	}
	s.place = permitsPlace{}
	return c
}

// askInLine has a question leave a place for the first waiter, or keep it, and says whether it collects.
func (s *Sequencer) askInLine(now Time, t *TakeArgs) {
	w, c := s.contest.queue.head, &s.collecting
	if c.began != 0 && now >= c.began+c.lasts {
		*c = collecting{lasts: min(2*c.lasts, longestCollect), notBefore: now + collectRest*c.lasts}
	}
	t.Place = s.place.permits
	if t.Place == 0 && w != nil && !w.Try && s.rivals.inbox.state == subscribed && !c.rests(now, w.N) {
		t.Place = w.N
	}
	t.Collects = t.Place != 0 && t.wanted() > 1 && now >= c.notBefore
}

// notePlace records what the answer to a question says about our place.
func (s *Sequencer) notePlace(c *Command) {
	p := c.Reply.Place()
	if !p.Called {
		s.collecting.began = 0
	}
	switch {
	case !p.Stands:
		s.place = permitsPlace{}
	case p.New:
		s.place = permitsPlace{permits: c.Args.Take().wanted()}
	default:
		s.place = permitsPlace{permits: c.Args.Take().Place}
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
	p, on := c.Reply.Place(), &s.collecting
	rests, none := on.rests(now, s.contest.queue.head.N), c.PermitsPlace() != 0 && !p.Stands
	if none { // if Redis refused to write, our place may stand, and be called
		s.contest.askAt = min(s.contest.askAt, now+leaderPause)
	}
	if rests {
		s.contest.askAt = min(s.contest.askAt, now+leaderPause, on.notBefore)
	}
	if end := s.rivals.turns.othersEnd; end != 0 && now < end+othersSlot { // they have come
		s.othersUntil = now + othersTime
	}
	s.rivals.listens = p.Listens || none && !rests || p.Leads && now < s.othersUntil
	s.rivals.waitInLine(&s.Entry, s.cfg, fx)
	if p.Leads {
		s.scheduleLead(now)
	}
	if p.Called {
		s.contest.askAt = min(s.contest.askAt, c.Sent+collectPause)
		on.began, on.lasts = cmp.Or(on.began, now), max(on.lasts, leastCollect)
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
		if t := &s.rivals.turns; news.has(askLater) {
			t.end(now, othersSlot)
			t.othersEnd = now + othersSlot
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
