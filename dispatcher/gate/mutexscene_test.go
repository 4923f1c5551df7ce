package gate

import "testing"

// A has the lock.
const mutexHeld = `
			a locks                          -> acquire 1 1s
			answer 1                         -> a: granted until 990ms`

// A waits for a lock that a client of Redisson has, stands in line, and listens.
const waitsForOthers = `
			a locks                          -> acquire 1 1s
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 1s n 1002
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire in line 3 1s n 1003
			answer held 5s`

// A waited beside other listeners, and has the lock.
const hasBesideOthers = `
			handoff-time 0s
			a locks                          -> acquire 1 1s
			answer held 1s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 1s n 1002
			answer held 1s                   -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire in line 3 1s n 1003
			answer held 1s
			message                          -> acquire in line 4 1s n 1004
			answer 1                         -> a: granted until 990ms`

// A releases it. B waits.
const leftToOthers = hasBesideOthers + `
			b locks
			a unlocks                        -> release 4`

func TestMutexScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"a lock is taken, renewed and freed": mutexHeld + `
			oldest                           -> 0s
			after 400ms                      -> (333ms) renew 1 1s
			answer 1
			a until                          -> 1.323s
			b locks
			after 300ms                      -> (267ms) renew 1 1s
			answer 1
			c locks try                      -> c: taken for 957ms
			a unlocks                        -> b: granted until 1.657s, handed on; a ok: granted
			b unlocks                        -> release 1
			answer 0                         -> b ok: granted
			idle                             -> true`,
		"a release that is answered by what only a fair one answers": mutexHeld + `
			a unlocks                        -> release 1
			answer 1125899906842624          -> a ok: granted
			idle                             -> true`,
		"a question whose answer was lost is asked again for who is first now": `
			a locks lease 300ms              -> acquire 1 300ms
			b locks lease 500ms
			c locks
			lost
			a goes                           -> a: is not there
			after 20ms                       -> (17ms) acquire 1 500ms
			answer 1                         -> b: granted until 512ms
			b unlocks                        -> release 1
			answer 0                         -> b ok: granted; acquire 2 1s`,
		"and for a shorter lease": `
			a locks                          -> acquire 1 1s
			b locks lease 500ms
			lost
			a goes                           -> a: is not there
			after 20ms                       -> (17ms) acquire 1 1s
			answer 1                         -> release 1
			answer 0                         -> acquire 2 500ms`,
		"pauses grow, and what is answered begins anew": `
			a locks                          -> acquire 1 1s
			again LOADING
			after 20ms                       -> (17ms) acquire 2 1s
			again LOADING
			after 40ms                       -> (33ms) acquire 3 1s
			again LOADING
			after 80ms                       -> (73ms) acquire 4 1s
			again LOADING
			after 160ms                      -> (126ms) acquire 5 1s
			again LOADING
			after 160ms                      -> (149ms) acquire 6 1s
			answer held 300ms                -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 7 1s n 1007
			again LOADING
			after 20ms                       -> (16ms) acquire in line 8 1s n 1008
			a times-out                      -> a: timed out, last refused for now "LOADING"`,
		"what a caller that gives up hears": `
			a locks                          -> acquire 1 1s
			again LOADING
			a times-out                      -> a: timed out, last refused for now "LOADING"
			b locks                          -> acquire 2 1s
			answer fault 1
			b times-out                      -> b: timed out, last refused (fault 1) for now
			c locks                          -> acquire 3 1s
			lost
			c waits-no-longer                -> c: gave up, last doubtful
			after 3s                         -> (73ms) release 3
			answer not-mine                  -> release 3
			d locks
			d times-out                      -> d: timed out, last doubtful
			e locks try
			e times-out                      -> e: doubtful "there was no answer within AnswerTimeout"
			f locks try
			f waits-no-longer                -> f: gave up, last down`,
		"questions that came too late": `
			a locks                          -> acquire 1 1s
			answer late                      -> acquire 2 1s
			answer late
			a times-out                      -> a: timed out, last too late "by the clock of Redis it came more than 2s after it was sent, and did nothing"
			after 40ms
			b locks try                      -> acquire 3 1s
			answer late                      -> b: too late "by the clock of Redis it came more than 2s after it was sent, and did nothing"`,
		"a question that is refused for good": `
			a locks                          -> acquire 1 1s
			b locks
			denied NOPERM                    -> a: refused "NOPERM"; b: refused "NOPERM"
			c locks                          -> acquire 2 1s
			answer fault 6                   -> c: refused (fault 6)
			d locks                          -> acquire 3 1s
			answer fault 5                   -> d: refused (fault 5)
			idle                             -> true`,
		"messages in vain are heeded less often": waitsForOthers + `
			message                          -> acquire in line 4 1s n 1004
			answer held 5s
			in-vain 7 held 5s
			message                          -> acquire in line 12 1s n 1012
			answer held 5s
			message
			after 1ms                        -> acquire in line 13 1s n 1013
			answer held 5s
			message
			after 1ms
			after 1ms                        -> acquire in line 14 1s n 1014
			message
			answer held 5s
			after 2ms
			after 2ms                        -> acquire in line 15 1s n 1015
			answer held 4s
			message                          -> acquire in line 16 1s n 1016
			answer held 4s`,
		"messages while it is held": mutexHeld + `
			message                          -> renew 1 1s
			answer 1
			after 5ms
			message 1 2                      -> renew 1 1s
			message
			answer 1                         -> renew 1 1s
			answer 1
			b locks
			message                          -> renew 1 1s
			a unlocks                        -> a ok: granted
			answer 1                         -> b: granted until 995ms, handed on`,
		"a tenure that was renewed in vain is tried again": mutexHeld + `
			after 334ms                      -> (333ms) renew 1 1s
			answer fault 1
			after 20ms                       -> renew 1 1s
			not-sent
			after 50ms
			after 50ms                       -> renew 1 1s
			lost
			after 40ms
			after 80ms                       -> (33ms) renew 1 1s
			answer 1
			a until                          -> 1.517s`,
		"an unlock whose answer was lost": mutexHeld + `
			a unlocks                        -> release 1
			lost
			b locks try                      -> release 1
			c locks
			after 20ms
			answer not-mine                  -> a ok: granted; acquire 2 1s
			answer 1                         -> b: granted until 1.01s`,
		"an unlock that was refused": mutexHeld + `
			a unlocks                        -> release 1
			answer fault 1
			b locks
			after 20ms                       -> (17ms) release 1
			denied NOPERM                    -> a ok: refused "NOPERM"
			b times-out                      -> b: timed out, last refused "NOPERM"
			link-up                          -> release 1
			answer 0`,
		"an unlock waits until the deadline": mutexHeld + `
			a unlocks                        -> release 1
			not-sent
			after 900ms
			after 100ms                      -> (90ms) a ok: doubtful; release 1
			b locks
			after 2s
			answer 1
			after 2ms                        -> acquire 2 1s`,
		"a fixed re-entry, then a watched one": `
			a locks owner 7 lease 300ms      -> acquire 1 300ms
			answer 1                         -> a: granted until 295ms
			b locks owner 7                  -> renew 1 1s
			answer 1                         -> b: granted until 990ms, re-entered
			a unlocks                        -> a ok: granted
			c locks owner 7 lease 200ms      -> c: granted until 195ms, re-entered
			b count                          -> 2
			after 1s                         -> (195ms) c ends: lost; (333ms) renew 1 1s; (990ms) b ends: lost
			answer 1                         -> release 1
			b unlocks                        -> b ok: lost
			c unlocks                        -> c ok: lost`,
		"an extension": `
			a locks lease 300ms              -> acquire 1 300ms
			answer 1                         -> a: granted until 295ms
			after 100ms
			a extends 100ms                  -> a ok: granted until 295ms
			a until                          -> 295ms
			a extends 900ms                  -> renew 1 900ms
			a extends 600ms
			after 5ms
			answer 1                         -> a ok: granted until 991ms; a ok: granted until 991ms
			a until                          -> 991ms
			a extends 3s                     -> renew 1 3s
			a unlocks                        -> a ok: lost
			answer 1                         -> release 1
			answer 0                         -> a ok: granted
			idle                             -> true`,
		"an extension of a hold that ended": `
			a locks lease 300ms              -> acquire 1 300ms
			answer 1                         -> a: granted until 295ms
			a extends 900ms                  -> renew 1 900ms
			after 300ms                      -> (295ms) a ends: lost; a ok: lost
			a extends 1s                     -> a ok: lost
			answer 1                         -> release 1
			answer 0
			idle                             -> true`,
		"an extension of what is gone": `
			a locks owner 7 lease 300ms      -> acquire 1 300ms
			answer 1                         -> a: granted until 295ms
			b locks owner 7 lease 900ms      -> renew 1 900ms
			a extends 900ms
			answer not-mine                  -> a ends: lost; a ok: lost; acquire 2 900ms
			answer 1                         -> b: granted until 891ms`,
		"force": `
			a locks                          -> acquire 1 1s
			force u:1 1
			answer 1                         -> release 1
			answer 0                         -> force ok: granted; acquire 2 1s
			answer 1                         -> a: granted until 990ms
			force u:2 2                      -> a ends: lost; release 2
			answer 0                         -> force ok: granted
			force java:1 0                   -> release 0 java:1
			answer 3                         -> force ok: granted
			force java:1 0                   -> release 0 java:1
			answer not-mine                  -> force ok: lost
			force java:1 0                   -> release 0 java:1
			lost                             -> force ok: doubtful
			force java:1 0                   -> release 0 java:1
			answer fault 1                   -> force ok: refused (fault 1) for now
			force java:1 0                   -> release 0 java:1
			not-sent                         -> force ok: down
			idle                             -> true`,
		"a drained engine answers those in the queue, those that wait for a renewal, and those that want to adopt": `
			a locks owner 7                  -> acquire 1 1s
			b locks
			answer 1                         -> a: granted until 990ms
			c locks owner 7 lease 3s         -> renew 1 3s
			d locks adopts u:1
			drain                            -> b: closed; c: closed; d: closed
			answer 1
			a extends 5s                     -> renew 1 5s
			close                            -> a ends: closed; a ok: closed
			answer 0                         -> release 1
			idle                             -> false`,
		"a hold may last for so long": `
			max-hold 500ms
			a locks                          -> acquire 1 1s
			answer 1                         -> a: granted until 500ms
			after 400ms                      -> (333ms) renew 1 1s
			answer 1
			after 200ms                      -> (100ms) a ends: too long; release 1
			answer 0
			idle                             -> true`,
		"a grant tells those who ask once": `
			a locks owner 7 try              -> acquire 1 1s
			b locks try
			c locks owner 7 try
			d locks owner 8 try
			answer 1                         -> a: granted until 990ms; c: granted until 990ms, re-entered; b: taken for 990ms; d: taken for 990ms`,
		"a handoff is confirmed ahead": mutexHeld + `
			b locks
			c locks
			d locks
			e locks
			f locks
			g locks
			a unlocks                        -> b: granted until 990ms, handed on; a ok: granted
			b unlocks                        -> c: granted until 990ms, handed on; b ok: granted
			c unlocks                        -> d: granted until 990ms, handed on; c ok: granted
			after 6ms
			d unlocks                        -> e: granted until 990ms, handed on; d ok: granted; confirm 1 1s
			e unlocks                        -> f: granted until 990ms, handed on; e ok: granted
			answer 0
			after 3ms
			f unlocks                        -> g: granted until 996ms, handed on; f ok: granted
			g unlocks                        -> release 1
			answer 1                         -> g ok: granted
			idle                             -> false`,
		"a handoff is not confirmed ahead before the fifth": mutexHeld + `
			b locks
			c locks
			d locks
			a unlocks                        -> b: granted until 990ms, handed on; a ok: granted
			after 6ms
			b unlocks                        -> c: granted until 990ms, handed on; b ok: granted
			c unlocks                        -> d: granted until 990ms, handed on; c ok: granted
			after 3ms
			d unlocks                        -> release 1`,
		"a hold goes on as long as a confirmation ahead says": mutexHeld + `
			b locks
			c locks
			d locks
			e locks
			f locks
			a unlocks                        -> b: granted until 990ms, handed on; a ok: granted
			b unlocks                        -> c: granted until 990ms, handed on; b ok: granted
			c unlocks                        -> d: granted until 990ms, handed on; c ok: granted
			after 5ms
			d unlocks                        -> e: granted until 990ms, handed on; d ok: granted; confirm 1 1s
			e until                          -> 990ms
			after 1ms
			answer 0
			e until                          -> 995ms
			e unlocks                        -> f: granted until 995ms, handed on; e ok: granted
			after 5ms
			f unlocks                        -> release 1`,
		"the release of an owner that may still appear is repeated": `
			a locks watch 10s                -> acquire 1 10s
			lost
			after 20ms                       -> (17ms) acquire 1 10s
			answer 1                         -> a: granted until 9.917s
			a unlocks                        -> release 1
			answer 0                         -> a ok: granted
			after 3s                         -> (2.23s) release 1
			answer fault 1
			after 40ms                       -> (17ms) release 1
			lost
			after 40ms                       -> (37ms) release 1
			not-sent
			after 60ms
			link-up                          -> release 1
			denied NOPERM
			after 3s                         -> (17ms) release 1
			answer fault 1
			idle                             -> false
			after 1s                         -> (37ms) release 1
			answer 0
			idle                             -> true`,
		"the release of what nobody wants any more is repeated": `
			a locks lease 500ms              -> acquire 1 500ms
			a goes                           -> a: is not there
			after 20ms
			lost
			after 40ms                       -> (17ms) release 1
			not-sent
			after 60ms
			link-up                          -> release 1
			denied NOPERM
			after 3s                         -> (1s) release 1
			answer fault 1
			idle                             -> true`,
		"what went well begins pauses anew": `
			a locks                          -> acquire 1 1s
			again LOADING
			after 20ms                       -> (17ms) acquire 2 1s
			again LOADING
			after 40ms                       -> (33ms) acquire 3 1s
			answer 1                         -> a: granted until 1.043s
			after 334ms                      -> (327ms) renew 3 1s
			answer fault 1
			after 20ms                       -> renew 3 1s
			answer fault 1
			after 40ms                       -> (35ms) renew 3 1s
			answer 1
			a unlocks                        -> release 3
			answer fault 1
			after 20ms                       -> (18ms) release 3
			answer fault 1
			after 40ms                       -> (35ms) release 3
			answer 0                         -> a ok: granted
			b locks                          -> acquire 4 1s
			again LOADING
			link-up                          -> acquire 5 1s
			again LOADING
			after 20ms                       -> (18ms) acquire 6 1s`,
		"our own message is a hint like any other": leftToOthers + `
			answer 1                         -> a ok: granted; acquire in line 5 1s n 1005
			message
			answer held 1s                   -> acquire in line 6 1s n 1006
			answer held 1s
			message                          -> acquire in line 7 1s n 1007
			answer 1                         -> b: granted until 990ms
			message                          -> renew 7 1s`,
		"a subscription ends a second after the last waiter": waitsForOthers + `
			a goes                           -> a: is not there
			after 900ms
			b locks                          -> acquire in line 4 1s n 1004
			answer held 3s
			after 200ms
			b goes                           -> b: is not there
			after 999ms
			after 1ms                        -> unsubscribe redisson_lock__channel:{stock}; unsubscribe redisson_lock__channel:{stock}:wheellock:u
			idle                             -> true
			c locks                          -> acquire 5 1s
			answer held 1s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u; subscribe redisson_lock__channel:{stock}`,
		"turns and pauses grow while nobody takes what is left to others": leftToOthers + `
			answer 2                         -> a ok: granted
			after 2ms                        -> acquire in line 5 1s n 1005
			answer 1                         -> b: granted until 992ms
			a locks
			b unlocks                        -> release 5
			answer 2                         -> b ok: granted; acquire in line 6 1s n 1006
			answer 1                         -> a: granted until 992ms
			after 10ms
			b locks
			a unlocks                        -> release 6
			answer 2                         -> a ok: granted
			after 6ms                        -> acquire in line 7 1s n 1007
			answer 1                         -> b: granted until 1.008s
			after 50ms
			a locks
			b unlocks                        -> release 7
			answer 2                         -> b ok: granted
			after 34ms                       -> acquire in line 8 1s n 1008`,
		"what time has ended ends before an extension": `
			a locks lease 500ms              -> acquire 1 500ms
			answer 1                         -> a: granted until 495ms
			stall 2s
			a extends 5s                     -> a ends: lost; a ok: lost`,
		"what time has ended ends before an unlock": mutexHeld + `
			b locks
			stall 2s
			a unlocks                        -> a ends: lost; a ok: lost; acquire 2 1s
			answer 1                         -> b: granted until 2.99s`,
		"what time has ended ends before an answer": mutexHeld + `
			b locks
			after 400ms                      -> (333ms) renew 1 1s
			stall 2s
			answer 1                         -> a ends: lost; release 1
			answer 0                         -> acquire 2 1s
			answer 1                         -> b: granted until 3.39s`,
		"what time has ended ends before the link is up": mutexHeld + `
			b locks
			stall 2s
			link-up                          -> a ends: lost; acquire 2 1s`,
		"what time has ended ends before force": mutexHeld + `
			stall 2s
			force u:1 1                      -> a ends: lost; release 1 u:1
			answer 0                         -> force ok: granted`,
		"without a watched hold nothing is renewed": `
			a locks owner 7                  -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			b locks owner 7 lease 600ms      -> b: granted until 594ms, re-entered
			a unlocks                        -> a ok: granted
			after 500ms
			after 200ms                      -> (94ms) b ends: lost; release 1
			answer 0`,
		"a confirmation ahead is made on the occasion of another event": mutexHeld + `
			b locks
			c locks
			d locks
			e locks
			a unlocks                        -> b: granted until 990ms, handed on; a ok: granted
			b unlocks                        -> c: granted until 990ms, handed on; b ok: granted
			c unlocks                        -> d: granted until 990ms, handed on; c ok: granted
			d unlocks                        -> e: granted until 990ms, handed on; d ok: granted
			after 6ms
			f locks                          -> confirm 1 1s
			answer 0
			e until                          -> 996ms`,
		"a try to re-enter whose tenure is gone asks for itself": `
			a locks owner 7 lease 300ms      -> acquire 1 300ms
			answer 1                         -> a: granted until 295ms
			b locks owner 7 lease 900ms try  -> renew 1 900ms
			answer not-mine                  -> a ends: lost; acquire 2 900ms
			answer 1                         -> b: granted until 891ms`,
		"an extension has an end of its own": `
			a locks owner 7 lease 300ms      -> acquire 1 300ms
			answer 1                         -> a: granted until 295ms
			a extends 900ms                  -> renew 1 900ms
			answer 1                         -> a ok: granted until 891ms
			b locks owner 7 lease 3s         -> renew 1 3s
			answer 1                         -> b: granted until 2.97s, re-entered
			a until                          -> 891ms
			after 900ms                      -> (891ms) a ends: lost
			b until                          -> 2.97s`,
		"the key of what is lost stands for as long as a confirmation may have made it": mutexHeld + `
			b locks
			after 10ms
			a unlocks                        -> a ok: granted; confirm 1 1s
			stall 1200ms
			answer 0                         -> release 1
			not-sent
			after 900ms
			link-up                          -> release 1
			not-sent
			after 2s                         -> (120ms) acquire 2 1s
			b goes                           -> b: is not there
			idle                             -> false`,
		"a renewal without an answer may have prolonged the key": mutexHeld + `
			after 334ms                      -> (333ms) renew 1 1s
			after 700ms                      -> (656ms) a ends: lost
			lost                             -> release 1
			not-sent
			after 2900ms                     -> (1s) release 1
			link-up
			not-sent
			after 2s
			idle                             -> true`,
		"a tenure that is gone, and an acquire that may still arrive": adoptedHold + `
			after 340ms                      -> (330ms) renew 1 1s
			answer not-mine                  -> a ends: lost
			after 2s                         -> (1.89s) release 1
			answer 0
			idle                             -> true`,
		"beside others who listen a turn is one grant for each third caller": `
			a locks                          -> acquire 1 1s
			answer held 1s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 1s n 1002
			answer held 1s                   -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire in line 3 1s n 1003
			answer held 1s
			message                          -> acquire in line 4 1s n 1004
			answer 1                         -> a: granted until 990ms
			b locks
			c locks
			d locks
			e locks
			f locks
			g locks
			h locks
			after 10ms
			a unlocks                        -> a ok: granted; confirm 4 1s
			answer 2                         -> release 4
			answer 2
			message
			message
			after 2ms                        -> acquire in line 5 1s n 1005
			answer 1                         -> b: granted until 1.002s
			b unlocks                        -> c: granted until 1.002s, handed on; b ok: granted
			after 1ms
			c unlocks                        -> d: granted until 1.002s, handed on; c ok: granted
			after 1ms
			d unlocks                        -> release 5`,
		"a drained engine listens no longer": waitsForOthers + `
			drain                            -> a: closed
			after 1s                         -> unsubscribe redisson_lock__channel:{stock}; unsubscribe redisson_lock__channel:{stock}:wheellock:u
			idle                             -> true`,
		"nobody at all heard of a release": leftToOthers + `
			answer 0                         -> a ok: granted; acquire in line 5 1s n 1005
			answer 1                         -> b: granted until 990ms
			c locks
			subscribed NOPERM
			b unlocks                        -> release 5
			answer 1                         -> b ok: granted
			after 2ms                        -> acquire in line 6 1s n 1006`,
		"a machine is woken when something is due, and not earlier": `
			a locks owner 7                  -> acquire 1 1s
			alarm                            -> none
			answer 1                         -> a: granted until 990ms
			alarm                            -> 333ms
			b locks owner 7 lease 200ms      -> b: granted until 195ms, re-entered
			alarm                            -> 195ms
			b unlocks                        -> b ok: granted
			alarm                            -> 333ms
			c locks
			alarm                            -> 333ms
			after 100ms
			a unlocks                        -> a ok: granted; confirm 1 1s
			alarm                            -> 890ms
			after 334ms
			alarm                            -> 556ms
			answer 1                         -> release 1
			alarm                            -> none
			alarm                            -> none
			lost
			alarm                            -> 17ms
			after 20ms                       -> (17ms) release 1
			answer 0
			alarm                            -> 16ms
			d locks
			alarm                            -> 16ms
			d goes                           -> d: is not there
			alarm                            -> 16ms`,
		"a fixed lease needs no alarm but its end": `
			a locks lease 700ms              -> acquire 1 700ms
			answer 1                         -> a: granted until 693ms
			alarm                            -> 693ms
			a extends 2s                     -> renew 1 2s
			answer 1                         -> a ok: granted until 1.98s
			alarm                            -> 1.98s
			link-up                          -> renew 1 1ms
			answer 1
			alarm                            -> 1.98s
			a unlocks                        -> release 1
			again LOADING
			alarm                            -> 17ms`,
		"re-entries that are watched with different leases": `
			a locks owner 7 lease 300ms      -> acquire 1 300ms
			answer 1                         -> a: granted until 295ms
			b locks owner 7                  -> renew 1 1s
			c locks owner 7 watch 3s
			answer 1                         -> b: granted until 990ms, re-entered; renew 1 3s
			answer 1                         -> c: granted until 2.97s, re-entered
			after 334ms                      -> (295ms) a ends: lost; (333ms) renew 1 1s
			after 700ms`,
	})
}

func TestSpinScenes(t *testing.T) {
	const polled = `
			a locks                          -> acquire 1 1s
			answer held 5s
			after 2ms                        -> (1ms) acquire 2 1s
			answer held 4.998s
			after 3ms                        -> (2ms) acquire 3 1s
			answer held 4.995s
			after 5ms                        -> (3ms) acquire 4 1s
			answer held 4.99s
			after 9ms                        -> (5ms) acquire 5 1s
			answer held 4.981s
			after 17ms                       -> (11ms) acquire 6 1s
			answer held 4.964s
			after 33ms                       -> (29ms) acquire 7 1s
			answer held 4.931s
			after 65ms                       -> (42ms) acquire 8 1s`
	playScenes(t, SpinKind, map[string]string{
		"a waiter polls": polled + `
			answer held 4.866s
			after 129ms                      -> (102ms) acquire 9 1s
			answer held 4.737s
			after 129ms                      -> (75ms) acquire 10 1s
			answer held 4.608s
			after 129ms                      -> (117ms) acquire 11 1s
			answer held 5ms
			after 5ms
			after 1ms                        -> acquire 12 1s
			answer 1                         -> a: granted until 1.517s
			a unlocks                        -> release quietly 12
			answer 0                         -> a ok: granted
			after 140ms
			idle                             -> true`,
		"a waiter polls more often while the name changes hands": polled + `
			answer held 5s
			after 17ms                       -> (14ms) acquire 9 1s
			answer held 5s
			after 17ms                       -> (11ms) acquire 10 1s
			answer held 4.983s
			after 33ms                       -> (21ms) acquire 11 1s`,
		"several waiters poll as often as so many pollers": `
			callers 8                        -> acquire 1 1s
			answer held 5s
			after 2ms                        -> (1ms) acquire 2 1s
			answer held 4.998s
			after 3ms                        -> (2ms) acquire 3 1s
			answer held 4.995s
			after 5ms                        -> (3ms) acquire 4 1s
			answer held 4.99s
			after 9ms                        -> (5ms) acquire 5 1s
			answer held 4.981s
			x locks try                      -> x: taken for 4.981s
			after 17ms                       -> (11ms) acquire 6 1s
			answer held 4.964s
			after 17ms                       -> (13ms) acquire 7 1s
			answer held 4.947s
			after 17ms                       -> (10ms) acquire 8 1s`,
		"a name that is not handed on is left for as long as a waiter sleeps": `
			handoff-time 0s
			a locks                          -> acquire 1 1s
			answer held 5s
			after 2ms                        -> (1ms) acquire 2 1s
			answer 1                         -> a: granted until 991ms
			b locks
			a unlocks                        -> release quietly 2
			answer 0                         -> a ok: granted
			after 1ms                        -> (1ms) acquire 3 1s
			answer 1                         -> b: granted until 993ms
			b unlocks                        -> release quietly 3
			answer 0                         -> b ok: granted
			c locks                          -> acquire 4 1s
			answer 1                         -> c: granted until 993ms`,
		"many waiters that have been refused often": `
			callers 10                       -> acquire 1 1s
			refuse 31 5s
			after 13ms                       -> (9ms) acquire 32 1s
			answer held 5s
			after 13ms                       -> (8ms) acquire 33 1s
			answer held 5s
			after 13ms                       -> (10ms) acquire 34 1s`,
		"a turn of one who meets nobody ends after 830 ms; looks in the pause find nobody": mutexHeld + `
			b locks
			a unlocks                        -> b: granted until 990ms, handed on; a ok: granted
			after 800ms                      -> (333ms) renew 1 1s
			answer 1                         -> renew 1 1s
			after 30ms
			c locks
			answer 1
			b unlocks                        -> release quietly 1
			d locks
			answer 0                         -> b ok: granted
			after 14ms                       -> peek 0
			answer 0
			after 14ms                       -> peek 0
			lost
			after 111ms
			after 1ms                        -> acquire 2 1s
			answer 1                         -> c: granted until 1.96s
			c unlocks                        -> d: granted until 1.96s, handed on; c ok: granted
			d unlocks                        -> release quietly 2
			answer 0                         -> d ok: granted
			idle                             -> false
			after 139ms
			idle                             -> false
			after 1ms
			idle                             -> true`,
		"turns are short after a look has found others, and grow": `
			a locks                          -> acquire 1 1s
			answer held 5s
			after 2ms                        -> (1ms) acquire 2 1s
			answer 1                         -> a: granted until 991ms
			b locks
			after 90ms
			a unlocks                        -> release quietly 2
			answer 0                         -> a ok: granted
			after 14ms                       -> peek 0
			answer held 5s
			after 125ms
			after 1ms                        -> acquire 3 1s
			answer held 5s
			after 2ms                        -> (1ms) acquire 4 1s
			answer 1                         -> b: granted until 1.223s
			a locks
			after 90ms
			b unlocks                        -> release quietly 4
			answer 0                         -> b ok: granted
			after 14ms                       -> peek 0
			lost
			after 126ms                      -> acquire 5 1s
			answer 1                         -> a: granted until 1.454s
			b locks
			after 90ms
			a unlocks                        -> a ok: granted; confirm 5 1s
			answer 0                         -> b: granted until 1.544s, handed on`,
		"one caller alone leaves the name to others that were met": `
			a locks                          -> acquire 1 1s
			answer held 5s
			after 2ms                        -> (1ms) acquire 2 1s
			answer 1                         -> a: granted until 991ms
			a unlocks                        -> release quietly 2
			answer 0                         -> a ok: granted
			b locks                          -> acquire 3 1s
			answer 1                         -> b: granted until 992ms
			after 90ms
			b unlocks                        -> release quietly 3
			answer 0                         -> b ok: granted
			idle                             -> false
			c locks
			after 14ms                       -> peek 0
			lost
			after 125ms
			after 1ms                        -> acquire 4 1s
			answer 1                         -> c: granted until 1.222s
			c unlocks                        -> release quietly 4
			answer 0                         -> c ok: granted`,
		"a try ends a pause": mutexHeld + `
			b locks
			a unlocks                        -> b: granted until 990ms, handed on; a ok: granted
			after 800ms                      -> (333ms) renew 1 1s
			answer 1                         -> renew 1 1s
			after 30ms
			answer 1
			c locks
			b unlocks                        -> release quietly 1
			answer 0                         -> b ok: granted
			after 10ms
			d locks try                      -> d: taken
			c goes                           -> c: is not there
			e locks try                      -> acquire 2 1s
			answer 1                         -> e: granted until 1.83s
			f locks
			e unlocks                        -> f: granted until 1.83s, handed on; e ok: granted
			close                            -> f ends: closed; release quietly 2
			answer 0
			idle                             -> true`,
	})
}

func TestFencedScenes(t *testing.T) {
	playScenes(t, FencedKind, map[string]string{
		"each grant has the next token of the block": `
			a locks owner 7                  -> acquire fenced 1 1s
			b locks
			answer 1000                      -> a: granted until 990ms, token 937
			c locks owner 7                  -> c: granted until 990ms, re-entered, token 937
			a unlocks                        -> a ok: granted
			c unlocks                        -> b: granted until 990ms, handed on, token 938; c ok: granted
			d locks
			e locks lease 500ms
			b unlocks                        -> d: granted until 990ms, handed on, token 939; b ok: granted
			d leaves
			f locks
			d unlocks                        -> release 1
			answer 0                         -> d ok: granted; acquire fenced 2 500ms
			answer 2000                      -> e: granted until 495ms, token 1937`,
		"a grant that nobody takes uses no token": `
			a locks                          -> acquire fenced 1 1s
			b locks
			a leaves
			answer 1000                      -> a: is not there; b: granted until 990ms, token 937
			b unlocks                        -> release 1
			answer 0                         -> b ok: granted`,
	})
}
