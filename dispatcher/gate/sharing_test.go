package gate

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// contests plays each with some holds and one seed; with -gate.long three.
func contests(t *testing.T, kind Kind, play func(t *testing.T, c *rivalry)) {
	seeds := usually[uint64](1, 3)
	for _, hold := range []time.Duration{150 * time.Microsecond, 3 * time.Millisecond} {
		for seed := range seeds {
			t.Run(fmt.Sprintf("held for %v, seed %d", hold, seed), func(t *testing.T) {
				t.Parallel()
				play(t, newContest(t, seed, kind, hold))
			})
		}
	}
}

// wantShares: the others have at least a third of the grants that would be theirs if every caller had as many, and we
// at least a fifth.
func (c *rivalry) wantShares(t *testing.T, p *process, callers int, theirs []*stranger) {
	t.Helper()
	ours, others := p.grants, 0
	for _, s := range theirs {
		others += s.grants
	}
	all := callers + len(theirs)
	if 3*others*all < (ours+others)*len(theirs) {
		t.Errorf("%d pollers beside %d callers of ours had %d of %d grants", len(theirs), callers, others, ours+others)
	}
	if 5*ours*all < (ours+others)*callers {
		t.Errorf("%d callers of ours beside %d others had %d of %d grants", callers, len(theirs), ours, ours+others)
	}
}

// TestPollersGetTheirShareOfASpinLock, once they have been met.
// invariant: others-get-a-turn
func TestPollersGetTheirShareOfASpinLock(t *testing.T) {
	for _, threads := range []int{1, 4} {
		for _, callers := range []int{2, 8} {
			t.Run(fmt.Sprintf("%d pollers, %d callers", threads, callers), func(t *testing.T) {
				contests(t, SpinKind, func(t *testing.T, c *rivalry) {
					p, all := c.engine("A", callers), []*stranger(nil)
					for n := range threads {
						all = append(all, c.spinner(n, 0))
					}
					c.run(1500 * time.Millisecond) // until they have been met
					c.begin(all...)
					c.run(3 * time.Second)
					c.wantShares(t, p, callers, all)
					if c.drawn > time.Second {
						t.Errorf("no poller got in for %v", c.drawn)
					}
				})
			})
		}
	}
}

// TestPollersGetTheirShareOfASimpleLock: three that try again after a sleep of always the same length, beside engines that stand in line. A
// pause is as long as the sleeps of the first two. The third asks in a pause by chance, so it is only seen to that it gets in.
// invariant: others-get-a-turn
func TestPollersGetTheirShareOfASimpleLock(t *testing.T) {
	const pollers, lasts = 3, 10 * time.Second
	holds := []time.Duration{3 * time.Millisecond, 10 * time.Millisecond}
	for _, hold := range holds[:usually(1, 2)] {
		for _, sleep := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond} {
			contest := func(t *testing.T, engines, callers, pollers int) (ours []int, theirs []*stranger) {
				c := newContest(t, 1, SimpleKind, hold)
				var procs []*process
				for i := range engines {
					procs = append(procs, c.engine(fmt.Sprintf("aaaaaaaa-0000-8000-8000-%012x", i), callers))
				}
				for n := range pollers {
					theirs = append(theirs, c.stranger(n, sleep, func(int) time.Duration { return sleep }))
				}
				c.run(2 * time.Second)
				c.begin(theirs...)
				c.run(lasts)
				for _, p := range procs {
					ours = append(ours, p.grants)
				}
				return ours, theirs
			}
			for _, beside := range [][2]int{{1, 1}, {1, 2}, {1, 8}, {2, 1}, {16, 1}} {
				t.Run(fmt.Sprintf("held for %v, asked for every %v, beside %d engines with %d callers", hold, sleep, beside[0], beside[1]), func(t *testing.T) {
					t.Parallel()
					ours, theirs := contest(t, beside[0], beside[1], pollers)
					_, alone := contest(t, 0, 0, pollers+beside[0]*beside[1])
					least := grants(alone) * pollers / len(alone) * 2 / 5
					if sleep > pollWindow {
						least = pollers
					}
					if grants(theirs) < least {
						t.Errorf("the pollers had %d grants, want %d, two fifths of what each has among as many pollers", grants(theirs), least)
					}
					for _, s := range theirs {
						if sleep < pollWindow && s.waited() > 2*time.Second {
							t.Errorf("a poller with %d grants waited for %v", s.grants, s.waited())
						}
					}
					sum := 0
					for _, n := range ours {
						sum += n
					}
					if sum < grants(theirs)/pollers || 4*slices.Min(ours)*len(ours) < sum {
						t.Errorf("the engines had %d grants, the pollers %d", ours, grants(theirs))
					}
				})
			}
		}
	}
}

func grants(of []*stranger) (n int) {
	for _, s := range of {
		n += s.grants
	}
	return n
}

// TestFreshPollerGetsInWithinASecond: also when nobody outside has wanted the name for long.
// invariant: others-get-a-turn
func TestFreshPollerGetsInWithinASecond(t *testing.T) {
	contests(t, SpinKind, func(t *testing.T, c *rivalry) {
		c.engine("A", 8)
		s := c.spinner(0, 6*time.Second)
		c.run(30 * time.Second)
		if s.grants < 4 || s.waited() > time.Second {
			t.Errorf("the longest of %d waits: %v", s.grants, s.waited())
		}
	})
}

// TestWaitersOfOthersGetTheirShare: those who listen, each of whose turns is one grant.
// invariant: others-get-a-turn
func TestWaitersOfOthersGetTheirShare(t *testing.T) {
	for _, threads := range []int{1, 4} {
		for _, callers := range []int{2, 8} {
			t.Run(fmt.Sprintf("%d waiters, %d callers", threads, callers), func(t *testing.T) {
				contests(t, MutexKind, func(t *testing.T, c *rivalry) {
					p, r := c.engine("A", callers), c.redisson(threads)
					c.run(time.Second)
					c.begin(r.threads...)
					c.run(2 * time.Second)
					c.wantShares(t, p, callers, r.threads)
					// Longer than 300 ms if the name happened to be free after each pause: then nobody was met, and a turn is a long one.
					if c.drawn > longestTurn+pollWindow {
						t.Errorf("none of them got in for %v", c.drawn)
					}
				})
			})
		}
	}
}

// TestProcessesThatHandOnKeepLongTurns: two of ours lose little of what one alone would get, and have the same.
func TestProcessesThatHandOnKeepLongTurns(t *testing.T) {
	for seed := range uint64(2) {
		const hold = 20 * time.Microsecond
		c := newContest(t, seed, MutexKind, hold)
		a, b := c.engine("aaaaaaaa-0000-8000-8000-000000000001", 32), c.engine("aaaaaaaa-0000-8000-8000-000000000002", 32)
		c.run(time.Second)
		if n, most := a.grants+b.grants, int(time.Second/hold); n < most*8/10 {
			t.Errorf("seed %d: %d grants of at most %d", seed, n, most)
		}
		if low, high := min(a.grants, b.grants), max(a.grants, b.grants); low < high*8/10 {
			t.Errorf("seed %d: one had %d grants, the other %d", seed, low, high)
		}
	}
}

// TestProcessesShareASpinLock: neither keeps the other out.
func TestProcessesShareASpinLock(t *testing.T) {
	for seed := range uint64(3) {
		c := newContest(t, seed, SpinKind, 300*time.Microsecond)
		a, b := c.engine("A", 8), c.engine("B", 8)
		c.run(8 * time.Second)
		if low, sum := min(a.grants, b.grants), a.grants+b.grants; low < sum/6 {
			t.Errorf("seed %d: one had %d of %d grants", seed, low, sum)
		}
	}
}

// TestSingleCallersGetTheirShareOfASpinLock: a process with one caller, or a thread of Redisson, has a tenth at least of what each caller would
// have if all had as many, beside processes that each keep the name for callers of their own and take it in each other's pauses.
func TestSingleCallersGetTheirShareOfASpinLock(t *testing.T) {
	for _, s := range []struct {
		hold             time.Duration
		engines, callers int
		singles, threads int
	}{
		{hold: time.Millisecond, engines: 3, callers: 4, singles: 1},
		{hold: time.Millisecond, engines: 5, callers: 16, singles: 3},
		{hold: 20 * time.Millisecond, engines: 3, callers: 4, singles: 1},
		{hold: 5 * time.Millisecond, engines: 3, callers: 2, threads: 1},
	} {
		t.Run(fmt.Sprintf("held for %v, %d processes with %d callers", s.hold, s.engines, s.callers), func(t *testing.T) {
			t.Parallel()
			c := newContest(t, 1, SpinKind, s.hold)
			for n := range s.engines {
				c.engine(fmt.Sprint("many", n), s.callers)
			}
			var singles []*process
			for n := range s.singles {
				singles = append(singles, c.engine(fmt.Sprint("single", n), 1))
			}
			var theirs []*stranger
			for n := range s.threads {
				theirs = append(theirs, c.spinner(n, 0))
			}
			c.run(2 * time.Second)
			c.begin(theirs...)
			c.run(20 * time.Second)
			all := grants(theirs)
			for _, p := range c.engines {
				all += p.grants
			}
			share := all / (s.engines*s.callers + s.singles + s.threads)
			for _, p := range singles {
				if p.grants < share/10 {
					t.Errorf("a single caller had %d grants, and %d of %d would be its share", p.grants, share, all)
				}
			}
			if grants(theirs) < s.threads*share/10 {
				t.Errorf("%d threads had %d grants, and %d of %d would be the share of each", s.threads, grants(theirs), share, all)
			}
		})
	}
}

// TestWhatIsLeftToPollersInVain is the price where nobody outside wants the name.
func TestWhatIsLeftToPollersInVain(t *testing.T) {
	const hold, lasts = time.Millisecond, 10 * time.Second
	got := func(kind Kind, callers int) int {
		c := newContest(t, 1, kind, hold)
		p := c.engine("A", callers)
		c.run(lasts)
		return p.grants
	}
	if n, most := got(SpinKind, 8), int(lasts/hold); n < most*84/100 {
		t.Errorf("a spin lock: %d grants of at most %d", n, most)
	}
	if n, most := got(MutexKind, 8), int(lasts/hold); n < most*97/100 {
		t.Errorf("a lock: %d grants of at most %d", n, most)
	}
	if spin, lock := got(SpinKind, 1), got(MutexKind, 1); spin < lock*99/100 {
		t.Errorf("one caller alone: %d grants of a spin lock, %d of a lock", spin, lock)
	}
}

// TestPollersOfALockGetIn: of a plain lock they are met by chance, every few seconds.
func TestPollersOfALockGetIn(t *testing.T) {
	for seed := range uint64(3) {
		c := newContest(t, seed, MutexKind, time.Millisecond)
		c.engine("A", 8)
		every := 50 * time.Millisecond
		s := c.stranger(1, every, func(int) time.Duration { return every })
		c.run(30 * time.Second)
		if s.grants < 8 || s.waited() > 10*time.Second {
			t.Errorf("seed %d: %d grants in 30s, the longest wait %v", seed, s.grants, s.waited())
		}
	}
}
