package gate

import (
	"time"
)

// Engines that wait for a mutex stand in a line in Redis (scripts/line.lua), one place for each engine, on behalf of all its waiters. A
// release gives the mutex to the first place and publishes that in the inbox of its engine, which takes it (gift.go). The others hear nothing
// of it. So a hand-over costs the same however many engines wait.
//
// An engine that is refused a mutex subscribes to its inbox for the name, and asks again in line when the subscription stands. After that
// the refusal itself leaves the place, until the subscription has been idle for lingerTime. A place stands until it is given the mutex, its
// owner id has the mutex or is released, or the line is not asked for during placeTime.
//
// Messages in the inbox:
//
//   - A - and a code: the mutex is ours (gift.go), or may be: ask now.
//   - A 0: the mutex may be ours, or free, and we are the first: ask now.
//   - A 1: the mutex is free for others than engines, and we are the first: ask after a pause.
//
// A waiter with a fixed lease or a least time, and one whose lock must be on replicas first, is given the mutex as all others are, but believes
// no message: it asks.
//
// Others wait outside the line: clients of Redisson, older versions of this library, pollers. As long as the owner is one of them the
// answer to the first place says so, and that engine, and no other, listens to the name's channel, too. Now and then a release frees
// the mutex for them in place of giving it. If one of them has it after the pause, they have a turn (turns.othersEnd).
//
// If an engine may not listen to its inbox, or gets no place, it listens to the name's channel like those outside.

// placeTime is how long a line lasts after its last question (STANDS in scripts/line.lua).
const placeTime = time.Minute

// unanswered records that an acquire got no answer. Its owner id may have come into line by it, so its code proves nothing any more.
func (p *place) unanswered(asked *Command) {
	if !asked.inLine() {
		return
	}
	p.doubted = asked.ID
	if p.id == asked.ID {
		p.code = 0
	}
}

// notePlace records what an acquire that was refused says about our place in line. If it says that there is none, an earlier place may
// stand as before.
func (r *rivals) notePlace(now Time, asked *Command, cfg *Config) {
	if !asked.inLine() {
		return
	}
	place := asked.Reply.Place()
	r.listens = place.Listens || !place.Stands
	if !place.Stands {
		if r.place.id == asked.ID {
			r.endPlace(now, asked.ID)
		}
		return
	}
	code := -asked.Args.Place().Code
	switch fresh := r.place.id != asked.ID; {
	case fresh && (!place.New || r.place.doubted == asked.ID), // it came into line before, by an acquire without an answer
		!fresh && place.New, // it was given the lock, or lost its place
		!fresh && r.place.code == 0,
		fresh && asked.LeaseTime < shortestGift, // a copy may leave the place once more when the gift is over
		cfg.Doubts:
		code = 0
	}
	r.placed(now, asked, code)
	r.place.ends += placeTime
}

// waitInLine sees to the subscriptions of a waiting engine.
func (r *rivals) waitInLine(e *Entry, cfg *Config, fx *Effects) {
	if r.inbox.subscribe(e, cfg, fx); r.inbox.state == subscribeDenied {
		r.listens = true
	}
	if r.listensToOthers() && !e.traits().polls {
		r.subscribe(e, nil, fx)
	}
}

// joinsLine reports whether the next acquire for w is to leave a place in line if it is refused. If it is not, and the inbox is heard
// already, the waiters ask once more after the refusal:
//
//  1. A TryLock asks while the inbox of earlier waiters is still heard. A caller comes that waits.
//  2. The TryLock is refused. No confirmation of the inbox is to come, and no release tells an engine without a place.
func (r *rivals) joinsLine(w *Waiter) bool {
	return r.place.id != 0 || r.inbox.state == subscribed && !w.Try
}

// subscribedToInbox handles the confirmation of the inbox, which comes again after a reconnect, or its refusal. True: the waiters are to ask again.
func (c *contest) subscribedToInbox(e *Entry, cfg *Config, refusal string, fx *Effects) (again bool) {
	r := c.rivals
	if refusal == "" {
		r.inbox.state = subscribed
		return true
	}
	r.inbox.state = subscribeDenied
	if c.queue.head != nil {
		r.waitInLine(e, cfg, fx)
	}
	return e.traits().polls // nobody will tell them
}

// listensToOthers reports whether this engine is to listen to the lock's channel for its place. An orphan may be the first in line, before it.
func (r *rivals) listensToOthers() bool { return r.listens || r.orphans.inLine() }

// waitsForInbox reports whether our place in line is told by the inbox, and is not to listen to the lock's channel.
func (r *rivals) waitsForInbox() bool {
	return r.place.id != 0 && !r.listensToOthers() && r.inbox.state == subscribed
}

// isInbox reports whether a channel is this engine's inbox.
func (r *rivals) isInbox(channel string) bool {
	return r.inbox.state != unsubscribed && channel == r.inbox.channel
}

// pauseInLine is how long the first in line leaves a lock to others that is free for them.
func (c *Config) pauseInLine(polls bool) time.Duration {
	if polls {
		return pollWindow
	}
	return max(blindPause, c.listenerPause())
}

// notified handles the messages in the inbox.
func (l *Lock) notified(now Time, news News, fx *Effects) {
	r, given := l.contest.rivals, l.takeGift(now, news, fx)
	if !given && l.lease.phase == ours && r.place.id != 0 { // it was our place's turn: another has ended our lease
		r.noteFound(now, false)
		l.suspect(r.heedAt)
	}
	if !given && (l.Kind == RWKind || l.lease.phase != ours) {
		r.orphans.leaveLine(now)
		l.returnOldGifts(now, &news)
		if news.N == news.ones && now >= r.turns.ends {
			r.turns.end(now, l.cfg.pauseInLine(l.traits().polls))
			if !l.traits().polls {
				r.turns.othersEnd = now + othersTurn
			}
		}
		l.askAgain()
	}
	l.advance(now, fx)
}
