package gate

import "testing"

// Owner id 2 was granted the lock and released, and an acquire of it may still leave a place. It is released once more at 2.25 s.
const orphaned = placed + `
			told 0                           -> acquire in line 2 3s n 1002
			lost
			after 20ms                       -> (17ms) acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 2.987s
			b unlocks                        -> release from line 2 n 1002
			answer 0                         -> b ok: granted`

// And C stands in line.
const orphanedPlaced = orphaned + `
			c locks                          -> acquire in line 3 3s n 1003
			answer joins 2s                  -> subscribe redisson_lock__channel:{stock}`

// Places in line at which nobody waits any more.
// invariant: released-owner-is-dead
func TestLineOrphanScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"a message may be for an orphan, which is released at once, and once more at its time": orphanedPlaced + `
			told 0                           -> release from line 2 n 1002
			answer not-mine                  -> acquire in line 3 3s n 1003
			answer stands 2s
			c waits-no-longer                -> c: gave up, last taken for 2s; release from line 3 n 1003
			answer not-mine
			after 3s                         -> (1s) unsubscribe redisson_lock__channel:{stock}; unsubscribe redisson_lock__channel:{stock}:wheellock:u; (2.23s) release from line 2 n 1002
			answer not-mine
			idle                             -> true`,
		"also a code that is not enough": orphanedPlaced + `
			stall 2.595s
			given 3                          -> release from line 2 n 1002
			answer not-mine                  -> acquire in line 3 3s n 1003`,
		"a message while the lock is ours is for no orphan": orphaned + `
			c locks                          -> acquire in line 3 3s n 1003
			answer 1                         -> c: granted until 2.99s
			told 0`,
		"an orphan is released for messages every 16 ms at most, and once more at its time": orphanedPlaced + `
			told 0                           -> release from line 2 n 1002
			answer not-mine                  -> acquire in line 3 3s n 1003
			answer stands 2s
			told 0                           -> acquire in line 3 3s n 1003
			answer stands 2s
			told 0                           -> acquire in line 3 3s n 1003
			answer stands 2s
			after 16ms                       -> release from line 2 n 1002
			answer not-mine                  -> acquire in line 3 3s n 1003
			answer stands 2s
			c waits-no-longer                -> c: gave up, last taken for 2s; release from line 3 n 1003
			answer not-mine
			after 3s                         -> (1s) unsubscribe redisson_lock__channel:{stock}; unsubscribe redisson_lock__channel:{stock}:wheellock:u; (2.214s) release from line 2 n 1002`,
		"a message just before its time does not put it off": orphanedPlaced + `
			stall 2.22s
			told 0                           -> release from line 2 n 1002
			answer not-mine                  -> acquire in line 3 3s n 1003
			answer stands 2s
			told 0                           -> acquire in line 3 3s n 1003
			answer stands 2s
			after 11ms                       -> (10ms) release from line 2 n 1002`,
		"an owner id that was never in line is released at its time alone": `
			codes
			b locks                          -> acquire 1 3s
			lost
			after 20ms                       -> (17ms) acquire 1 3s
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 3s n 1002
			answer joins 5s
			told 0                           -> acquire in line 2 3s n 1002`,
		"each of two orphans is released": orphanedPlaced + `
			told 0                           -> release from line 2 n 1002
			answer not-mine                  -> acquire in line 3 3s n 1003
			lost
			after 20ms                       -> (18ms) acquire in line 3 3s n 1003
			answer stands 2s                 -> release from line 2 n 1002
			answer not-mine                  -> release from line 3 n 1003
			answer not-mine                  -> acquire in line 4 3s n 1004
			answer 1                         -> c: granted until 3.01s
			c unlocks                        -> release 4
			answer 0                         -> c ok: granted
			after 2.22s                      -> (1s) unsubscribe redisson_lock__channel:{stock}; unsubscribe redisson_lock__channel:{stock}:wheellock:u; (2.21s) release from line 2 n 1002
			answer not-mine
			after 10s                        -> (10ms) release from line 3 n 1003
			answer not-mine
			idle                             -> true`,
		"an owner that is freed by force, and is to be released once more at its time": orphaned + `
			force u:2 2                      -> release 2 u:2
			answer not-mine                  -> force ok: lost
			after 3s                         -> (1s) unsubscribe redisson_lock__channel:{stock}:wheellock:u; (2.23s) release from line 2 n 1002`,
		"a place is released for as long as it may stand": placed + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release from line 2 n 1002
			stall 70.199s
			not-sent
			after 20ms                       -> (0s) unsubscribe redisson_lock__channel:{stock}:wheellock:u; (17ms) release from line 2 n 1002
			not-sent
			idle                             -> true`,
		"a place that an acquire without an answer may have left is released for as long as it may stand": `
			codes
			b locks lease 300ms              -> acquire 1 300ms
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 300ms n 1002
			lost
			b waits-no-longer                -> b: gave up, last doubtful
			after 20ms                       -> (17ms) release from line 2 n 1002
			stall 20s
			again OOM                        -> release from line 2 n 1002
			after 40ms                       -> (0s) unsubscribe redisson_lock__channel:{stock}:wheellock:u
			stall 40s
			again OOM
			after 40ms                       -> (17ms) release from line 2 n 1002
			stall 4s
			again OOM
			after 10s
			idle                             -> true`,
		"an owner id that nobody wants is released although the last question did nothing": inLine + `
			lost
			after 20ms                       -> (17ms) acquire in line 2 3s n 1002
			b waits-no-longer                -> b: gave up, last doubtful
			again OOM
			after 40ms                       -> (33ms) release from line 2 n 1002`,
		"a name is not idle while the inbox is subscribed to": placed + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release from line 2 n 1002
			answer not-mine
			idle                             -> false
			after 1s                         -> unsubscribe redisson_lock__channel:{stock}:wheellock:u
			idle                             -> true`,
		"a message on the flooded channel leads to a question later, also beside a TryLock": placed + inVain(vainQuestions) + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release from line 2 n 1002
			answer not-mine
			c locks try                      -> acquire 3 3s
			d locks
			answer held 2s                   -> c: taken for 2s
			after 1ms                        -> acquire in line 4 3s n 1004`,
		"a lock that was freed by force and given to the line has no message that comes back": outside + `
			force x:9 0                      -> release 0 x:9
			answer given 0                   -> force ok: granted; acquire in line 2 3s n 1002
			answer leads 2s
			message                          -> acquire in line 2 3s n 1002`,
	})
}
