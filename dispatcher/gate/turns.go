package gate

import "time"

// Engines that wait stand in a line in Redis (line.go). Others have no place there: clients of Redisson and engines of an older version, which
// listen to the name's channel, and processes that poll, which leave no trace. So a process that keeps a name for callers of its own ends its
// turn after a while and leaves the name free for a pause.
//
// A turn lasts for longestTurn while nobody else is met. Others are met when another than an engine has the name, a message of theirs comes, or
// more of them listen than before. After that a turn lasts for as long as they have had the name since the last pause, or for half of the time since
// they were met, whichever is longer, and at least for shortTurn or, beside listeners, for one grant for each third caller: each turn of theirs
// is one grant. Of a spin lock it does not matter how long they have had the name: they may be several engines, and turns that are each as long
// as those of all others together would only grow. The length of the pause depends on the others. Listeners were told by the message, and need
// two round trips; if they were not met for long, they may be slow, and the pause is as long as the turn, up to pollWindow. Where others poll,
// each asks once in pollWindow. Where nobody is known, blindPause lets a poller in by chance. No message shortens a pause.
//
// The turn is that of one process, or of all engines in a line for a simple lock: every release says how long it may last (scripts/line.lua). Of
// other lines the script knows it. After such a turn others that listen have one of their own, in which they hand the name on among themselves.
const (
	// longestTurn is how long a name is kept at most between two pauses. A poller that sleeps no longer than longestSpin gets in within the
	// sum of longestTurn and pollWindow, which is less than a second, beside one process or a line. In the pause of one of several processes
	// that keep a spin lock another takes it, so that a poller gets in by chance, between two turns.
	longestTurn = 830 * time.Millisecond
	// shortTurn is how long it is kept right after others were met who may poll; half as much again, drawn at random, is added, because a poller
	// that always sleeps for the same time could ask in each turn and in no pause.
	shortTurn = 60 * time.Millisecond

	// longestSpin is the longest sleep of a poller, here and in Redisson.
	longestSpin = 128 * time.Millisecond
	// pollWindow is long enough for every poller to ask once: Redisson's sleep for at most 128 ms, and need some more for scheduling and a
	// round trip.
	pollWindow = longestSpin + 12*time.Millisecond
	// blindPause is 2 % of longestTurn.
	blindPause = 16 * time.Millisecond
	// shortestPause is the least time in which a process that was told can ask.
	shortestPause = 2 * time.Millisecond
	// othersTurn is how long others that listen may hand a lock on among themselves after a turn of a line: as long as that turn was (TURN in
	// scripts/line.lua).
	othersTurn = 100 * time.Millisecond
	// peekPause is between two looks during a pause for pollers, by which the process that waits for its end finds whether they come.
	peekPause = 14 * time.Millisecond
)

// turns are the turns of a process that shares a name with others.
type turns struct {
	began     Time          // when this turn began; 0: there is none
	handed    int32         // handoffs in this turn
	listen    int32         // how many others listened to the name's channel, as Redis said last
	standing  bool          // engines stood in line, as the last confirmation of this turn said
	freedAt   Time          // when this process last released the name
	ends      Time          // when the pause ends in which the name is left to others; 0: there is none
	until     Time          // until then readers beside others of this process leave the name to others
	othersEnd Time          // when the turn of others that listen ends, in which they hand the name on among themselves
	peekAt    Time          // when the next look may leave
	met       Time          // when others were last met; 0: never
	refused   Time          // since when others have been found after each pause; 0: they are not
	had       time.Duration // how long they had been when this turn began
}

// listenerPause is how long a name is left to those who were told at least.
func (c *Config) listenerPause() time.Duration { return max(shortestPause, 2*c.RTT) }

// length is how long a turn lasts.
func (t *turns) length(now Time, seed uint64) time.Duration {
	if t.met == 0 {
		return longestTurn
	}
	least := shortTurn + jitter(seed, shortTurn/2)
	if t.listen > 0 {
		least = 0
	}
	return min(max(least, t.had, (now-t.met)/2), longestTurn)
}

// metLately reports whether turns are shorter than usual, because others were met.
func (t *turns) metLately(now Time) bool { return t.length(now, 0) < longestTurn }

// over reports whether the turn is over. A turn without a handoff is not while nobody is known: it kept the name from nobody.
func (t *turns) over(now Time, seed uint64) bool {
	return t.began != 0 && (t.handed > 0 || t.listen > 0 || t.metLately(now)) && now-t.began >= t.length(now, seed)
}

// pause is how long the pause after this turn is.
func (t *turns) pause(now Time, seed uint64, polls bool, cfg *Config) time.Duration {
	switch {
	case polls:
		return pollWindow
	case t.listen > 0:
		return max(min(t.length(now, seed), pollWindow), cfg.listenerPause())
	}
	return blindPause
}

// begin begins a turn, unless one has begun.
func (t *turns) begin(now Time) {
	if t.began == 0 {
		t.began, t.handed = now, 0
	}
}

// countHandoff counts a grant that asked nothing of Redis.
func (t *turns) countHandoff(now Time) {
	t.begin(now)
	t.handed++
}

// count records how many others listen. If they are more than before, somebody has come.
func (t *turns) count(now Time, others int64) {
	listen := max(int32(others), 0) // our own subscription may not stand yet
	if listen > t.listen {
		t.met = now
	}
	t.listen = listen
}

// end ends the turn and begins a pause.
func (t *turns) end(now Time, pause time.Duration) {
	t.began, t.ends, t.peekAt = 0, now+pause, now+peekPause
}

// noteMessage handles a message of others. In their turn this process asks only when they have left the name free for a while.
func (t *turns) noteMessage(now Time) {
	if now < t.othersEnd {
		t.ends = min(now+blindPause, t.othersEnd)
	}
}

// noteMet records that another owner has the name.
func (t *turns) noteMet(now Time) {
	t.met, t.began, t.ends = now, 0, 0
	if t.refused == 0 {
		t.refused = now
	}
}

// noteOurs records that this process has the name now. The turn goes on if the name was free only because no caller waited here.
func (t *turns) noteOurs(now Time) {
	if t.began == 0 || now-t.freedAt >= pollWindow {
		t.began, t.handed, t.had = now, 0, 0
		if t.refused != 0 {
			t.had = now - t.refused
		}
	}
	t.refused, t.ends, t.othersEnd, t.standing = 0, 0, 0, false
}

// endTurn ends the turn and begins a pause, which is remembered without waiters here.
func (r *rivals) endTurn(now Time, pause time.Duration) {
	r.turns.end(now, pause)
	r.keep = r.turns.ends
}

// endTurnIfOver ends the turn of g, which was released, if it is over. That counts even if no caller waits here at this moment:
// callers that soon come again have the name as much as those that wait. So turns beside pollers are remembered for as long. Where nobody has
// competed here before, only listeners are known.
func (l *Lock) endTurnIfOver(now Time, g *Lease, listeners int64) {
	polls := l.traits().polls
	if l.contest.rivals == &noRivals && (polls || listeners <= 0) {
		return
	}
	r := l.ownRivals()
	t := &r.turns
	if !polls && g.write {
		t.begin(now)
		t.count(now, listeners-r.ownSubscriptions())
	}
	switch over := t.over(now, g.ID); {
	case now < t.until: // readers have made way, and all reads have ended
		r.endTurn(now, l.cfg.listenerPause())
	case over:
		r.endTurn(now, t.pause(now, g.ID, polls, l.cfg))
	case polls:
		if t.handed > 0 || t.metLately(now) {
			r.keep = now + pollWindow
		}
		l.contest.askFrom(now + r.spin(l.contest.queue.n, false, g.ID))
	}
	t.freedAt = now
}

// mustEnd reports whether the name must be left to other processes while so many callers wait here.
func (t *turns) mustEnd(now Time, seed uint64, waiting int32) bool {
	return t.over(now, seed) && (t.listen == 0 || t.handed >= waiting/3)
}

// peekAlarm is when Redis is to be asked, during a pause for pollers, whether the name is free.
func (l *Lock) peekAlarm() Time {
	t := &l.contest.rivals.turns
	if !l.traits().polls || l.contest.queue.lasting() == 0 || l.lease.phase != free || t.peekAt >= t.ends {
		return Never
	}
	return t.peekAt
}

// askIfFree asks that, if it is time.
func (l *Lock) askIfFree(now Time, fx *Effects) {
	if l.flight == None && now >= l.peekAlarm() {
		l.send(Peek, 0, 0, fx)
	}
}

// peeked handles the answer. The pause goes on: there may be others. A server that is ill is not asked again in it.
func (t *turns) peeked(now Time, c *Command) {
	t.peekAt = Never
	switch _, held := c.Reply.Held(); {
	case held:
		t.met = now
	case c.Result == Answered && c.Reply == 0:
		t.peekAt = now + peekPause
	}
}
