package gate

import "testing"

// A and B read, each under a tenure of its own.
const laterReader = `
			a locks                          -> acquire read 1 1s
			answer 1                         -> a: granted until 990ms
			after 10ms
			b locks                          -> confirm read 1 1s
			answer 0                         -> b: granted until 1s`

// A writes, and B of the same Owner reads.
const writerReads = `
			a locks write owner 7            -> acquire write 1 1s
			answer 1                         -> a: granted until 990ms
			b locks owner 7                  -> b: granted until 990ms, re-entered`

// A writes for half a second.
const shortWriter = `
			a locks write owner 7 lease 500ms -> acquire write 1 500ms
			answer 1                         -> a: granted until 495ms`

func TestRWScenes(t *testing.T) {
	playScenes(t, RWKind, map[string]string{
		"readers share a tenure": `
			a locks                          -> acquire read 1 1s
			answer 1                         -> a: granted until 990ms
			b locks                          -> b: granted until 990ms, handed on
			c locks try                      -> c: granted until 990ms, handed on
			a unlocks                        -> a ok: granted
			b unlocks                        -> b ok: granted
			c unlocks                        -> release read 1
			answer 0                         -> c ok: granted
			idle                             -> true`,
		"readers join for as long as HandoffTime, from when the question left": `
			a locks                          -> acquire read 1 1s
			after 4ms
			answer 1                         -> a: granted until 990ms
			after 5ms
			b locks                          -> b: granted until 990ms, handed on
			after 1ms
			c locks                          -> confirm read 1 1s
			answer 0                         -> c: granted until 1s
			d locks                          -> d: granted until 1s, handed on
			after 10ms
			e locks                          -> confirm read 1 1s
			answer 0                         -> e: granted until 1.01s
			f locks                          -> f: granted until 1.01s, handed on`,
		"a reader beside readers lets writers of others come first, again and again": `
			a locks                          -> acquire read 1 1s
			answer 1                         -> a: granted until 990ms
			after 10ms
			b locks                          -> confirm read 1 1s
			answer 1                         -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> confirm read 1 1s
			answer 1
			after 140ms                      -> confirm read 1 1s
			answer 1                         -> b: granted until 1.14s
			after 30ms
			c locks                          -> confirm read 1 1s
			answer 1                         -> c: granted until 1.17s
			after 200ms
			d locks                          -> confirm read 1 1s
			answer 1
			after 140ms                      -> confirm read 1 1s`,
		"a try beside readers asks, and is told": `
			a locks                          -> acquire read 1 1s
			answer 1                         -> a: granted until 990ms
			after 10ms
			b locks try                      -> confirm read 1 1s
			answer 1                         -> b: taken for 990ms
			c locks try write                -> c: taken for 990ms
			d locks write
			e locks try                      -> e: taken for 990ms
			f locks`,
		"a writer's tenure is confirmed before it is handed on later, and not while others listen": `
			a locks write                    -> acquire write 1 1s
			answer 1                         -> a: granted until 990ms
			b locks write
			c locks write
			after 10ms
			a unlocks                        -> a ok: granted; confirm write 1 1s
			answer 0                         -> b: granted until 1s, handed on
			after 10ms
			b unlocks                        -> b ok: granted; confirm write 1 1s
			answer 1                         -> release write 1
			answer 1
			after 2ms                        -> acquire write 2 1s
			answer 1                         -> c: granted until 1.012s
			c unlocks                        -> release write 2
			answer 0                         -> c ok: granted`,
		"a downgrade whose answer was lost is sent again": writerReads + `
			a unlocks                        -> downgrade 1 1s
			lost
			after 20ms                       -> (17ms) downgrade 1 1s
			answer 0                         -> a ok: granted
			c locks                          -> c: granted until 1.007s, handed on
			b unlocks                        -> b ok: granted
			c unlocks                        -> release read 1
			answer 0                         -> c ok: granted`,
		"a downgrade of what is gone": writerReads + `
			a unlocks                        -> downgrade 1 1s
			answer not-mine                  -> b ends: lost; a ok: lost
			idle                             -> true`,
		"a downgrade that is refused is sent again": writerReads + `
			c locks try                      -> c: taken for 990ms
			a unlocks                        -> downgrade 1 1s
			answer fault 1
			after 20ms                       -> (17ms) downgrade 1 1s
			again LOADING
			c locks try                      -> c: taken for 970ms
			after 40ms                       -> (37ms) downgrade 1 1s`,
		"an Owner that reads asks again when its tenure is too old": `
			a locks owner 7                  -> acquire read 1 1s
			answer 1                         -> a: granted until 990ms
			after 10ms
			b locks owner 7                  -> b: granted until 990ms, re-entered
			c locks owner 7 lease 3s         -> confirm read 1 3s
			answer 0                         -> c: granted until 1s`,
		"a re-entry of a writer that needs more": shortWriter + `
			b locks write owner 7 lease 300ms -> b: granted until 295ms, re-entered
			after 100ms
			c locks write owner 7 lease 2s   -> renew write 1 2s
			d locks owner 7
			answer 1                         -> c: granted until 2.08s, re-entered; d: granted until 2.08s, re-entered
			oldest                           -> 0s
			a unlocks                        -> a ok: granted
			after 3s                         -> (195ms) b ends: lost; (333ms) renew write 1 1s; (1.98s) c ends: lost; d ends: lost`,
		"a re-entry that asks once is told what became of the renewal": shortWriter + `
			b locks write owner 7 lease 2s try -> renew write 1 2s
			c locks write owner 7 lease 2s
			answer fault 1                   -> b: refused (fault 1) for now
			after 20ms                       -> (17ms) renew write 1 2s
			lost
			d locks write owner 7 lease 2s try -> renew write 1 2s
			after 20ms
			answer not-mine                  -> a ends: lost; d: taken; acquire write 2 2s
			answer held 3s                   -> subscribe redisson_rwlock:{stock}:wheellock:u`,
		"a downgrade that too few replicas have": writerReads + `
			after 100ms
			a unlocks                        -> downgrade 1 1s
			alone 0                          -> a ok: granted
			b until                          -> 990ms
			c locks                          -> confirm read 1 1s
			after 20ms
			alone 1
			after 40ms                       -> (17ms) confirm read 1 1s
			answer 0                         -> c: granted until 1.127s
			b until                          -> 1.127s`,
		"a downgrade of what is gone needs no replicas": writerReads + `
			a unlocks                        -> downgrade 1 1s
			alone not-mine                   -> b ends: lost; a ok: lost
			idle                             -> true`,
		"a downgrade that nobody was told of": writerReads + `
			a drops                          -> downgrade 1 1s
			alone nobody-told
			after 20ms                       -> renew read 1 1s
			answer 1
			b unlocks                        -> release read 1
			answer nobody-told               -> b ok: granted
			idle                             -> true`,
		"force before the answer": `
			a locks                          -> acquire read 1 1s
			force u:1 1
			answer 1                         -> release read 1
			answer 0                         -> force ok: granted; acquire read 2 1s
			answer 1                         -> a: granted until 990ms
			b locks write
			force u:3 3                      -> release read 3 u:3
			a unlocks
			answer 0                         -> force ok: granted; release read 2
			answer 0                         -> a ok: granted; acquire write 3 1s
			answer 1                         -> b: granted until 990ms
			idle                             -> false`,
		"a writer's re-entry by force and loss": shortWriter + `
			b locks write owner 7 lease 2s   -> renew write 1 2s
			c locks owner 7
			force u:1:write 1                -> a ends: lost
			answer 1                         -> release write 1
			answer 0                         -> force ok: granted; acquire write 2 2s
			answer 1                         -> b: granted until 1.98s; renew write 2 2.002s
			answer 1                         -> c: granted until 1.982s, re-entered`,
		"pauses grow, and what is answered begins anew": `
			a locks                          -> acquire read 1 1s
			again LOADING
			after 20ms                       -> (17ms) acquire read 2 1s
			answer fault 1
			after 40ms                       -> (33ms) acquire read 3 1s
			answer late
			after 80ms                       -> (73ms) acquire read 4 1s
			alone 1                          -> release read 4
			answer 0
			after 160ms                      -> (126ms) acquire read 5 1s
			answer 1                         -> a: granted until 1.256s
			after 10ms
			b locks                          -> confirm read 5 1s
			again LOADING
			after 20ms                       -> (18ms) confirm read 5 1s
			answer 0                         -> b: granted until 1.318s
			after 10ms
			c locks                          -> confirm read 5 1s
			lost
			after 20ms                       -> (18ms) confirm read 5 1s
			alone 0
			after 40ms                       -> (32ms) renew read 5 1s
			answer fault 1                   -> confirm read 5 1s
			after 80ms
			answer 0                         -> c: granted until 1.39s`,
		"an unlock waits until the deadline": `
			a locks                          -> acquire read 1 1s
			answer 1                         -> a: granted until 990ms
			a unlocks                        -> release read 1
			not-sent
			after 990ms                      -> a ok: doubtful
			b locks try                      -> release read 1
			c locks
			after 3s
			answer 1                         -> acquire read 2 1s`,
		"an extension": `
			a locks lease 300ms write        -> acquire write 1 300ms
			answer 1                         -> a: granted until 295ms
			a extends 900ms                  -> renew write 1 900ms
			a extends 200ms                  -> a ok: granted until 295ms
			after 5ms
			answer 1                         -> a ok: granted until 891ms
			a until                          -> 891ms
			b locks lease 300ms
			a extends 3s                     -> renew write 1 3s
			a unlocks                        -> a ok: lost
			answer 1                         -> release write 1
			answer 0                         -> a ok: granted; acquire read 2 300ms
			answer 1                         -> b: granted until 300ms
			b extends 100ms                  -> b ok: granted until 300ms
			b extends 500ms                  -> renew read 2 500ms
			answer not-mine                  -> b ends: lost; b ok: lost
			b extends 1s                     -> b ok: lost
			idle                             -> true`,
		"a drained engine": shortWriter + `
			b locks write owner 7 lease 3s   -> renew write 1 3s
			c locks
			drain                            -> c: closed; b: closed
			answer 1
			a unlocks                        -> release write 1
			answer 0                         -> a ok: granted
			idle                             -> true`,
		"a closed engine": laterReader + `
			c locks write
			close                            -> c: closed; a ends: closed; b ends: closed; release read 1
			answer 0
			idle                             -> true`,
		"a closed engine whose question is on its way": `
			a locks                          -> acquire read 1 1s
			answer held 1s                   -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> acquire read 2 1s n 1002
			close                            -> a: closed
			answer 1                         -> release read 2
			answer 0
			idle                             -> true`,
		"nothing will be heard any more": `
			force java:1 0                   -> release read 0 java:1
			end                              -> force ok: closed`,
		"watched and fixed reads of a writer": `
			a locks write owner 7            -> acquire write 1 1s
			answer 1                         -> a: granted until 990ms
			b locks owner 7 lease 300ms      -> b: granted until 295ms, re-entered
			c locks owner 7 lease 3s         -> renew write 1 3s
			answer 1                         -> c: granted until 2.97s, re-entered
			a unlocks                        -> downgrade 1 3.002s
			answer 0                         -> a ok: granted
			b until                          -> 295ms
			c until                          -> 990ms
			after 300ms                      -> (295ms) b ends: lost
			c unlocks                        -> release read 1
			answer 0                         -> c ok: granted
			idle                             -> true`,
		"a caller that has gone when it is granted": `
			a locks owner 7                  -> acquire read 1 1s
			b locks write
			a leaves
			answer 1                         -> a: is not there; release read 1
			answer 0                         -> acquire write 2 1s
			b leaves
			answer 1                         -> b: is not there; release write 2
			answer 0
			c locks write owner 7            -> acquire write 3 1s
			answer 1                         -> c: granted until 990ms
			d locks owner 7                  -> d: granted until 990ms, re-entered
			c leaves
			idle                             -> false`,
		"a hold may last for so long": `
			max-hold 500ms
			a locks                          -> acquire read 1 1s
			answer 1                         -> a: granted until 500ms
			b locks write
			after 400ms                      -> (333ms) renew read 1 1s
			answer 1
			after 100ms                      -> a ends: too long; release read 1
			answer 0                         -> acquire write 2 1s`,
		"an owner that may still appear": `
			a locks                          -> acquire read 1 1s
			lost
			a goes                           -> a: is not there
			after 20ms                       -> (17ms) release read 1
			answer 0
			after 3s                         -> (2.23s) release read 1
			answer fault 1
			after 20ms                       -> (17ms) release read 1
			answer fault 1
			link-up                          -> release read 1
			answer not-mine
			idle                             -> true`,
		"handoffs are grants without a command": `
			a locks                          -> acquire read 1 1s
			b locks
			answer 1                         -> a: granted until 990ms; b: granted until 990ms
			handoffs                         -> 0
			c locks                          -> c: granted until 990ms, handed on
			handoffs                         -> 1
			d locks write
			e locks
			d goes                           -> d: is not there; e: granted until 990ms, handed on
			handoffs                         -> 2
			f locks owner 7                  -> f: granted until 990ms, handed on
			g locks owner 7                  -> g: granted until 990ms, re-entered
			handoffs                         -> 3`,
		"the key of readers stands for as long as a confirmation may have made it": laterReader + `
			after 10ms
			c locks                          -> confirm read 1 1s
			a unlocks                        -> a ok: granted
			b unlocks
			stall 1200ms
			answer 0                         -> b ok: doubtful; release read 1
			not-sent
			after 900ms
			c goes                           -> c: is not there
			after 3s                         -> (100ms) release read 1
			idle                             -> false`,
		"a try whose confirmation got no answer": laterReader + `
			after 10ms
			c locks try                      -> confirm read 1 1s
			a unlocks                        -> a ok: granted
			b unlocks
			lost                             -> release read 1
			answer 0                         -> b ok: granted; acquire read 2 1s
			idle                             -> false`,
		"what time has ended ends before a caller comes": `
			a locks write                    -> acquire write 1 1s
			answer 1                         -> a: granted until 990ms
			stall 2s
			b locks                          -> a ends: lost; acquire read 2 1s
			answer 1                         -> b: granted until 2.99s`,
		"what time has ended ends before an extension": `
			a locks lease 500ms write        -> acquire write 1 500ms
			answer 1                         -> a: granted until 495ms
			stall 2s
			a extends 5s                     -> a ends: lost; a ok: lost`,
		"an unlock of long ago": `
			a locks write                    -> acquire write 1 1s
			answer 1                         -> a: granted until 990ms
			a unlocks                        -> release write 1
			not-sent
			b locks
			stall 5s
			b goes                           -> b: is not there; a ok: doubtful
			idle                             -> true`,
		"an extension has an end of its own": `
			a locks owner 7 lease 300ms write -> acquire write 1 300ms
			answer 1                         -> a: granted until 295ms
			a extends 900ms                  -> renew write 1 900ms
			answer 1                         -> a ok: granted until 891ms
			b locks owner 7 lease 3s write   -> renew write 1 3s
			answer 1                         -> b: granted until 2.97s, re-entered
			a until                          -> 891ms
			after 900ms                      -> (891ms) a ends: lost
			b until                          -> 2.97s`,
		"readers who ask once": `
			a locks try                      -> acquire read 1 1s
			b locks try
			c locks try write
			answer 1                         -> a: granted until 990ms; c: taken for 990ms; b: granted until 990ms
			d locks try owner 7              -> d: granted until 990ms, handed on
			e locks try write owner 7        -> e: deadlock
			f locks try write                -> f: taken for 990ms`,
		"a re-entry that waits while its Owner's last write ends": shortWriter + `
			b locks owner 7                  -> renew write 1 1s
			answer 1                         -> b: granted until 990ms, re-entered
			c locks owner 7 lease 3s         -> renew write 1 3s
			a unlocks
			answer 1                         -> c: granted until 2.97s, re-entered; downgrade 1 1s
			answer 0                         -> a ok: granted
			c until                          -> 990ms`,
		"a question for another lease": `
			a locks write                    -> acquire write 1 1s
			b locks write lease 500ms
			lost
			a goes                           -> a: is not there
			after 20ms                       -> (17ms) acquire write 1 1s
			answer 1                         -> release write 1
			answer 0                         -> acquire write 2 500ms
			answer 1                         -> b: granted until 515ms`,
		"a writer who has gone is no holder": `
			a locks write                    -> acquire write 1 1s
			b locks write
			c locks write
			a leaves
			answer 1                         -> a: is not there; b: granted until 990ms
			handoffs                         -> 0
			c leaves
			d locks write
			b unlocks                        -> c: is not there; d: granted until 990ms, handed on; b ok: granted
			handoffs                         -> 1`,
		"a confirmation that came begins pauses anew": laterReader + `
			after 10ms
			c locks                          -> confirm read 1 1s
			again LOADING
			after 20ms                       -> (17ms) confirm read 1 1s
			answer 0                         -> c: granted until 1.027s
			after 10ms
			d locks                          -> confirm read 1 1s
			again LOADING
			after 20ms                       -> (17ms) confirm read 1 1s
			answer 0                         -> d: granted until 1.057s`,
		"a downgraded tenure is released as a reader until it is": writerReads + `
			a unlocks                        -> downgrade 1 1s
			lost
			b unlocks                        -> release write 1
			answer not-mine                  -> release read 1
			answer not-mine                  -> a ok: granted; b ok: granted
			idle                             -> true`,
		"messages are heeded at once again after a grant": `
			a locks                          -> acquire read 1 1s
			answer held 5s                   -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> acquire read 2 1s n 1002
			answer joins-first 5s            -> subscribe redisson_rwlock:{stock}
			subscribed                       -> acquire read 2 1s n 1002
			answer leads 5s
			message                          -> acquire read 2 1s n 1002
			answer leads 5s
			in-vain 7 leads 5s
			message                          -> acquire read 2 1s n 1002
			answer leads 5s
			message
			message
			message
			message
			after 1ms                        -> acquire read 2 1s n 1002
			answer 1                         -> a: granted until 991ms
			a unlocks                        -> release read 2
			answer 1                         -> a ok: granted
			b locks                          -> acquire read 3 1s n 1003
			answer leads 5s
			message                          -> acquire read 3 1s n 1003
			message
			answer leads 5s                  -> acquire read 3 1s n 1003`,
		"a fixed writer is watched for a re-entry": shortWriter + `
			b locks write owner 7            -> renew write 1 1s
			answer 1                         -> b: granted until 990ms, re-entered
			after 334ms                      -> (333ms) renew write 1 1s
			answer 1
			b until                          -> 1.323s`,
		"a confirmation of what is gone": `
			a locks write                    -> acquire write 1 1s
			b locks write
			answer 1                         -> a: granted until 990ms
			after 10ms
			a unlocks                        -> a ok: granted; confirm write 1 1s
			answer not-mine                  -> acquire write 2 1s
			answer 1                         -> b: granted until 1s
			b unlocks                        -> release write 2
			answer 0                         -> b ok: granted
			c locks                          -> acquire read 3 1s
			answer 1                         -> c: granted until 1s
			after 10ms
			d locks                          -> confirm read 3 1s
			answer 0                         -> d: granted until 1.01s
			after 10ms
			e locks                          -> confirm read 3 1s
			answer not-mine                  -> c ends: lost; d ends: lost; acquire read 4 1s
			answer 1                         -> e: granted until 1.02s`,
		"a watched reader is renewed although others have leases of their own": `
			a locks lease 1500ms             -> acquire read 1 1.5s
			b locks
			answer 1                         -> a: granted until 990ms; b: granted until 990ms
			after 334ms                      -> (333ms) renew read 1 1s
			answer 1
			a until                          -> 1.323s
			b until                          -> 1.323s
			after 334ms                      -> (333ms) renew read 1 1s
			answer 1
			after 334ms                      -> (332ms) renew read 1 1s
			answer 1
			after 600ms                      -> (331ms) renew read 1 1s; (483ms) a ends: lost
			b until                          -> 1.99s`,
		"a fixed writer that is watched is not handed on": shortWriter + `
			b locks write owner 7            -> renew write 1 1s
			answer 1                         -> b: granted until 990ms, re-entered
			c locks write
			a unlocks                        -> a ok: granted
			b unlocks                        -> release write 1`,
		"a downgrade with a shorter lease that too few replicas have": `
			b locks write owner 7 lease 100s -> acquire write 1 1m40s
			answer 1                         -> b: granted until 1m39s
			c locks owner 7                  -> renew write 1 1m40.011s
			answer 1                         -> c: granted until 1m39.011s, re-entered
			b unlocks                        -> downgrade 1 1s
			alone 0                          -> b ok: granted
			c until                          -> 990ms`,
		"an Owner that does not read yields to writers, one that does not": `
			a locks owner 8                  -> acquire read 1 1s
			answer 1                         -> a: granted until 990ms
			after 10ms
			b locks owner 7                  -> confirm read 1 1s
			answer 1                         -> subscribe redisson_rwlock:{stock}:wheellock:u
			c locks owner 8 lease 3s
			subscribed                       -> confirm read 1 3s`,
		"an Owner that reads comes before who waits": `
			a locks owner 7                  -> acquire read 1 1s
			answer 1                         -> a: granted until 990ms
			b locks write
			after 10ms
			c locks owner 7 lease 3s         -> confirm read 1 3s
			waiting                          -> 2
			answer 1                         -> c: granted until 1s
			waiting                          -> 1
			b goes                           -> b: is not there
			waiting                          -> 0`,
		"a reader with a lease of its own": `
			a locks lease 3s                 -> acquire read 1 3s
			answer 1                         -> a: granted until 990ms
			b locks lease 500ms              -> b: granted until 495ms, handed on
			c locks lease 5s                 -> confirm read 1 5s
			a until                          -> 990ms
			answer 0                         -> c: granted until 990ms
			c until                          -> 990ms
			after 333ms
			c extends 6s                     -> renew read 1 6s
			a extends 1s                     -> a ok: granted until 990ms
			answer 1                         -> c ok: granted until 1.323s
			c until                          -> 1.323s
			a until                          -> 1.323s`,
		"the lease of those who read with leases of their own is the longest": `
			a locks lease 100ms              -> acquire read 1 100ms
			b locks lease 300ms
			c locks lease 200ms
			d locks write
			e locks lease 5s
			answer 1                         -> a: granted until 95ms; confirm read 1 300ms
			after 1s                         -> (95ms) a ends: lost`,
		"a lock that changes hands fast among writers is confirmed ahead of time": `
			a locks write                    -> acquire write 1 1s
			callers 5 write
			answer 1                         -> a: granted until 990ms
			a unlocks                        -> caller0: granted until 990ms, handed on; a ok: granted
			caller0 unlocks                  -> caller1: granted until 990ms, handed on; caller0 ok: granted
			caller1 unlocks                  -> caller2: granted until 990ms, handed on; caller1 ok: granted
			caller2 unlocks                  -> caller3: granted until 990ms, handed on; caller2 ok: granted
			stall 6ms                        -> confirm write 1 1s
			answer 0
			stall 8ms
			caller3 unlocks                  -> caller4: granted until 996ms, handed on; caller3 ok: granted`,
	})
}
