package gate

import (
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// crowd is what a name needs only while callers compete for it, so that the many names nobody competes
// for stay small.
type crowd struct {
	ear    ear
	linger Time // when the subscription ends, if nobody waits
	freeAt Time // when the lease of the owner that refused us ends, as it was last heard
	taken  bool // the last answer of Redis was "taken"

	stint     Time  // when this process last began to hold the name without a break
	outside   int32 // how many others listened at the last count
	own       int32 // our own unlock messages that have not come back yet
	published bool  // the release in flight is one of them
	yields    uint8 // how often in a row nobody took what we yielded
	yielding  bool  // a yield is under way
	yieldFree Time  // until when we do not yield
	swapWatch bool  // whether the swap in flight is for a watched hold

	growing []growth
	ghosts  []ghost
}

// ear is the state of the subscription.
type ear uint8

const (
	deaf      ear = iota // not subscribed
	turning              // subscription asked for
	listening            // confirmed
	barred               // this user may not listen: the poll cap is all there is
)

const (
	retryPause = 20 * time.Millisecond // between attempts after an answer that proves nothing
	lingerTime = time.Second           // a subscription outlives its last waiter by this, for hot names
)

func (m *Mutex) crowded() *crowd {
	if m.crowd == nil {
		m.crowd = &crowd{linger: Never}
	}
	return m.crowd
}

// turnAway answers every waiter that chosen picks and forgets it.
func (m *Mutex) turnAway(out Outcome, chosen func(*Waiter) bool) {
	for w := m.queue.head; w != nil; {
		next := w.next
		if chosen(w) {
			m.queue.remove(w)
			m.cfg.Answer(w, out)
		}
		w = next
	}
}

// refused is an acquire that found another owner: the waiters sleep until a message, the end of that
// owner's lease (its last millisecond is still its own) or the poll cap.
func (m *Mutex) refused(now Time, ttl time.Duration, fx *Effects) {
	m.cfg.Stats.Waits.Inc()
	m.turnAway(Outcome{Why: Taken, TTL: ttl}, triesOnce)
	m.settleYield(false)
	if m.queue.head == nil {
		return
	}
	c := m.crowded()
	c.taken, c.freeAt, c.linger = true, now+ttl, Never
	sleep := m.cfg.PollCap - jitter(m.t.ID, m.cfg.PollCap/4)
	if ttl >= 0 {
		sleep = min(sleep, ttl+time.Millisecond)
	}
	m.askAt = now + sleep
	if c.ear == deaf {
		c.ear = turning
		fx.Subscriptions = append(fx.Subscriptions, Subscription{Cell: m.cell, On: true})
	}
}

// jitter spreads the sleepers of many processes; it is drawn from the number of the tenure, so that a
// replay draws the same.
func jitter(seed uint64, span time.Duration) time.Duration {
	if span <= 0 {
		return 0
	}
	seed = (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
	return time.Duration((seed ^ seed>>31) % uint64(span))
}

// Subscribed is the subscription being confirmed (again, after a reconnect), or refused.
func (m *Mutex) Subscribed(now Time, refusal string, fx *Effects) {
	c := m.crowded()
	if refusal != "" {
		if c.ear == turning {
			m.turnAway(Outcome{Why: Refused, Words: refusal}, everyone)
		}
		c.ear = barred
		m.thin(now)
		return
	}
	c.ear, c.own = listening, 0
	m.thin(now)
	// What was published before is lost: whoever waits asks again.
	m.again = m.phase != ours && m.queue.head != nil
	m.pump(now, fx)
}

// Message is a hint that the lock was freed.
func (m *Mutex) Message(now Time, fx *Effects) {
	if c := m.crowd; c != nil && c.own > 0 {
		c.own--
		return
	}
	m.tick(now, fx)
	if m.phase == ours {
		m.Suspect(now, fx)
		return
	}
	m.again = m.queue.head != nil
	m.pump(now, fx)
}

// publishing notes that a release leaves whose message will come back to us. It is noted when it leaves: the
// message and the answer come on two connections, and the message may well be first.
func (m *Mutex) publishing() {
	if m.crowd != nil && m.crowd.ear == listening {
		m.crowd.own++
		m.crowd.published = true
	}
}

// heardBy is how many others heard the message of a release that n subscribers heard.
func (m *Mutex) heardBy(n scripts.Reply) int32 {
	heard := int32(max(n, 0))
	if m.crowd == nil || !m.crowd.published {
		return heard
	}
	if heard == 0 { // not even we did: there will be no message
		m.unpublished()
		return 0
	}
	m.crowd.published = false
	return heard - 1
}

// unpublished is a release that may have published nothing. The message we were going to ignore may be
// somebody else's, so nothing is ignored; our own, should it still come, costs one question too many.
func (m *Mutex) unpublished() {
	if c := m.crowd; c != nil && c.published {
		c.published = false
		if c.own > 0 {
			c.own--
		} else {
			m.again = m.queue.head != nil
		}
	}
}

// Suspect asks Redis at once whether the tenure is still there; until the answer nothing is handed on (rule 8).
// The answer to a command that is on its way proves nothing: it may have run before what is suspected.
func (m *Mutex) Suspect(now Time, fx *Effects) {
	m.suspected = m.flight != None
	if m.phase == ours {
		m.t.Doubt, m.t.Renew = true, now
		m.pump(now, fx)
	}
}

// LinkUp is the end of a break of the link: holds are verified, waiters ask again.
func (m *Mutex) LinkUp(now Time, fx *Effects) {
	m.tick(now, fx)
	m.askAt = min(m.askAt, now)
	if m.phase == ours {
		m.Suspect(now, fx)
		return
	}
	m.again = m.queue.head != nil
	m.pump(now, fx)
}

// thin starts the linger of the subscription when nobody waits any more, and stops it when somebody does.
func (m *Mutex) thin(now Time) {
	c := m.crowd
	if c == nil || c.ear == deaf {
		return
	}
	if m.queue.head != nil {
		c.linger = Never
	} else if c.linger == Never {
		c.linger = now + lingerTime
	}
}

func (m *Mutex) endLinger(now Time, fx *Effects) {
	c := m.crowd
	if c == nil || now < c.linger {
		return
	}
	c.linger = Never
	if m.queue.head != nil || c.ear == deaf {
		return
	}
	if c.ear != barred {
		fx.Subscriptions = append(fx.Subscriptions, Subscription{Cell: m.cell})
	}
	c.ear = deaf
}

func (c *crowd) nextAlarm(m *Mutex) Time {
	at := c.linger
	if m.flight == None && m.phase != asked && m.phase != dead {
		for _, g := range c.ghosts {
			at = min(at, g.at)
		}
	}
	return at
}

func (c *crowd) idle() bool { return c.ear == deaf && len(c.ghosts) == 0 }
