package gate

import "time"

// Whoever polls for a lock leaves nothing in Redis by which we could count it. So a process that keeps a spin lock for
// its own waiters ends its turn after a while and leaves the name alone. Whether others want the name shows when our
// next question is refused.
const (
	// longestSpin is the longest sleep of who polls, here and in Redisson.
	longestSpin = 128 * time.Millisecond
	// pollWindow is long enough for every poller to ask once: Redisson's sleep for 128 ms at most, and need some more to
	// be scheduled and for a round trip.
	pollWindow = longestSpin + 12*time.Millisecond
	// longestTurn is how long a process keeps a spin lock at most between two pauses of a pollWindow. A poller gets in
	// within the sum of the two: less than a second.
	longestTurn = 830 * time.Millisecond
	// unmet is how many pauses in a row must be in vain until others are taken to be gone. One proves little: who asks
	// again at once after each unlocking may be met in between.
	unmet = 9
	// doublings is how often the turn is doubled meanwhile, one after each pause in vain.
	doublings = 2
	// trials is how many very short turns follow a pollWindow in vain, and twice as many when others are taken to be
	// gone: whoever got in during the pause, and was between two grants when we asked, asks again soon.
	trials = 2
	// The first turn after others were met has at most firstGrants for each caller, and lasts at most firstTurn times
	// HandoffTime.
	firstGrants = 4
	firstTurn   = 4
)

// turns is the time that a process shares with others that poll.
type turns struct {
	began   Time  // this turn; 0: none did
	handed  int32 // grants in it without asking Redis
	freedAt Time  // when we last freed the name
	met     Time  // when we last got it back from others
	window  Time  // when we last came back after a pollWindow
	pause   bool  // the name is left to others
	taken   bool  // since we left it we found others there
	trials  uint8 // how many very short turns are left
	known   uint8 // how many more pauses in vain it takes until others are taken to be gone; 0: they are
}

// over reports whether the turn is over. Nobody's turn ends who never kept the name from others by handing it on.
//
// The turn after others were met is short in grants and in time, for pauses are short then. The first pauses in vain
// double both, as they make the next pause longer.
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

// countHandoff counts a grant without asking Redis.
func (t *turns) countHandoff(now Time) {
	if t.began == 0 {
		t.began, t.window = now, now
	}
	t.handed++
}

// leave ends the turn and says how long to leave the name to others. Whoever doubles its sleep after each refusal
// sleeps no longer than it has waited, so that who came when we got the name back asks again within as long as we have
// had it, and a little more. Once in a longestTurn the pause is as long as the longest sleep. A part of the pause is
// random, for who sleeps for the same time again and again could find us there each time.
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

// noteOurs notes that the name is ours.
func (t *turns) noteOurs(now Time) {
	switch {
	case t.began == 0 || now-t.freedAt >= pollWindow:
		t.window, t.trials = now, trials+1
	case !t.taken && !t.pause: // it was left only because nobody waited here
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

// settled is when turns can be forgotten: after every poller had time to ask. Never: there is nothing to forget.
func (t *turns) settled() Time {
	if t.began == 0 || t.known == 0 && t.handed == 0 {
		return Never
	}
	return t.freedAt + pollWindow
}
