package gate

import "time"

// Pollers leave nothing in Redis by which they could be counted. So a process that keeps a spin lock for its own waiters ends its turn
// after a while and leaves the name alone. If its next question is refused, others want the name.
const (
	// longestSpin is the longest sleep of a poller, here and in Redisson.
	longestSpin = 128 * time.Millisecond
	// pollWindow is long enough for every poller to ask once: Redisson's sleep for at most 128 ms, and need some more for scheduling and a
	// round trip.
	pollWindow = longestSpin + 12*time.Millisecond
	// longestTurn is how long a process keeps a spin lock at most between two pauses of a pollWindow. A poller gets in within the sum of
	// the two, which is less than a second.
	longestTurn = 830 * time.Millisecond
	// unmet is how many pauses in a row must be in vain before the others count as gone. One proves little: a process that asks again right
	// after each unlock may have the name at that moment.
	unmet = 9
	// doublings is how often the turn doubles before that, once after each pause in vain.
	doublings = 2
	// trials is how many very short turns follow a pollWindow in vain, and half of those that follow when the others count as gone: a
	// process that got in during the pause, and was between two grants when we asked, asks again soon.
	trials = 2
	// The first turn after others were met has at most firstGrants for each caller, and lasts at most firstTurn times HandoffTime.
	firstGrants = 4
	firstTurn   = 4
)

// turns are the turns of a process that shares a name with pollers.
type turns struct {
	began   Time  // when this turn began; 0: there was none
	handed  int32 // handoffs in this turn
	freedAt Time  // when this process last released the name
	met     Time  // when it last got the name back from others
	window  Time  // when it last came back after a pollWindow
	pause   bool  // the name is left to others now
	taken   bool  // since then another process was found to have it
	trials  uint8 // how many very short turns are to follow
	known   uint8 // how many more pauses in vain until the others count as gone; 0: they do
}

// over reports whether the turn is over. A turn without a handoff never is: it kept the name from nobody.
//
// The turn after others were met is short in grants and in time, because pauses are short then. The first pauses in vain double both, as
// they make the next pause longer.
func (t *turns) over(now Time, callers int32, cfg *Config) bool {
	if t.handed == 0 {
		return false
	}
	if now-t.began >= longestTurn || now-t.window >= longestTurn {
		return true
	}
	if t.known == 0 {
		return t.trials > 0 && now-t.began >= minYield
	}
	longer := min(unmet-t.known, doublings)
	return int64(t.handed) >= int64(firstGrants*callers)<<longer || now-t.began >= firstTurn*cfg.HandoffTime<<longer
}

// countHandoff counts a grant that asked nothing of Redis.
func (t *turns) countHandoff(now Time) {
	if t.began == 0 {
		t.began, t.window = now, now
	}
	t.handed++
}

// leave ends the turn and returns how long to leave the name to others. A poller that doubles its sleep after each refusal never sleeps
// longer than it has waited. So a poller that came when we got the name asks again within the time that we have had it, and a little more.
// Once in a longestTurn the pause is as long as the longest sleep. A part of the pause is random, because a poller that always sleeps for
// the same time could ask just outside each pause.
func (t *turns) leave(now Time, seed uint64) time.Duration {
	t.pause = true
	if t.known == 0 && t.trials == 0 || now-t.window >= longestTurn {
		return pollWindow
	}
	since := now - t.met
	if t.known == 0 {
		since = now - t.began
	}
	return min(minYield+since+since/4+jitter(seed, since/4), pollWindow)
}

// noteOurs records that this process has the name now.
func (t *turns) noteOurs(now Time) {
	switch {
	case t.began == 0 || now-t.freedAt >= pollWindow:
		t.window, t.trials = now, trials+1
	case !t.taken && !t.pause: // it was left only because no caller waited here
		return
	}
	switch {
	case t.taken:
		t.known, t.met = unmet, now
	case t.pause && t.known > 0:
		if t.known--; t.known == 0 {
			t.trials = 2 * trials
		}
	case t.pause:
		t.trials -= min(t.trials, 1)
	}
	t.began, t.handed, t.pause, t.taken = now, 0, false, false
}

// settled is when the turns can be forgotten: when every poller has had time to ask. Never: there is nothing to forget.
func (t *turns) settled() Time {
	if t.began == 0 || t.known == 0 && t.handed == 0 {
		return Never
	}
	return t.freedAt + pollWindow
}
