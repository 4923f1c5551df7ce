package gate

import "testing"

// A waits in the queue of a fair lock, and listens.
const fairWaiting = `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:u:1`

// A has a fair lock, and B stands in its queue.
const fairHeld = `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			b locks
			answer 1                         -> a: granted until 990ms; fair ask 0 OLD next 2 n 1
			answer held 1s`

func TestFairScenes(t *testing.T) {
	playScenes(t, FairKind, map[string]string{
		"a place in the queue, the turn, and the end": fairWaiting + `
			subscribed                       -> fair ask 1 OLD 1s
			answer held 5s
			after 200ms                      -> (173ms) fair ask 1 OLD 1s
			answer held 5s
			message                          -> fair ask 1 OLD 1s
			answer 1                         -> a: granted until 1.19s; unsubscribe redisson_lock__channel:{stock}:u:1
			a unlocks                        -> fair release 1
			answer 0                         -> a ok: granted
			idle                             -> true`,
		"a release that did not": fairHeld + `
			a unlocks                        -> fair release 1 1s next 2
			answer 2                         -> a ok: granted; subscribe redisson_lock__channel:{stock}:u:2
			subscribed                       -> fair ask 2 OLD 1s
			answer held 1s
			after 200ms                      -> (167ms) fair ask 2 OLD 1s
			answer held 1s
			message                          -> fair ask 2 OLD 1s
			answer 1                         -> b: granted until 1.19s; unsubscribe redisson_lock__channel:{stock}:u:2
			b unlocks                        -> fair release 2
			answer 0                         -> b ok: granted
			idle                             -> true`,
		"a try stands nowhere": `
			a locks try                      -> fair ask 1 TRY 1s
			answer held 5s                   -> a: taken for 5s
			b locks try                      -> fair ask 2 TRY 1s
			c locks
			answer held 5s                   -> b: taken for 5s; fair ask 3 NEW 1s next 3 n 1
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:u:3
			d locks try                      -> d: taken for 5s
			e locks try                      -> e: taken for 5s
			c goes                           -> c: is not there; fair leave 3 n 1; unsubscribe redisson_lock__channel:{stock}:u:3
			answer 0
			idle                             -> true`,
		"a place of who has gone is given up": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			b locks
			c locks
			d locks
			answer held 5s                   -> fair ask 1 OLD 1s next 2 n 3; subscribe redisson_lock__channel:{stock}:u:1
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:u:2; subscribe redisson_lock__channel:{stock}:u:3; subscribe redisson_lock__channel:{stock}:u:4
			subscribed                       -> fair ask 1 OLD 1s
			subscribed
			answer held 5s
			b goes                           -> b: is not there; fair leave 2 n 1; unsubscribe redisson_lock__channel:{stock}:u:2
			c goes                           -> c: is not there; unsubscribe redisson_lock__channel:{stock}:u:3
			answer 0                         -> fair leave 3 n 1
			a goes                           -> a: is not there; unsubscribe redisson_lock__channel:{stock}:u:1
			answer 0                         -> fair leave 1 n 1
			d times-out                      -> d: timed out, last taken for 5s; unsubscribe redisson_lock__channel:{stock}:u:4
			answer 0                         -> fair leave 4 n 1
			idle                             -> false`,
		"giving up places again and again does not keep others from their turn": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			b locks
			c locks
			d locks
			answer held 5s                   -> fair ask 1 OLD 1s next 2 n 3; subscribe redisson_lock__channel:{stock}:u:1
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:u:2; subscribe redisson_lock__channel:{stock}:u:3; subscribe redisson_lock__channel:{stock}:u:4
			b goes                           -> b: is not there; fair leave 2 n 1; unsubscribe redisson_lock__channel:{stock}:u:2
			subscribed
			d goes                           -> d: is not there; unsubscribe redisson_lock__channel:{stock}:u:4
			answer 0                         -> fair ask 1 OLD 1s
			answer held 5s                   -> fair leave 4 n 1
			answer 0`,
		"a place that was not given up": fairWaiting + `
			a goes                           -> a: is not there; fair leave 1 n 1; unsubscribe redisson_lock__channel:{stock}:u:1
			lost
			after 20ms                       -> (17ms) fair leave 1 n 1
			not-sent
			after 1s                         -> fair leave 1 n 1
			answer fault 1
			after 20ms
			link-up                          -> fair leave 1 n 1
			again LOADING
			after 40ms                       -> (17ms) fair leave 1 n 1
			answer fault 5
			after 1s                         -> fair leave 1 n 1
			answer 0
			after 5s
			idle                             -> true`,
		"a place that is never given up": fairWaiting + `
			a goes                           -> a: is not there; fair leave 1 n 1; unsubscribe redisson_lock__channel:{stock}:u:1
			denied NOPERM
			after 290s                       -> (1s) fair leave 1 n 1
			denied NOPERM
			after 11s                        -> (1s) fair leave 1 n 1
			denied NOPERM
			after 2s
			idle                             -> true`,
		"a try whose answer was lost": `
			a locks try                      -> fair ask 1 TRY 1s
			lost                             -> a: doubtful; fair leave 1 n 1
			after 20ms
			answer 0
			after 3s                         -> (2.23s) fair leave 1 n 1
			answer 0
			idle                             -> true`,
		"a question that came too late": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer late                      -> fair ask 1 NEW 1s next 1 n 1
			answer late
			after 40ms                       -> (37ms) fair ask 1 NEW 1s next 1 n 1
			answer fault 1
			after 80ms                       -> (73ms) fair ask 1 NEW 1s next 1 n 1
			not-sent
			link-up                          -> fair ask 1 NEW 1s next 1 n 1
			a times-out                      -> a: timed out, last down`,
		"a question that is refused": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			b locks
			denied NOPERM                    -> a: refused "NOPERM"; b: refused "NOPERM"; fair leave 1 n 1
			c locks
			answer fault 6                   -> fair ask 2 NEW 1s next 2 n 1
			idle                             -> false`,
		"staying in the queue is refused": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer 1                         -> a: granted until 990ms
			b locks                          -> fair ask 0 OLD next 2 n 1
			answer fault 1
			after 20ms                       -> (18ms) fair ask 0 OLD next 2 n 1
			lost
			after 40ms                       -> (37ms) fair ask 0 OLD next 2 n 1
			answer held 1s
			after 200ms                      -> (197ms) fair ask 0 OLD
			answer late                      -> fair ask 0 OLD
			answer held 1s
			a unlocks                        -> fair release 1 1s next 2
			answer passed                    -> a ok: granted; b: granted until 1.25s
			b drops                          -> fair release 2
			answer 0
			after 3s                         -> (2.008s) fair leave 2 n 1
			answer 0                         -> fair release 2
			answer 0
			idle                             -> true`,
		"a grant for who is not the first any more": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			b locks
			answer held 1s                   -> fair ask 1 OLD 1s next 2 n 1; subscribe redisson_lock__channel:{stock}:u:1
			message
			a goes                           -> a: is not there; unsubscribe redisson_lock__channel:{stock}:u:1
			answer 1                         -> fair release 1 1s next 2
			answer 0                         -> fair leave 1 n 1; subscribe redisson_lock__channel:{stock}:u:2
			answer 0`,
		"a passed lock for who has gone": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			b locks
			c locks
			answer 1                         -> a: granted until 990ms; fair ask 0 OLD next 2 n 2
			answer held 1s
			a unlocks                        -> fair release 1 1s next 2
			b goes                           -> b: is not there
			answer passed                    -> a ok: granted; fair release 2 1s next 3
			answer passed                    -> c: granted until 990ms; fair leave 2 n 1
			answer 0
			c unlocks                        -> fair release 3
			answer 0                         -> c ok: granted
			idle                             -> true`,
		"a release whose answer was lost": fairHeld + `
			a unlocks                        -> fair release 1 1s next 2
			lost
			after 20ms                       -> (17ms) fair release 1 1s next 2
			answer not-mine                  -> a ok: granted; fair ask 2 OLD 1s
			answer 1                         -> b: granted until 1.01s
			b unlocks                        -> fair release 2
			answer 0                         -> b ok: granted
			after 3s                         -> (2.23s) fair leave 2 n 1
			answer 0                         -> fair release 2
			answer 0
			idle                             -> true`,
		"a grant that comes too late": `
			a locks lease 20ms               -> fair ask 1 NEW 20ms next 1 n 1
			b locks
			after 20ms
			answer 1                         -> fair release 1
			answer 0                         -> fair leave 1 n 1
			after 20ms
			answer 1                         -> fair ask 2 NEW 20ms next 2 n 2
			answer 0                         -> subscribe redisson_lock__channel:{stock}:u:2; subscribe redisson_lock__channel:{stock}:u:3
			idle                             -> false`,
		"a grant that too few replicas have": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			b locks
			alone 1                          -> fair release 1
			answer 0                         -> fair leave 1 n 1
			after 20ms
			answer 0                         -> fair ask 2 NEW 1s next 2 n 2
			answer 1                         -> a: granted until 1.01s
			a unlocks                        -> fair release 2 1s next 3
			alone passed                     -> a ok: granted; fair release 3
			answer 0                         -> fair leave 3 n 1
			after 40ms
			answer 0                         -> fair ask 4 NEW 1s next 4 n 1
			answer 1                         -> b: granted until 1.05s`,
		"who has lost its place joins at once beside who has taken the place of another owner": fairWaiting + `
			b locks                          -> fair ask 1 OLD 1s next 2 n 1
			alone 1                          -> fair release 1; unsubscribe redisson_lock__channel:{stock}:u:1
			answer 1                         -> fair leave 1 n 2
			answer 0
			c locks adopts u:9               -> adopt 3 u:9 1s
			after 50ms
			answer 1                         -> c: granted until 990ms; fair ask 0 OLD next 4 n 2`,
		"force": fairHeld + `
			force u:1 1                      -> a ends: lost; fair release 1 1s next 2
			answer 0                         -> force ok: granted; subscribe redisson_lock__channel:{stock}:u:2
			force java:1 0                   -> fair release 0 java:1
			answer 0                         -> force ok: granted; fair ask 2 OLD 1s
			answer 1                         -> b: granted until 990ms; unsubscribe redisson_lock__channel:{stock}:u:2
			force u:2 2                      -> b ends: lost; fair release 2
			b unlocks                        -> b ok: lost
			answer 0                         -> force ok: granted
			idle                             -> true`,
		"force of who has the lock, while the question that took it is on its way": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			force u:1 1
			lost                             -> fair leave 1 n 1
			answer 0                         -> fair release 1 u:1
			answer 0                         -> force ok: granted; fair ask 2 NEW 1s next 2 n 1`,
		"force of who stands in the queue": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer held 1s                   -> subscribe redisson_lock__channel:{stock}:u:1
			force u:1 1                      -> fair leave 1 n 1; unsubscribe redisson_lock__channel:{stock}:u:1
			answer 0                         -> fair release 1 u:1
			answer 0                         -> force ok: granted; fair ask 2 NEW 1s next 2 n 1
			answer held 1s                   -> subscribe redisson_lock__channel:{stock}:u:2
			a times-out                      -> a: timed out, last taken for 1s; fair leave 2 n 1; unsubscribe redisson_lock__channel:{stock}:u:2
			answer 0
			idle                             -> true`,
		"re-entries": `
			a locks owner 7                  -> fair ask 1 NEW 1s next 1 n 1
			b locks
			c locks owner 7
			answer 1                         -> a: granted until 990ms; c: granted until 990ms, re-entered; fair ask 0 OLD next 2 n 1
			answer held 1s
			d locks owner 7 lease 3s         -> renew 1 3s
			answer 1                         -> d: granted until 2.97s, re-entered
			a unlocks                        -> a ok: granted
			c unlocks                        -> c ok: granted
			d unlocks                        -> fair release 1 1s next 2
			answer passed                    -> d ok: granted; b: granted until 990ms`,
		"a subscription that is refused": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer held 1900ms               -> subscribe redisson_lock__channel:{stock}:u:1
			subscribed NOPERM
			after 200ms                      -> (173ms) fair ask 1 OLD 1s
			answer 1                         -> a: granted until 1.163s; unsubscribe redisson_lock__channel:{stock}:u:1
			a unlocks                        -> fair release 1
			answer 0                         -> a ok: granted
			idle                             -> true`,
		"a subscription that is refused later": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer held 1900ms               -> subscribe redisson_lock__channel:{stock}:u:1
			subscribed                       -> fair ask 1 OLD 1s
			answer held 1900ms
			subscribed
			after 1ms
			subscribed                       -> fair ask 1 OLD 1s
			answer held 1900ms
			b locks                          -> fair ask 1 OLD 1s next 2 n 1
			answer held 1900ms               -> subscribe redisson_lock__channel:{stock}:u:2
			subscribed NOPERM
			c locks                          -> fair ask 1 OLD 1s next 3 n 1
			a goes                           -> a: is not there; unsubscribe redisson_lock__channel:{stock}:u:1
			answer 0                         -> fair leave 1 n 1
			answer held 1900ms`,
		"only the first eight listen": `
			a1 locks                         -> fair ask 1 NEW 1s next 1 n 1
			a2 locks
			a3 locks
			a4 locks
			a5 locks
			a6 locks
			a7 locks
			a8 locks
			a9 locks
			b1 locks
			answer held 1900ms               -> fair ask 1 OLD 1s next 2 n 9; subscribe redisson_lock__channel:{stock}:u:1
			answer held 1900ms               -> subscribe redisson_lock__channel:{stock}:u:2; subscribe redisson_lock__channel:{stock}:u:3; subscribe redisson_lock__channel:{stock}:u:4; subscribe redisson_lock__channel:{stock}:u:5; subscribe redisson_lock__channel:{stock}:u:6; subscribe redisson_lock__channel:{stock}:u:7; subscribe redisson_lock__channel:{stock}:u:8
			message                          -> fair ask 1 OLD 1s
			answer 1                         -> a1: granted until 990ms; unsubscribe redisson_lock__channel:{stock}:u:1
			a1 unlocks                       -> fair release 1 1s next 2
			answer passed                    -> a1 ok: granted; a2: granted until 990ms; unsubscribe redisson_lock__channel:{stock}:u:2
			a2 unlocks                       -> fair release 2 1s next 3
			answer passed                    -> a2 ok: granted; a3: granted until 990ms; unsubscribe redisson_lock__channel:{stock}:u:3
			a3 unlocks                       -> fair release 3 1s next 4
			answer 0                         -> a3 ok: granted
			message                          -> fair ask 4 OLD 1s
			answer 1                         -> a4: granted until 990ms; unsubscribe redisson_lock__channel:{stock}:u:4
			a4 unlocks                       -> fair release 4 1s next 5
			answer 0                         -> a4 ok: granted; subscribe redisson_lock__channel:{stock}:u:9; subscribe redisson_lock__channel:{stock}:u:10
			a5 goes                          -> a5: is not there; fair leave 5 n 1; unsubscribe redisson_lock__channel:{stock}:u:5
			answer 0`,
		"a broken link": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			b locks
			answer held 1900ms               -> fair ask 1 OLD 1s next 2 n 1; subscribe redisson_lock__channel:{stock}:u:1
			not-sent
			message                          -> fair ask 1 OLD 1s next 2 n 1
			link-up
			answer 1                         -> a: granted until 990ms; unsubscribe redisson_lock__channel:{stock}:u:1
			after 10ms
			link-up                          -> renew 1 1s
			answer 1
			a unlocks                        -> fair release 1 1s next 2`,
		"pauses of leaving begin anew": fairWaiting + `
			a goes                           -> a: is not there; fair leave 1 n 1; unsubscribe redisson_lock__channel:{stock}:u:1
			answer fault 1
			after 20ms                       -> (17ms) fair leave 1 n 1
			answer fault 1
			after 40ms                       -> (37ms) fair leave 1 n 1
			answer 0
			b locks                          -> fair ask 2 NEW 1s next 2 n 1
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:u:2
			b goes                           -> b: is not there; fair leave 2 n 1; unsubscribe redisson_lock__channel:{stock}:u:2
			answer fault 1
			after 20ms                       -> (17ms) fair leave 2 n 1`,
		"a re-entry whose tenure is gone joins the queue anew": `
			a locks owner 7 lease 300ms      -> fair ask 1 NEW 300ms next 1 n 1
			b locks owner 7 lease 3s
			c locks
			answer held 5s                   -> fair ask 1 OLD 300ms next 2 n 2; subscribe redisson_lock__channel:{stock}:u:1
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:u:2; subscribe redisson_lock__channel:{stock}:u:3
			message                          -> fair ask 1 OLD 300ms
			answer 1                         -> a: granted until 295ms; renew 1 3s; unsubscribe redisson_lock__channel:{stock}:u:1; unsubscribe redisson_lock__channel:{stock}:u:2
			answer not-mine                  -> a ends: lost; fair leave 2 n 1
			answer held 1s                   -> fair ask 3 OLD 1s next 4 n 1`,
		"a place that is given up later": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			b locks
			answer held 5s                   -> fair ask 1 OLD 1s next 2 n 1; subscribe redisson_lock__channel:{stock}:u:1
			lost
			a goes                           -> a: is not there; fair leave 1 n 1; unsubscribe redisson_lock__channel:{stock}:u:1
			b goes                           -> b: is not there
			answer 0                         -> fair leave 2 n 1
			answer 0
			after 3s                         -> (2.25s) fair leave 1 n 1
			answer 0                         -> fair leave 2 n 1
			answer 0
			idle                             -> true`,
		"what time has ended ends before a turn": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer 1                         -> a: granted until 990ms
			b locks                          -> fair ask 0 OLD next 2 n 1
			answer held 1s
			stall 2s
			message                          -> a ends: lost; fair ask 2 OLD 1s
			answer 0                         -> subscribe redisson_lock__channel:{stock}:u:2`,
		"a place is not forgotten while Redis cannot be reached": fairWaiting + `
			a goes                           -> a: is not there; fair leave 1 n 1; unsubscribe redisson_lock__channel:{stock}:u:1
			not-sent
			after 301s                       -> (1s) fair leave 1 n 1
			not-sent
			after 2s                         -> (1s) fair leave 1 n 1
			lost
			after 301s                       -> (17ms) fair leave 1 n 1
			answer fault 1
			after 20ms
			idle                             -> false`,
		"a machine is woken when something is due, and not earlier": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			alarm                            -> none
			answer 1                         -> a: granted until 990ms
			alarm                            -> 333ms
			b locks                          -> fair ask 0 OLD next 2 n 1
			lost
			alarm                            -> 18ms
			after 20ms                       -> (18ms) fair ask 0 OLD next 2 n 1
			answer held 1s
			alarm                            -> 198ms
			after 200ms                      -> (198ms) fair ask 0 OLD
			answer held 1s
			alarm                            -> 113ms
			b goes                           -> b: is not there; fair leave 2 n 1
			lost
			alarm                            -> 17ms
			after 20ms                       -> (17ms) fair leave 2 n 1
			answer 0
			alarm                            -> 93ms
			a unlocks                        -> fair release 1
			answer 0                         -> a ok: granted
			alarm                            -> 2.01s
			after 3s                         -> (2.01s) fair leave 2 n 1
			answer 0
			alarm                            -> none`,
		"128 join at once": `
			callers 131                      -> fair ask 1 NEW 1s next 1 n 1
			answer held 5s                   -> fair ask 1 OLD 1s next 2 n 128; subscribe redisson_lock__channel:{stock}:u:1
			answer held 5s                   -> fair ask 1 OLD 1s next 130 n 2; subscribe redisson_lock__channel:{stock}:u:2; subscribe redisson_lock__channel:{stock}:u:3; subscribe redisson_lock__channel:{stock}:u:4; subscribe redisson_lock__channel:{stock}:u:5; subscribe redisson_lock__channel:{stock}:u:6; subscribe redisson_lock__channel:{stock}:u:7; subscribe redisson_lock__channel:{stock}:u:8
			waiting                          -> 131`,
		"a closed engine": fairHeld + `
			close                            -> b: closed; a ends: closed; fair release 1
			answer 0                         -> fair leave 2 n 1
			answer 0
			idle                             -> true`,
		"a drained engine": fairHeld + `
			drain                            -> b: closed; fair leave 2 n 1
			answer 0
			a unlocks                        -> fair release 1
			answer 0                         -> a ok: granted
			idle                             -> true`,
	})
}

// B stands in the queue of a fair lock, listens and has a claim.
const fairClaimed = `
			codes
			b locks                          -> fair ask 1 NEW 3s next 1 n 1
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:u:1
			subscribed                       -> fair ask 1 OLD 1001 3s
			answer stands 2s                -> `

// invariant: gift-counts-from-its-acquire, fair-queue-order
func TestFairClaimScenes(t *testing.T) {
	playScenes(t, FairKind, map[string]string{
		"a lock that is given counts from the question, and is renewed soon": fairClaimed + `
			given 1                          -> b: granted until 2.97s; unsubscribe redisson_lock__channel:{stock}:u:1
			after 50ms                       -> renew 1 3s
			answer 1
			b unlocks                        -> fair release 1
			answer 0                         -> b ok: granted
			idle                             -> true`,
		"a code of an earlier question is a hint": fairClaimed + `
			message                          -> fair ask 1 OLD 1002 3s
			answer stands 2s
			given 1                          -> fair ask 1 OLD 1003 3s
			answer 1                         -> b: granted until 2.97s; unsubscribe redisson_lock__channel:{stock}:u:1`,
		"a code that comes too late is a hint": fairClaimed + `
			stall 2.97s
			given 1                          -> fair ask 1 OLD 1002 3s
			answer 1                         -> b: granted until 5.94s; unsubscribe redisson_lock__channel:{stock}:u:1`,
		"a code that comes while a question is on its way": fairClaimed + `
			message                          -> fair ask 1 OLD 1002 3s
			given 1
			answer stands 2s                -> fair ask 1 OLD 1003 3s
			answer 1                         -> b: granted until 2.97s; unsubscribe redisson_lock__channel:{stock}:u:1`,
		"a refusal by which no claim stands counts for nothing": fairClaimed + `
			stall 100ms
			message                          -> fair ask 1 OLD 1002 3s
			answer held 1s
			given 1                          -> b: granted until 2.97s; unsubscribe redisson_lock__channel:{stock}:u:1`,
		"a lost answer does not end a claim": fairClaimed + `
			message                          -> fair ask 1 OLD 1002 3s
			lost
			link-up                          -> fair ask 1 OLD 1003 3s
			answer stands 2s
			given 3                          -> b: granted until 2.97s; unsubscribe redisson_lock__channel:{stock}:u:1
			b unlocks                        -> fair release 1
			answer 0                         -> b ok: granted
			after 10s                        -> (2.25s) fair leave 1 n 1`,
		"a question without an answer may take the lock again after it was given": fairClaimed + `
			message                          -> fair ask 1 OLD 1002 3s
			lost
			link-up                          -> fair ask 1 OLD 1003 3s
			answer stands 2s
			given 3                          -> b: granted until 2.97s; unsubscribe redisson_lock__channel:{stock}:u:1
			b unlocks                        -> fair release 1
			stall 3s
			not-sent                         -> b ok: doubtful
			after 2s                         -> (1s) fair release 1`,
		"who gives up leaves the queue, and the lock that he is given meanwhile": fairClaimed + `
			b waits-no-longer                -> b: gave up, last taken for 2s; fair leave 1 n 1; unsubscribe redisson_lock__channel:{stock}:u:1
			given 1
			answer 0
			idle                             -> true`,
		"a claim is that of one place": fairClaimed + `
			c locks                          -> fair ask 1 OLD 1002 3s next 2 n 1
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:u:2
			b waits-no-longer                -> b: gave up, last taken for 2s; fair leave 1 n 1; unsubscribe redisson_lock__channel:{stock}:u:1
			answer 0
			given 1                          -> fair ask 2 OLD 1003 3s
			answer stands 2s
			given 3                          -> c: granted until 2.97s; unsubscribe redisson_lock__channel:{stock}:u:2`,
		"who asks once, who has a fixed lease, a least time or a short one has no claim": `
			codes
			b locks lease 10s                -> fair ask 1 NEW 10s next 1 n 1
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:u:1
			subscribed                       -> fair ask 1 OLD 10s
			answer held 2s
			b waits-no-longer                -> b: gave up, last taken for 2s; fair leave 1 n 1; unsubscribe redisson_lock__channel:{stock}:u:1
			answer 0
			stall 1ms
			c locks least 1s                 -> fair ask 2 NEW 3s next 2 n 1
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:u:2
			subscribed                       -> fair ask 2 OLD 3s
			answer held 2s
			c waits-no-longer                -> c: gave up, last taken for 2s; fair leave 2 n 1; unsubscribe redisson_lock__channel:{stock}:u:2
			answer 0
			stall 1ms
			d locks watch 1999ms             -> fair ask 3 NEW 1.999s next 3 n 1
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:u:3
			subscribed                       -> fair ask 3 OLD 1.999s
			answer held 2s`,
		"a lock that is given to a place that was forced off": fairClaimed + `
			force u:1 1                      -> fair leave 1 n 1; unsubscribe redisson_lock__channel:{stock}:u:1
			given 1
			answer 0                         -> fair release 1 u:1
			answer 1                         -> force ok: granted; fair ask 2 NEW 3s next 2 n 1`,
		"a release that gave the lock to a claim has its next waiter sleep": fairClaimed + `
			given 1                          -> b: granted until 2.97s; unsubscribe redisson_lock__channel:{stock}:u:1
			c locks                          -> fair ask 0 OLD next 2 n 1
			answer held 2s
			b unlocks                        -> fair release 1 3s next 2
			answer given 1                   -> b ok: granted; subscribe redisson_lock__channel:{stock}:u:2
			stall 1ms
			subscribed                       -> fair ask 2 OLD 1002 3s
			answer stands 2s
			given 2                          -> c: granted until 2.971s; unsubscribe redisson_lock__channel:{stock}:u:2`,
		"the next waiter of the process goes before": fairClaimed + `
			c locks                          -> fair ask 1 OLD 1002 3s next 2 n 1
			answer stands 2s                -> subscribe redisson_lock__channel:{stock}:u:2
			given 2                          -> b: granted until 2.97s; unsubscribe redisson_lock__channel:{stock}:u:1
			b unlocks                        -> fair release 1 3s next 2
			answer passed                    -> b ok: granted; c: granted until 2.97s; unsubscribe redisson_lock__channel:{stock}:u:2`,
	})
}
