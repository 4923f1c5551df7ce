package gate

import "testing"

// What a tenure of a read-write lock goes through until it is gone: re-entries, doubts, losses, and what may be left of it.
func TestRWTenureScenes(t *testing.T) {
	playScenes(t, RWKind, map[string]string{
		"a try hears how long those hold for whom readers stand back": readersOfTwoTurns + `
			after 20ms
			c locks try                      -> confirm read 1 1s
			answer 2                         -> c: taken for 990ms`,
		"writers leave the name to others after a while": `
			a locks write                    -> acquire write 1 1s
			b locks write
			c locks write
			answer 1                         -> a: granted until 990ms
			a unlocks                        -> b: granted until 990ms, handed on; a ok: granted
			after 334ms                      -> (333ms) renew write 1 1s
			answer 1
			after 334ms                      -> (333ms) renew write 1 1s
			answer 1
			after 150ms
			b unlocks                        -> b ok: granted; confirm write 1 1s
			answer 0                         -> c: granted until 1.808s, handed on
			a locks write
			after 20ms
			c unlocks                        -> release write 1`,
		"a try to read for longer does not wait for the end of a pause": `
			a locks owner 7                  -> acquire read 1 1s
			answer 1                         -> a: granted until 990ms
			after 20ms
			b locks                          -> confirm read 1 1s
			again LOADING
			c locks owner 7 lease 5s try     -> confirm read 1 5s`,
		"a writer that wants a longer lease, and whose Owner writes no more": writerReads + `
			c locks write owner 7 lease 3s   -> renew write 1 3s
			a unlocks
			answer 1                         -> c: deadlock; downgrade 1 1s`,
		"a tenure that had a longer lease is not handed on": `
			a locks write owner 7 lease 3s   -> acquire write 1 3s
			answer 1                         -> a: granted until 2.97s
			after 500ms
			b locks write owner 7            -> renew write 1 2.497s
			answer 1                         -> b: granted until 2.972s, re-entered
			a unlocks                        -> a ok: granted
			c locks write
			b unlocks                        -> release write 1`,
		"a suspicion while a command is on its way": `
			a locks                          -> acquire read 1 1s
			answer 1                         -> a: granted until 990ms
			after 334ms                      -> (333ms) renew read 1 1s
			suspect
			answer 1                         -> renew read 1 1s
			answer 1
			suspect                          -> renew read 1 1s
			answer not-mine                  -> a ends: lost
			idle                             -> true`,
		"a suspicion ends the pause before a downgrade": writerReads + `
			a unlocks                        -> downgrade 1 1s
			answer fault 1
			suspect                          -> downgrade 1 1s`,
		"who waits for a tenure that ran out asks at once": `
			a locks write                    -> acquire write 1 1s
			answer held 5s                   -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> acquire write in line 2 1s n 1002
			answer held 5s                   -> subscribe redisson_rwlock:{stock}
			message                          -> acquire write in line 3 1s n 1003
			answer 1                         -> a: granted until 990ms
			b locks write lease 500ms
			a unlocks                        -> release write 3
			lost
			stall 1100ms
			after 1ms                        -> (0s) a ok: doubtful; acquire write in line 4 500ms n 1004`,
		"who waits for a tenure that is gone asks at once": `
			a locks write                    -> acquire write 1 1s
			answer held 5s                   -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> acquire write in line 2 1s n 1002
			answer joins-first 5s            -> subscribe redisson_rwlock:{stock}
			subscribed                       -> acquire write in line 2 1s n 1002
			answer leads 5s
			message                          -> acquire write in line 2 1s n 1002
			answer 1                         -> a: granted until 990ms
			b locks write lease 500ms
			suspect                          -> renew write 2 1s
			answer not-mine                  -> a ends: lost; release write from line 2 n 1002
			answer not-mine                  -> acquire write in line 3 500ms n 1003`,
		"a downgrade whose answer was lost, and that did not run": writerReads + `
			a unlocks                        -> downgrade 1 1s
			lost
			b unlocks                        -> release write 1
			answer 0                         -> a ok: granted; b ok: granted
			idle                             -> true`,
		"a reader after a downgrade that is gone": writerReads + `
			a unlocks                        -> downgrade 1 1s
			answer 0                         -> a ok: granted
			b unlocks                        -> release read 1
			answer not-mine                  -> b ok: lost
			idle                             -> true`,
		"a re-entry that gives up is granted nothing": `
			a locks write owner 7            -> acquire write 1 1s
			answer 1                         -> a: granted until 990ms
			b locks write owner 7 lease 3s   -> renew write 1 3s
			a waits-no-longer
			b goes                           -> b: is not there
			answer 1
			a unlocks                        -> release write 1`,
		"nothing is sent beside a downgrade": writerReads + `
			suspect                          -> renew write 1 1s
			force java:1 0
			a unlocks
			answer 1                         -> downgrade 1 1s
			answer 0                         -> a ok: granted; release read 0 java:1`,
		"a link that comes up begins pauses anew, and questions": `
			a locks                          -> acquire read 1 1s
			again LOADING
			link-up                          -> acquire read 2 1s
			again LOADING
			after 20ms                       -> (17ms) acquire read 3 1s
			link-up
			answer held 5s                   -> acquire read 4 1s; subscribe redisson_rwlock:{stock}:wheellock:u`,
	})
}
