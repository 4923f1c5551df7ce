package gate

import "testing"

// B has been refused by an owner who tells the first in line nothing, and listens to the name's channel.
const outside = `
			codes
			b locks                          -> acquire 1 3s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 3s n 1002
			answer joins-first 2s            -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire in line 2 3s n 1002
			answer leads 2s`

// invariant: gift-counts-from-its-acquire
func TestLineScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"the first of the line listens to the channel while its owner is no engine": outside + `
			message                          -> acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 2.97s`,
		"and no longer when the owner is an engine": outside + `
			message                          -> acquire in line 2 3s n 1002
			answer stands 2s
			after 1500ms                     -> (1s) unsubscribe redisson_lock__channel:{stock}`,
		"a 1 on the lock's channel is for Redisson": outside + `
			says 1
			says 0                           -> acquire in line 2 3s n 1002`,
		"nothing is left to do when an engine closes": outside + `
			close                            -> b: closed; release from line 2 n 1002
			answer not-mine
			idle                             -> true
			alarm                            -> none`,
		"a 0 asks at once": placed + `
			told 0                           -> acquire in line 2 3s n 1002
			answer stands 2s`,
		"a 1 asks after a pause": placed + `
			told 1
			after 15ms
			after 1ms                        -> acquire in line 2 3s n 1002`,
		"others that are met after a pause have a turn, and hand the lock on in it": placed + `
			told 1
			after 16ms                       -> acquire in line 2 3s n 1002
			answer leads 2s                  -> subscribe redisson_lock__channel:{stock}
			subscribed
			says 0
			after 15ms
			says 0
			after 15ms
			after 1ms                        -> acquire in line 2 3s n 1002`,
		"which ends": placed + `
			told 1
			after 16ms                       -> acquire in line 2 3s n 1002
			answer leads 2s                  -> subscribe redisson_lock__channel:{stock}
			subscribed
			after 16ms                       -> acquire in line 2 3s n 1002
			answer leads 2s
			after 60ms
			says 0
			after 7ms
			after 1ms                        -> acquire in line 2 3s n 1002
			answer leads 2s
			says 0                           -> acquire in line 2 3s n 1002`,
		"a place that is not to listen hears nothing on the channel": outside + `
			told 0                           -> acquire in line 2 3s n 1002
			answer stands 2s
			says 0`,
		"a 1 asks after two round trips, if these are longer": placed + `
			rtt 10ms
			told 1
			after 19ms
			after 1ms                        -> acquire in line 2 3s n 1002`,
		"a 1 beside a 0 asks at once": placed + `
			told 1 0                         -> acquire in line 2 3s n 1002`,
		"a 1 that comes twice asks after a pause": placed + `
			told 1 1
			after 16ms                       -> acquire in line 2 3s n 1002`,
		"a code beside other messages": placed + `
			told 1 0 1002                    -> acquire in line 2 3s n 1002`,
		"after many hints in vain each waits for longer": placed + inVain(vainQuestions) + `
			told 0
			after 1ms                        -> acquire in line 2 3s n 1002
			answer stands 1999ms
			told 9
			after 2ms                        -> acquire in line 2 3s n 1002
			answer stands 1997ms
			told 0
			after 4ms                        -> acquire in line 2 3s n 1002
			answer stands 1993ms
			told 1
			after 15ms
			after 1ms                        -> acquire in line 2 3s n 1002`,
		"a hint while the lock is ours is none": placed + `
			given 2                          -> b: granted until 2.97s
			told 0
			told 1`,
		"who waits beside a TryLock joins the line when that is refused": placed + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release from line 2 n 1002
			answer not-mine
			c locks try                      -> acquire 3 3s
			d locks
			answer held 2s                   -> c: taken for 2s; acquire in line 4 3s n 1004
			answer joins 2s
			given 4                          -> d: granted until 2.97s`,
		"a link that works again after an outage": placed + `
			link-up                          -> acquire in line 2 3s n 1002
			answer stands 2s
			given 2                          -> b: granted until 2.97s`,
		"an inbox that is heard again after a break": placed + `
			subscribed                       -> acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 2.97s`,
		"a lock that is freed while others stand in line is left to the first": placed + `
			given 2                          -> b: granted until 2.97s
			c locks lease 10s
			b unlocks                        -> release 2
			answer waiting 0 2               -> b ok: granted
			after 17ms
			after 1ms                        -> acquire in line 3 10s n 1003`,
		"it is left for four round trips, if these are longer": placed + `
			rtt 10ms
			given 2                          -> b: granted until 2.97s
			c locks lease 10s
			b unlocks                        -> release 2
			answer waiting 0 2               -> b ok: granted
			after 39ms
			after 1ms                        -> acquire in line 3 10s n 1003`,
		"a lock that was given away is asked for at once, at the end of the line": placed + `
			given 2                          -> b: granted until 2.97s
			c locks lease 10s
			b unlocks                        -> release 2
			answer given 0                   -> b ok: granted; acquire in line 3 10s n 1003
			answer joins 2s`,
		"a turn ends when engines stand in line": placed + `
			given 2                          -> b: granted until 2.97s
			c locks
			stall 11ms
			b unlocks                        -> b ok: granted; confirm 2 3s
			answer waiting 0 1               -> release 2
			answer given 0                   -> acquire in line 3 3s n 1003`,
		"a drained engine leaves the line": placed + `
			drain                            -> b: closed; release from line 2 n 1002
			answer not-mine`,
		"a closed engine leaves the line": placed + `
			close                            -> b: closed; release from line 2 n 1002
			answer not-mine`,
		"an acquire without an answer that nobody waits for any more leaves the line": inLine + `
			lost
			b waits-no-longer                -> b: gave up, last doubtful
			after 20ms                       -> (17ms) release from line 2 n 1002
			answer not-mine
			after 10s                        -> (980ms) unsubscribe redisson_lock__channel:{stock}:wheellock:u; (2.23s) release from line 2 n 1002
			answer not-mine`,
		"an owner id that may come into line again is not asked for again, though its last refusal left no place": placed + `
			told 0                           -> acquire in line 2 3s n 1002
			lost
			link-up                          -> acquire in line 2 3s n 1002
			answer held 2s                   -> release from line 2 n 1002; subscribe redisson_lock__channel:{stock}
			told 0
			answer not-mine                  -> acquire in line 3 3s n 1003`,
		"an owner that is freed by force while it stands in line": placed + `
			force u:2 2                      -> release from line 2 u:2 n 1002
			answer not-mine                  -> force ok: lost; acquire in line 3 3s n 1003`,
		"an owner that is freed by force before the answer by which it stands in line": inLine + `
			force u:2 2
			answer joins 2s                  -> release from line 2 u:2 n 1002; subscribe redisson_lock__channel:{stock}
			answer not-mine                  -> force ok: lost; acquire in line 3 3s n 1003`,
		"a release that failed has its pause, whatever is said": placed + `
			told 0                           -> acquire in line 2 3s n 1002
			lost
			after 20ms                       -> (17ms) acquire in line 2 3s n 1002
			answer stands 2s                 -> release from line 2 n 1002; subscribe redisson_lock__channel:{stock}
			again OOM                        -> acquire in line 3 3s n 1003
			answer joins 2s
			told 7                           -> acquire in line 3 3s n 1003
			answer stands 2s
			after 20ms                       -> (17ms) release from line 2 n 1002`,
	})
}
