package gate

import "testing"

// What a read-write lock asks for, when, and what the answer leaves behind.
func TestRWQuestionScenes(t *testing.T) {
	playScenes(t, RWKind, map[string]string{
		"readers with fixed leases are asked for with the longest": `
			a locks lease 300ms              -> acquire read 1 300ms
			b locks lease 500ms
			c locks
			answer held 5s                   -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> acquire read 2 500ms n 1002
			answer 1                         -> a: granted until 295ms; b: granted until 495ms; confirm read 2 1s`,
		"its release is repeated for as long as the longest lease may stand": `
			a locks lease 300ms              -> acquire read 1 300ms
			b locks lease 5s
			again LOADING
			after 20ms                       -> (17ms) acquire read 2 5s
			lost
			b goes                           -> b: is not there
			a goes                           -> a: is not there
			after 40ms                       -> (33ms) release read 2
			lost
			stall 4s
			after 1ms                        -> (0s) release read 2`,
		"readers beside listeners sleep no longer than the poll cap": `
			poll-cap 100ms` + readersOfTwoTurns + `
			after 20ms
			c locks                          -> confirm read 1 1s
			answer waiting 2 0               -> subscribe redisson_rwlock:{stock}:wheellock:u
			alarm                            -> 98ms`,
		"readers beside places in line": `
			poll-cap 100ms` + readersOfTwoTurns + `
			after 20ms
			c locks                          -> confirm read 1 1s
			answer waiting 0 1               -> subscribe redisson_rwlock:{stock}:wheellock:u
			alarm                            -> 98ms`,
		"a question that nobody has an interest in any more, long ago": `
			a locks write                    -> acquire write 1 1s
			lost
			b locks
			a goes                           -> a: is not there
			stall 10s
			after 1ms                        -> (0s) acquire read 2 1s`,
		"a grant that is read at its deadline is given back": `
			a locks write lease 20ms         -> acquire write 1 20ms
			after 15ms
			answer 1                         -> release write 1`,
		"our own subscription is nobody else's": `
			a locks write                    -> acquire write 1 1s
			answer held 5s                   -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> acquire write in line 2 1s n 1002
			answer joins-first 5s            -> subscribe redisson_rwlock:{stock}
			subscribed                       -> acquire write in line 2 1s n 1002
			answer 1                         -> a: granted until 990ms
			b locks write
			c locks write
			after 10ms
			a unlocks                        -> a ok: granted; confirm write 2 1s
			answer 1                         -> b: granted until 1s, handed on
			after 5ms
			b unlocks                        -> c: granted until 1s, handed on; b ok: granted`,
		"the key of what is lost stands for as long as a downgrade may have made it": `
			a locks write owner 7 lease 3s   -> acquire write 1 3s
			answer 1                         -> a: granted until 2.97s
			b locks owner 7 lease 1s         -> b: granted until 990ms, re-entered
			after 900ms
			a unlocks                        -> downgrade 1 2.093s
			lost
			after 20ms                       -> (17ms) downgrade 1 2.076s
			denied NOPERM                    -> a ok: refused "NOPERM"
			after 100ms                      -> (70ms) b ends: lost; release write 1
			denied NOPERM
			after 1s                         -> release write 1
			denied NOPERM
			after 1s                         -> release write 1
			denied NOPERM
			after 1s                         -> release write 1
			answer 0`,
	})
}
