package gate

import "testing"

// When a claim ends, besides the scenes of TestClaimScenes: its owner id is not asked for again.
// invariant: released-owner-is-dead
func TestClaimEndScenes(t *testing.T) {
	for name, text := range map[string]string{
		"a claim ends with the lock that its owner was granted": claimed + `
			message                          -> acquire claim 2 3s n 1002
			answer 1                         -> b: granted until 2.97s
			c locks lease 10s
			b unlocks                        -> release claim 2 n 1
			answer 1                         -> b ok: granted; acquire 3 10s
			answer 1                         -> c: granted until 9.9s
			c unlocks                        -> release claim 3 n 1
			answer 1                         -> c ok: granted
			d locks                          -> acquire claim 4 3s n 1003`,
		"a claim ends with a question that nobody wants any more": claimed + `
			message                          -> acquire claim 2 3s n 1002
			lost
			b waits-no-longer                -> b: gave up, last doubtful
			after 20ms                       -> (17ms) release claim 2 n 1
			c locks
			answer not-mine                  -> acquire claim 3 3s n 1003`,
		"a claim that is freed by force while its question is on its way": claimed + `
			message                          -> acquire claim 2 3s n 1002
			force u:2 2
			answer claimed 2s                -> release claim 2 u:2 n 1
			lost                             -> force ok: doubtful; acquire claim 3 3s n 1003`,
		"a claim that is asked for when nothing can arrive any more": claimed + `
			message                          -> acquire claim 2 3s n 1002
			lost
			stall 2.25s
			link-up                          -> acquire claim 2 3s n 1003
			answer claimed 2s
			given 3                          -> b: granted until 4.23s`,
		"a lock that is given to who has gone is released at once": claimed + `
			b leaves
			given 1                          -> b: is not there; release claim 2 n 1`,
		"a lock that was lost and goes to a claim is asked for at once": claimed + `
			given 1                          -> b: granted until 1.98s
			c locks
			stall 2s
			after 0s                         -> b ends: lost; release claim 2 n 1
			answer given 2                   -> acquire claim 3 3s n 1002`,
		"a claim that was given when nobody wants it any more, and nobody heard of it": claimed + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release claim 2 n 1
			answer given 0
			c locks                          -> acquire claim 3 3s n 1002
			answer claimed 2s
			message                          -> acquire claim 3 3s n 1003`,
	} {
		t.Run(name, func(t *testing.T) { playScene(t, MutexKind, text) })
	}
}
