package gate

import "testing"

// When a place in line ends, besides the scenes of TestGiftScenes: its owner id is not asked for again.
// invariant: released-owner-is-dead
func TestPlaceEndScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"a place ends with a question that nobody wants any more": placed + `
			told 0                           -> acquire in line 2 3s n 1002
			lost
			b waits-no-longer                -> b: gave up, last doubtful
			after 20ms                       -> (17ms) release from line 2 n 1002
			c locks
			answer not-mine                  -> acquire in line 3 3s n 1003`,
		"a place that is freed by force while its question is on its way": placed + `
			told 0                           -> acquire in line 2 3s n 1002
			force u:2 2
			answer stands 2s                 -> release from line 2 u:2 n 1002; subscribe redisson_lock__channel:{stock}
			lost                             -> force ok: doubtful; acquire in line 3 3s n 1003`,
		"a place that is asked for when nothing can arrive any more": placed + `
			told 0                           -> acquire in line 2 3s n 1002
			lost
			stall 2.25s
			link-up                          -> acquire in line 2 3s n 1002
			answer stands 2s
			given 2                          -> acquire in line 2 3s n 1002`,
		"a lock that is given to who has gone is released at once": placed + `
			b leaves
			given 2                          -> b: is not there; release 2`,
		"a lock that was lost and goes to another engine is asked for at once": placed + `
			given 2                          -> b: granted until 2.97s
			c locks
			stall 3s
			after 0s                         -> b ends: lost; release 2
			answer given 2                   -> acquire in line 3 3s n 1003`,
		"a place that was given when nobody wants it any more, and nobody heard of it": placed + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release from line 2 n 1002
			answer given 0
			c locks                          -> acquire in line 3 3s n 1003
			answer joins 2s
			told 0                           -> acquire in line 3 3s n 1003`,
	})
}
