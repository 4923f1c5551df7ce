package gate

import "testing"

// A and B read. B came when A had read for some time.
const readersOfTwoTurns = `
			a locks                          -> acquire read 1 1s
			answer 1                         -> a: granted until 990ms
			after 20ms
			b locks                          -> confirm read 1 1s
			answer 0                         -> b: granted until 1.01s`

// What several holds of one tenure are to each other.
// invariant: readers-share-one-tenure, hold-within-tenure
func TestRWTogetherScenes(t *testing.T) {
	playScenes(t, RWKind, map[string]string{
		"readers join by a confirmation for as long as they need": readersOfTwoTurns + `
			after 20ms
			c locks lease 300ms              -> confirm read 1 1s
			answer 0                         -> c: granted until 335ms
			after 20ms
			d locks lease 3s                 -> confirm read 1 3s`,
		"an extension counts from when it was asked for, whoever else's is on its way": `
			a locks lease 1s                 -> acquire read 1 1s
			answer 1                         -> a: granted until 990ms
			b locks lease 1s                 -> b: granted until 990ms, handed on
			a extends 3s                     -> renew read 1 3s
			after 500ms
			b extends 2s
			answer 1                         -> a ok: granted until 990ms; renew read 1 2.497s
			answer 1                         -> b ok: granted until 1.49s`,
		"readers come in with a downgrade": writerReads + `
			c locks
			a unlocks                        -> downgrade 1 1s
			answer 0                         -> a ok: granted; c: granted until 990ms, handed on
			c until                          -> 990ms`,
		"readers come in with a downgrade, also long after the writer did": writerReads + `
			c locks
			after 50ms
			a unlocks                        -> downgrade 1 1s
			answer 0                         -> a ok: granted; c: granted until 1.04s, handed on`,
		"an Owner with a hold that has run out is like any other": `
			a locks owner 7 lease 200ms      -> acquire read 1 200ms
			answer 1                         -> a: granted until 195ms
			b locks                          -> confirm read 1 1s
			answer 0                         -> b: granted until 990ms
			after 200ms                      -> (195ms) a ends: lost
			c locks write owner 7`,
		"an Owner that has given its hold back is like any other": `
			a locks write owner 7            -> acquire write 1 1s
			b locks write
			answer 1                         -> a: granted until 990ms
			a unlocks                        -> b: granted until 990ms, handed on; a ok: granted
			c locks owner 7
			b unlocks                        -> release write 1
			answer 1                         -> b ok: granted
			after 2ms                        -> acquire read 2 1s
			answer 1                         -> c: granted until 992ms
			d locks                          -> d: granted until 992ms, handed on
			c unlocks                        -> c ok: granted
			e locks write owner 7`,
		"a watched reader asks for its own lease": `
			a locks                          -> acquire read 1 1s
			b locks lease 5s`,
		"a re-entry that asked once hears how long others have the lock": `
			a locks write owner 7 lease 1s   -> acquire write 1 1s
			answer held 5s                   -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> acquire write in line 2 1s n 1002
			answer 1                         -> a: granted until 990ms
			b locks owner 7 lease 3s try     -> renew write 2 3s
			c locks write
			answer not-mine                  -> a ends: lost; b: taken for 5s; release write from line 2 n 1002
			answer not-mine                  -> acquire write in line 3 1s n 1003`,
		"a longer lease is not forgotten when a shorter one is renewed": `
			a locks write owner 7 lease 5s   -> acquire write 1 5s
			answer 1                         -> a: granted until 4.95s
			b locks owner 7                  -> renew write 1 5.002s
			answer 1                         -> b: granted until 4.952s, re-entered
			after 400ms                      -> (333ms) renew write 1 1s
			answer 1
			c locks owner 7 lease 3s         -> c: granted until 3.37s, re-entered`,
		"a caller that gives up before anything is heard": `
			a locks                          -> acquire read 1 1s
			a waits-no-longer                -> a: gave up, last down`,
	})
}
