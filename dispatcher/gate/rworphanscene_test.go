package gate

import "testing"

// A writer whose first acquire may still arrive has become a reader.
const orphanBecameReader = `
			a locks write owner 7            -> acquire write 1 1s
			lost
			after 20ms                       -> (17ms) acquire write 1 1s
			answer 1                         -> a: granted until 1.007s
			b locks owner 7                  -> b: granted until 1.007s, re-entered
			a unlocks                        -> downgrade 1 1s
			answer 0                         -> a ok: granted`

// An acquire that may still arrive takes what it was sent for, whatever its owner has become since: it is released as that.
// invariant: released-owner-is-dead
func TestRWOrphanScenes(t *testing.T) {
	playScenes(t, RWKind, map[string]string{
		"a writer that has become a reader, and is gone": orphanBecameReader + `
			suspect                          -> renew read 1 1s
			answer not-mine                  -> b ends: lost
			after 3s                         -> (2.23s) release write 1
			answer not-mine
			idle                             -> true`,
		"a writer that has become a reader, and was released": orphanBecameReader + `
			b unlocks                        -> release read 1
			answer 0                         -> b ok: granted
			after 3s                         -> (2.23s) release write 1
			answer not-mine
			idle                             -> true`,
		"a reader and a writer of one number that are forced": `
			force u:5:write 5                -> release write 5 u:5:write
			force u:5 5
			answer 0                         -> force ok: granted; release read 5 u:5
			answer 0                         -> force ok: granted
			idle                             -> true`,
		"force frees a writer's own reads as a reader's": `
			a locks write owner 7            -> acquire write 1 1s
			answer 1                         -> a: granted until 990ms
			force u:1 1                      -> release read 1 u:1
			answer not-mine                  -> force ok: lost
			force u:1:write 1                -> a ends: lost; release write 1
			answer 0                         -> force ok: granted`,
	})
}

// invariant: handoff-keeps-lease
func TestRWLeaseScenes(t *testing.T) {
	playScenes(t, RWKind, map[string]string{
		"readers with fixed leases are asked for with the longest, also behind one that is watched": `
			a locks lease 300ms              -> acquire read 1 300ms
			b locks lease 300ms
			c locks watch 200ms
			d locks lease 500ms
			answer held 5s                   -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> acquire read 2 500ms n 1002
			answer 1                         -> a: granted until 295ms; b: granted until 295ms; c: granted until 495ms; d: granted until 495ms`,
		"a writer with a fixed lease is not let in under a watched tenure of the same lease": `
			a locks write                    -> acquire write 1 1s
			b locks write lease 1s
			a goes                           -> a: is not there
			answer 1                         -> release write 1
			answer 0                         -> acquire write 2 1s`,
	})
}
