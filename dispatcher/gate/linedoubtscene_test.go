package gate

import "testing"

// When a code proves nothing: the sequences by which it may be older than the place that stands now.
// invariant: gift-counts-from-its-acquire, released-owner-is-dead
func TestLineDoubtScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"a first question that got no answer may have left the place, and been given the lock": inLine + `
			lost
			stall 2.25s
			link-up                          -> acquire in line 2 3s n 1002
			answer joins 2s
			given 2                          -> acquire in line 2 3s n 1002`,
		"a place that stood before the first answer": inLine + `
			answer stands 2s
			given 2                          -> acquire in line 2 3s n 1002`,
		"the next owner id is in no doubt": inLine + `
			lost
			stall 2.25s
			link-up                          -> acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 5.22s
			b unlocks                        -> release from line 2 n 1002
			answer given 0                   -> b ok: granted
			c locks                          -> acquire in line 3 3s n 1003
			answer joins 2s
			given 3                          -> c: granted until 5.22s`,
		"the code of a place that was given up comes late": placed + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release from line 2 n 1002
			answer not-mine
			c locks                          -> acquire in line 3 3s n 1003
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}
			given 2                          -> release from line 2 n 1002
			answer not-mine                  -> acquire in line 4 3s n 1004`,
		"a lock that is given to a place which Redis had forgotten, and knows again": placed + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release from line 2 n 1002
			answer not-mine
			given 2                          -> release from line 2 n 1002
			answer given 0
			given 2
			after 40ms                       -> release from line 2 n 1002`,
		"the code of an owner who was forced off comes late": placed + `
			force u:2 2                      -> release from line 2 u:2 n 1002
			answer not-mine                  -> force ok: lost; acquire in line 3 3s n 1003
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}
			given 2                          -> release from line 2 n 1002
			answer not-mine                  -> acquire in line 4 3s n 1004`,
		"what is said on the channel that all listen to is not for a place": placed + `
			says 1002`,
		"another owner who is forced off leaves the place as it is": placed + `
			force u:7 7                      -> release 7 u:7
			answer not-mine                  -> force ok: lost; acquire in line 2 3s n 1002`,
		"a lock that was given and has vanished is asked for under a fresh owner id": placed + `
			given 2                          -> b: granted until 2.97s
			after 50ms                       -> renew 2 3s
			answer not-mine                  -> b ends: lost; release from line 2 n 1002
			c locks
			answer not-mine                  -> acquire in line 3 3s n 1003`,
		"a lock that was granted to a place and has vanished, too": placed + `
			told 0                           -> acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 2.97s
			after 1s                         -> renew 2 3s; unsubscribe redisson_lock__channel:{stock}:wheellock:u
			answer not-mine                  -> b ends: lost; release from line 2 n 1002
			c locks
			answer not-mine                  -> acquire 3 3s`,
		"a lock that was given over a later link is handed on": `
			link-breaks` + placed + `
			c locks
			given 2                          -> b: granted until 2.97s
			b unlocks                        -> c: granted until 2.97s, handed on; b ok: granted`,
		"the longer the round trips, the more must be left of a lock that is given": placed + `
			rtt 100ms
			stall 2169ms
			given 2                          -> b: granted until 2.97s`,
		"a lock of which too few round trips are left is asked for": placed + `
			rtt 100ms
			stall 2170ms
			given 2                          -> acquire in line 2 3s n 1002`,
		"a place is given for the longest lease that was asked for at it": `
			codes
			b locks watch 10m                -> acquire 1 10m0s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 10m0s n 1002
			answer joins 2s
			c locks watch 3s
			b waits-no-longer                -> b: gave up, last taken for 2s
			told 0                           -> acquire in line 2 3s n 1002
			answer stands 2s
			stall 2.899s
			given 2                          -> c: granted until 9.9s
			d locks watch 3s
			c unlocks                        -> release 2`,
		"of a long lease most must be left": `
			codes
			b locks watch 10m                -> acquire 1 10m0s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 10m0s n 1002
			answer joins 2s
			stall 2.9s
			given 2                          -> acquire in line 2 10m0s n 1002`,
	})
}
