package gate

import "time"

// Pollers leave nothing in Redis by which they could be counted. So processes that keep a name for callers of their own end their turn after a
// while and leave the name free for so long that every poller asks once. The process that asks next looks meanwhile whether the name is free. Where
// others were met, turns are shorter than pauses for a while.
//
// A turn is that of one process, of a spin lock and of a simple lock for which nobody else waits in line, or of all engines in a line: it begins
// when the lock was last left free, and every release says how long it may last (scripts/line.lua).
const (
	// longestSpin is the longest sleep of a poller, here and in Redisson.
	longestSpin = 128 * time.Millisecond
	// pollWindow is long enough for every poller to ask once: Redisson's sleep for at most 128 ms, and need some more for scheduling and a
	// round trip.
	pollWindow = longestSpin + 12*time.Millisecond
	// longestTurn is how long a name is kept at most between two pauses. A poller that sleeps no longer than longestSpin gets in within the
	// sum of the two, which is less than a second.
	longestTurn = 830 * time.Millisecond
	// shortTurn is how long it is kept right after others were met; half as much again, drawn at random, is added, because a poller that always
	// sleeps for the same time could ask in each turn and in no pause. A turn lasts for longer if they kept the name for longer than the pause, and
	// later for half of the time since then.
	shortTurn = 60 * time.Millisecond
	// peekPause is between two looks during a pause.
	peekPause = 14 * time.Millisecond
)

// turns are the turns of a process that shares a name with pollers.
type turns struct {
	began   Time          // when this turn began; 0: there is none
	handed  int32         // handoffs in this turn
	freedAt Time          // when this process last released the name
	ends    Time          // when the pause ends in which the name is left to others; 0: there is none
	peekAt  Time          // when the next look may leave
	met     Time          // when another owner was last found; 0: never
	refused Time          // since when others have been found after each pause; 0: they are not
	had     time.Duration // how long they had been when this turn began
}

// length is how long a turn lasts.
func (t *turns) length(now Time, seed uint64) time.Duration {
	if t.met == 0 {
		return longestTurn
	}
	return min(max(shortTurn+jitter(seed, shortTurn/2), t.had, (now-t.met)/2), longestTurn)
}

// metLately reports whether turns are shorter than usual, because others were met.
func (t *turns) metLately(now Time) bool { return t.length(now, 0) < longestTurn }

// over reports whether the turn is over. A turn without a handoff is not while nobody was met: it kept the name from nobody that is known.
func (t *turns) over(now Time, seed uint64) bool {
	return t.began != 0 && (t.handed > 0 || t.metLately(now)) && now-t.began >= t.length(now, seed)
}

// countHandoff counts a grant that asked nothing of Redis.
func (t *turns) countHandoff(now Time) {
	if t.began == 0 {
		t.began = now
	}
	t.handed++
}

// leave ends the turn and begins a pause.
func (t *turns) leave(now Time) {
	t.began, t.handed, t.ends, t.peekAt = 0, 0, now+pollWindow, now+peekPause
}

// noteMet records that another owner has the name.
func (t *turns) noteMet(now Time) {
	t.met, t.began, t.ends = now, 0, 0
	if t.refused == 0 {
		t.refused = now
	}
}

// peekAlarm is when the next look may leave; Never: there is nothing to find out.
func (t *turns) peekAlarm() Time {
	if t.peekAt >= t.ends || t.met >= t.ends-pollWindow {
		return Never
	}
	return t.peekAt
}

// noteOurs records that this process has the name now. The turn goes on if the name was free only because no caller waited here.
func (t *turns) noteOurs(now Time) {
	if t.began == 0 || now-t.freedAt >= pollWindow {
		t.began, t.handed, t.ends, t.had = now, 0, 0, 0
		if t.refused != 0 {
			t.had = now - t.refused
		}
		t.refused = 0
	}
}

// settled is when the turn can be forgotten: when every poller has had time to ask. Never: there is nothing to forget.
func (t *turns) settled() Time {
	if t.handed == 0 && t.ends == 0 && !t.metLately(t.freedAt) {
		return Never
	}
	return t.freedAt + pollWindow
}
