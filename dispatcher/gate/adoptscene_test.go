package gate

import "testing"

// A was granted after a question without an answer, which may still arrive in Redis.
const adoptedHold = `
			a locks                          -> acquire 1 1s
			lost
			after 20ms                       -> (17ms) acquire 1 1s
			answer 1                         -> a: granted until 1.007s`

// invariant: detached-name-stays
func TestAdoptScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"adopted, held and freed": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			answer 1                         -> a: granted until 990ms
			after 400ms                      -> (333ms) renew 1 1s
			answer 1
			a unlocks                        -> release 1
			answer 0                         -> a ok: granted
			idle                             -> true`,
		"refused, and for good": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			answer fault 1                   -> a: refused (fault 1) for now
			b locks adopts java:1            -> adopt 2 java:1 1s
			answer fault 6                   -> b: refused (fault 6)
			c locks adopts java:1            -> adopt 3 java:1 1s
			denied NOPERM                    -> c: refused "NOPERM"
			d locks adopts java:1            -> adopt 4 java:1 1s
			answer fault 21                  -> d: foreign (fault 21)
			e locks adopts java:1            -> adopt 5 java:1 1s
			again LOADING                    -> e: refused for now "LOADING"
			idle                             -> true`,
		"not sent": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			not-sent                         -> a: down
			idle                             -> true`,
		"too late, once and twice": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			answer late                      -> adopt 2 java:1 1s
			answer 1                         -> a: granted until 990ms
			a unlocks                        -> release 2
			answer 0                         -> a ok: granted
			b locks adopts java:1            -> adopt 3 java:1 1s
			answer late                      -> adopt 4 java:1 1s
			answer late                      -> b: too late "by the clock of Redis it came more than 2s after it was sent, and did nothing"
			idle                             -> true`,
		"too late, and whoever asked has gone": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			a goes                           -> a: is not there
			answer late
			idle                             -> true`,
		"its answer is lost, and so is that of the release": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			b locks
			lost                             -> a: doubtful; release 1
			not-sent                         -> acquire 2 1s
			b times-out                      -> b: timed out, last down
			after 2300ms
			answer fault 1                   -> release 1
			after 40ms
			answer not-mine
			after 5s
			idle                             -> true`,
		"its orphan is released for the second time before an answer to the first": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			lost                             -> a: doubtful; release 1
			stall 2300ms
			answer 0                         -> release 1
			idle                             -> false`,
		"its orphan is released for as long as its key may be there": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			lost                             -> a: doubtful; release 1
			stall 3265ms
			denied NOPERM
			idle                             -> false
			after 20ms                       -> (17ms) release 1
			denied NOPERM
			idle                             -> true`,
		"a pause that was left to others was not in vain": `
			handoff-time 0s
			a locks                          -> acquire 1 1s
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 1s n 1002
			answer joins-first 5s            -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire in line 2 1s n 1002
			answer 1                         -> a: granted until 990ms
			b locks
			a unlocks                        -> release 2
			answer 2                         -> a ok: granted
			alarm                            -> 2ms
			c locks adopts java:1            -> adopt 3 java:1 1s
			answer 1                         -> c: granted until 990ms
			c unlocks                        -> release 3
			answer 1                         -> c ok: granted; acquire in line 4 1s n 1004
			d locks
			answer 1                         -> b: granted until 990ms
			b unlocks                        -> release 4
			answer 2                         -> b ok: granted
			alarm                            -> 2ms`,
		"who listened before is known when it is taken over": mutexHeld + `
			b locks
			after 20ms
			a unlocks                        -> a ok: granted; confirm 1 1s
			answer 1                         -> release 1
			answer 1
			c locks adopts java:1            -> adopt 2 java:1 1s
			answer 1                         -> c: granted until 1.01s
			after 20ms
			c unlocks                        -> release 2`,
		"a message about it is heeded, after many in vain": `
			a locks                          -> acquire 1 1s
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 1s n 1002
			refuse 1 5s
			message                          -> acquire in line 3 1s n 1003
			refuse 1 5s
			in-vain 8 held 5s
			message                          -> acquire in line 12 1s n 1012
			refuse 1 5s
			message
			refuse 1 5s
			b locks adopts java:1            -> adopt 14 java:1 1s
			answer 1                         -> b: granted until 991ms
			message                          -> renew 14 1s`,
		"a grant that came when its lease was over": `
			a locks adopts java:1 lease 100ms -> adopt 1 java:1 100ms
			stall 95ms
			answer 1                         -> a: too late "the lease of 100ms, less a margin of 5ms, was over when the answer came, 95ms after it was asked for: ask with a longer lease"; release 1
			answer 0
			idle                             -> true`,
		"a grant that too few replicas have": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			alone 1                          -> a: too few; release 1
			answer 0
			b locks adopts java:1            -> adopt 2 java:1 1s
			alone not-mine                   -> b: lost
			idle                             -> true`,
		"a caller that has gone when it is granted": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			a leaves
			answer 1                         -> a: is not there; release 1
			answer 0`,
		"a caller that times out": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			a times-out                      -> a: doubtful "there was no answer within AnswerTimeout"
			answer not-mine
			idle                             -> true`,
		"a caller that waits no longer": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			b locks adopts java:1
			b waits-no-longer                -> b: gave up, last down
			a waits-no-longer                -> a: gave up, last down
			lost                             -> release 1
			answer not-mine`,
		"while it is being freed": mutexHeld + `
			a unlocks                        -> release 1
			b locks adopts java:1
			c locks
			answer 0                         -> a ok: granted; adopt 2 java:1 1s
			answer not-mine                  -> b: lost; acquire 3 1s
			answer 1                         -> c: granted until 990ms`,
		"what this engine is detaching": detaching + `
			b locks adopts u:1:detached
			lost
			c locks
			after 20ms                       -> (17ms) detach 1 5s
			answer 0                         -> a ok: granted; adopt 2 u:1:detached 1s
			answer 1                         -> b: granted until 1.01s`,
		"a hold of ours ends first, as by force": leastTime + `
			after 100ms
			b locks adopts u:1               -> a ends: lost; adopt 2 u:1 1s
			answer 1                         -> b: granted until 1.09s; release 1
			answer not-mine
			a unlocks                        -> a ok: lost
			b unlocks                        -> release 2
			answer 0                         -> b ok: granted
			idle                             -> true`,
		"all holds of an Owner of ours end": `
			a locks owner 7                  -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			b locks owner 7                  -> b: granted until 990ms, re-entered
			c locks owner 7 watch 3s         -> c: granted until 990ms, re-entered
			d locks adopts u:1 owner 7       -> a ends: lost; b ends: lost; c ends: lost; adopt 2 u:1 1s
			answer 1                         -> d: granted until 990ms; release 1`,
		"a hold of ours that is being renewed, until the caller waits no longer": mutexHeld + `
			after 400ms                      -> (333ms) renew 1 1s
			b locks adopts u:1
			b times-out                      -> b: doubtful "there was no answer within AnswerTimeout"
			answer 1
			a unlocks                        -> release 1`,
		"a hold of ours that turns out to be gone": mutexHeld + `
			after 400ms                      -> (333ms) renew 1 1s
			b locks adopts u:1
			answer not-mine                  -> a ends: lost; adopt 2 u:1 1s
			answer not-mine                  -> b: lost
			idle                             -> true`,
		"a hold of ours of which an acquire may still arrive": adoptedHold + `
			b locks adopts u:1               -> a ends: lost; adopt 2 u:1 1s
			answer 1                         -> b: granted until 1.01s; release 1
			answer not-mine
			after 300ms
			b unlocks                        -> release 2
			answer 0                         -> b ok: granted
			idle                             -> false
			after 3s                         -> (1.93s) release 1
			answer not-mine
			idle                             -> true`,
		"while an acquire is on its way that takes it": `
			a locks                          -> acquire 1 1s
			b locks adopts java:1
			answer 1                         -> a: granted until 990ms; b: lost`,
		"forced meanwhile": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			force u:1 1
			answer 1                         -> a: lost; release 1
			answer 0                         -> force ok: granted
			idle                             -> true`,
		"forced meanwhile, and nobody was there": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			force u:1 1
			answer not-mine                  -> a: lost; release 1 u:1
			answer not-mine                  -> force ok: lost
			idle                             -> true`,
		"forced meanwhile, and its answer is lost": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			force u:1 1
			lost                             -> a: doubtful; release 1 u:1
			answer fault 1                   -> force ok: refused (fault 1) for now; release 1
			answer fault 1
			after 20ms                       -> (17ms) release 1
			answer not-mine
			answer 0                         -> nothing is in flight
			after 2300ms                     -> (2.23s) release 1
			answer not-mine
			idle                             -> true`,
		"another is forced meanwhile": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			force java:1 0
			answer 1                         -> a: granted until 990ms; release 0 java:1
			answer not-mine                  -> force ok: lost`,
		"drained meanwhile": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			b locks adopts java:2
			drain                            -> a: closed; b: closed
			answer 1                         -> release 1
			answer 0
			idle                             -> true`,
		"closed meanwhile": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			close                            -> a: closed
			answer 1                         -> release 1
			answer 0
			idle                             -> true`,
		"closed meanwhile, the answer lost": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			close                            -> a: closed
			lost                             -> release 1
			answer 0
			end                              -> release 1
			answer 0
			idle                             -> true`,
		"with a least time": `
			a locks adopts java:1 least 5s   -> adopt 1 java:1 5s
			answer 1                         -> a: granted until 4.95s
			after 1ms
			a unlocks                        -> detach 1 5s
			answer 0                         -> a ok: granted`,
	})
}

func TestAdoptScenesOfOtherKinds(t *testing.T) {
	t.Run("fenced, a hold of ours", func(t *testing.T) {
		playScene(t, FencedKind, `
			a locks                          -> acquire fenced 1 1s
			answer 64                        -> a: granted until 990ms, token 1
			b locks adopts u:1               -> a ends: lost; adopt 2 u:1 1s
			answer 128                       -> b: granted until 990ms, token 65; release 1`)
	})
	t.Run("fenced", func(t *testing.T) {
		playScene(t, FencedKind, `
			a locks adopts java:1            -> adopt 1 java:1 1s
			answer 640                       -> a: granted until 990ms, token 577
			b locks
			a unlocks                        -> b: granted until 990ms, handed on, token 578; a ok: granted
			b unlocks                        -> release 1`)
	})
	t.Run("spin", func(t *testing.T) {
		playScene(t, SpinKind, `
			a locks                          -> acquire 1 1s
			answer held 5s
			b locks adopts java:1            -> adopt 2 java:1 1s
			answer 1                         -> b: granted until 990ms
			b detaches 5s                    -> detach 2 5s
			answer 0                         -> b ok: granted`)
	})
	playScenes(t, FairKind, map[string]string{
		"fair": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			answer 1                         -> a: granted until 990ms
			b locks                          -> fair ask 0 OLD next 2 n 1
			answer held 1s
			a detaches 5s                    -> detach 1 5s
			answer 1                         -> a ok: granted; subscribe redisson_lock__channel:{stock}:u:2
			subscribed                       -> fair ask 2 OLD 1s
			answer held 5s
			alarm                            -> 167ms`,
		"fair, somebody waits": fairWaiting + `
			subscribed                       -> fair ask 1 OLD 1s
			answer held 5s
			b locks adopts java:1            -> adopt 2 java:1 1s
			answer 1                         -> b: granted until 990ms
			b unlocks                        -> fair release 2 1s next 1
			answer passed                    -> b ok: granted; a: granted until 990ms; unsubscribe redisson_lock__channel:{stock}:u:1`,
		"fair, with a least time": `
			a locks least 5s                 -> fair ask 1 NEW 5s next 1 n 1
			b locks
			answer 1                         -> a: granted until 4.95s; fair ask 0 OLD next 2 n 1
			answer held 5s
			after 1ms
			a unlocks                        -> detach 1 5s
			answer 1                         -> a ok: granted; subscribe redisson_lock__channel:{stock}:u:2
			subscribed                       -> fair ask 2 OLD 1s
			answer held 5s`,
		"fair, whose next has a least time": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer 1                         -> a: granted until 990ms
			b locks least 5s                 -> fair ask 0 OLD next 2 n 1
			answer held 1s
			a unlocks                        -> fair release 1
			answer 0                         -> a ok: granted; subscribe redisson_lock__channel:{stock}:u:2
			subscribed                       -> fair ask 2 OLD 5s
			answer 1                         -> b: granted until 4.95s; unsubscribe redisson_lock__channel:{stock}:u:2
			after 1ms
			b unlocks                        -> detach 2 5s
			answer 0                         -> b ok: granted
			idle                             -> true`,
	})
}
