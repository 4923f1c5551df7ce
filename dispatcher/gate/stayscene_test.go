package gate

import "testing"

// A has a lock with a least time.
const leastTime = `
			a locks least 5s                 -> acquire 1 5s
			answer 1                         -> a: granted until 4.95s`

// A has a lock, and detaches it.
const detaching = `
			a locks                          -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			a detaches 5s                    -> detach 1 5s`

// invariant: detached-name-stays
func TestStayScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"a least time of a grant in vain": leastTime + `
			after 2ms
			a returns                        -> release 1
			answer 0
			idle                             -> true`,
		"a re-entry in vain keeps the least time of its Owner's other hold": `
			a locks owner 7 least 5s         -> acquire 1 5s
			answer 1                         -> a: granted until 4.95s
			b locks owner 7 least 1s         -> b: granted until 4.95s, re-entered
			after 2ms
			a unlocks                        -> a ok: granted
			b returns                        -> detach 1 4.999s
			answer 0`,
		"a least time that is not over yet": leastTime + `
			after 334ms                      -> (333ms) renew 1 1s
			answer 1
			a unlocks                        -> detach 1 4.667s
			answer 0                         -> a ok: granted
			idle                             -> true`,
		"counts from the next reading of the clock": leastTime + `
			alarm                            -> 1ms
			a unlocks                        -> detach 1 5s
			not-sent
			stall 2s
			link-up                          -> detach 1 5s`,
		"and by that": leastTime + `
			stall 2s
			suspect                          -> renew 1 1s
			answer 1
			after 100ms
			a unlocks                        -> detach 1 4.9s`,
		"unless the question that was sent covers it": `
			a locks least 5s                 -> acquire 1 5s
			b locks least 3s
			a leaves
			answer 1                         -> a: is not there; b: granted until 4.95s
			after 1ms
			b unlocks                        -> detach 1 3s`,
		"a re-entry has its own": `
			a locks owner 7 lease 1s         -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			b locks owner 7 least 500ms lease 600ms -> b: granted until 594ms, re-entered
			b unlocks                        -> b ok: granted
			after 1ms
			a unlocks                        -> detach 1 500ms
			answer 0                         -> a ok: granted
			c locks owner 7                  -> acquire 2 1s
			answer 1                         -> c: granted until 991ms
			d locks owner 7 least 5s         -> renew 2 5s
			answer 1                         -> d: granted until 4.951s, re-entered
			d unlocks                        -> d ok: granted
			c unlocks                        -> detach 2 5s`,
		"the longer of two": `
			a locks owner 7 least 5s         -> acquire 1 5s
			answer 1                         -> a: granted until 4.95s
			after 400ms                      -> (333ms) renew 1 1s
			answer 1
			b locks owner 7 least 1s         -> b: granted until 4.95s, re-entered
			after 1ms
			b unlocks                        -> b ok: granted
			a unlocks                        -> detach 1 4.6s`,
		"ends with force": leastTime + `
			force u:1 1                      -> a ends: lost; release 1
			answer 0                         -> force ok: granted
			b locks                          -> acquire 2 1s
			answer 1                         -> b: granted until 990ms
			b unlocks                        -> release 2`,
		"the command is lost, refused, and comes to nothing": leastTime + `
			after 1ms
			a unlocks                        -> detach 1 5s
			lost
			after 20ms                       -> (17ms) detach 1 4.984s
			answer fault 2
			after 40ms                       -> (37ms) detach 1 4.944s
			not-sent
			link-up                          -> detach 1 4.94s
			again LOADING
			after 100ms                      -> (17ms) detach 1 4.924s
			answer not-mine                  -> a ok: granted
			idle                             -> true`,
		"a least time that is over before a lost question is asked again": `
			a locks lease 900ms least 300ms  -> acquire 1 900ms
			answer 1                         -> a: granted until 891ms
			after 290ms
			a unlocks                        -> detach 1 11ms
			lost
			b locks
			after 20ms                       -> (17ms) release 1
			answer not-mine                  -> a ok: granted; acquire 2 1s`,
		"an engine that closes": leastTime + `
			after 1ms
			close                            -> a ends: closed; detach 1 5s
			answer 0
			idle                             -> true`,
		"an engine that drains": leastTime + `
			b locks
			after 1ms
			drain                            -> b: closed
			a unlocks                        -> detach 1 5s
			answer 0                         -> a ok: granted
			idle                             -> true`,
		"detached": detaching + `
			answer 0                         -> a ok: granted
			idle                             -> true`,
		"detached while somebody waits": mutexHeld + `
			b locks
			a detaches 5s                    -> detach 1 5s
			c locks try                      -> c: taken
			answer 0                         -> a ok: granted; acquire 2 1s
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 3 1s n 1003
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}
			alarm                            -> 1.687s`,
		"detached for less than its least time": leastTime + `
			after 1ms
			a detaches 1s                    -> detach 1 5s
			answer 0                         -> a ok: granted
			b locks                          -> acquire 2 1s
			answer 1                         -> b: granted until 991ms
			b unlocks                        -> release 2`,
		"detached beside another hold of its Owner": `
			a locks owner 7                  -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			b locks owner 7                  -> b: granted until 990ms, re-entered
			b detaches 5s                    -> b ok: taken
			a detaches 5s                    -> detach 1 5s
			answer 0                         -> a ok: granted
			a detaches 5s                    -> a ok: lost`,
		"detached and found lost": detaching + `
			answer not-mine                  -> a ok: lost
			idle                             -> true`,
		"detached, the answer lost": detaching + `
			lost
			after 20ms                       -> (17ms) detach 1 5s
			answer not-mine                  -> a ok: granted
			idle                             -> true`,
		"detached, and the user may not publish": detaching + `
			answer nobody-told               -> a ok: granted
			idle                             -> true`,
		"detached after its hold has ended": `
			a locks lease 500ms              -> acquire 1 500ms
			answer 1                         -> a: granted until 495ms
			stall 500ms
			a detaches 5s                    -> a ends: lost; a ok: lost; release 1`,
	})
}
