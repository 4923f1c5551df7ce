package gate

import (
	"strings"
	"testing"
)

// B has been refused, and asks in line.
const inLine = `
			codes
			b locks                          -> acquire 1 3s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 3s n 1002`

// B has been refused and stands in line.
const placed = `
			codes
			b locks                          -> acquire 1 3s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 3s n 1002
			answer joins 2s                  -> `

// invariant: gift-counts-from-its-acquire, detached-name-stays
func TestGiftScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"what is unlocked soon is not renewed": placed + `
			given 2                          -> b: granted until 2.97s
			b unlocks                        -> release 2
			answer 1                         -> b ok: granted
			after 10s                        -> (1s) unsubscribe redisson_lock__channel:{stock}:wheellock:u`,
		"what was given is renewed again in time, however long its lease is to be": `
			codes
			b locks watch 10m                -> acquire 1 10m0s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 10m0s n 1002
			answer joins 2s
			given 2                          -> b: granted until 9.9s
			after 50ms                       -> renew 2 10m0s
			again CLUSTERDOWN                -> b at risk: refused for now "CLUSTERDOWN"
			after 1s                         -> (200ms) renew 2 10m0s; (950ms) unsubscribe redisson_lock__channel:{stock}:wheellock:u`,
		"another code is a hint": placed + `
			given 9                          -> acquire in line 2 3s n 1002
			answer stands 2s`,
		"the last question that says that the place stands is counted from": placed + `
			after 2001ms                     -> (1.567s) acquire in line 2 3s n 1002
			answer stands 2s
			given 2                          -> b: granted until 4.537s
			`,
		"a code is a hint when the owner id came into line twice": placed + `
			told 0                           -> acquire in line 2 3s n 1002
			answer joins 2s
			given 2                          -> acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 2.97s`,
		"a code that comes before the answer of the question that left its place": inLine + `
			given 2
			answer joins 2s                  -> acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 2.97s`,
		"a code that comes too late is a hint": placed + `
			stall 2.97s
			given 2                          -> acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 5.94s`,
		"a code that comes while a question is on its way": placed + `
			told 0                           -> acquire in line 2 3s n 1002
			given 2
			answer stands 2s                 -> acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 2.97s`,
		"a code that comes twice": placed + `
			given 2                          -> b: granted until 2.97s
			given 2`,
		"a refusal by which no place stands counts for nothing, and its engine listens to the channel": placed + `
			stall 700ms
			told 0                           -> acquire in line 2 3s n 1002
			answer held 1s                   -> subscribe redisson_lock__channel:{stock}
			given 2                          -> b: granted until 2.97s`,
		"a place that nobody wants is given up": placed + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release from line 2 n 1002
			answer not-mine`,
		"a place that was given when nobody wants it any more": placed + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release from line 2 n 1002
			given 2
			answer given 1`,
		"a place whose acquire got no answer before is given up at once": inLine + `
			lost
			after 20ms                       -> (17ms) acquire in line 2 3s n 1002
			answer stands 2s                 -> release from line 2 n 1002; subscribe redisson_lock__channel:{stock}
			given 2
			answer not-mine                  -> acquire in line 3 3s n 1003
			answer joins 2s
			given 3                          -> b: granted until 2.99s
			after 1.7s                       -> (50ms) renew 3 3s; (1s) unsubscribe redisson_lock__channel:{stock}; unsubscribe redisson_lock__channel:{stock}:wheellock:u
			answer 1                         -> renew 3 3s`,
		"a lock that is given to an owner who was forced off": placed + `
			force u:2 2                      -> release from line 2 u:2 n 1002
			given 2
			answer 1                         -> force ok: granted; acquire in line 3 3s n 1003`,
		"our next callers have the lock as after any grant": placed + `
			c locks
			given 2                          -> b: granted until 2.97s
			b unlocks                        -> c: granted until 2.97s, handed on; b ok: granted
			c unlocks                        -> release 2`,
		"who has a fixed lease is given the lock, and asks": `
			codes
			b locks lease 10s                -> acquire 1 10s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 10s n 1002
			answer joins 2s
			given 2                          -> acquire in line 2 10s n 1002
			answer 1                         -> b: granted until 9.9s`,
		"a lock that was given over an earlier link is asked for": placed + `
			link-breaks
			given 2                          -> acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 2.97s`,
		"what is left of a given lease is enough for a least time": placed + `
			c locks least 1030ms
			stall 1.94s
			b leaves
			given 2                          -> b: is not there; c: granted until 2.97s`,
		"what is left of a given lease is too short for a least time": placed + `
			c locks least 1031ms
			stall 1.94s
			b leaves
			given 2                          -> b: is not there; release 2
			answer 0                         -> acquire in line 3 3s n 1003`,
		"a lock of which enough is left when it is given": placed + `
			stall 2594ms
			given 2                          -> b: granted until 2.97s
			after 50ms                       -> renew 2 3s`,
		"a lock of which little is left when it is given is asked for": placed + `
			stall 2595ms
			given 2                          -> acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 5.565s`,
		"who has a lease for longer than any copy of the acquire is under way believes the message": `
			codes
			b locks watch 2250ms             -> acquire 1 2.25s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 2.25s n 1002
			answer joins 2s
			given 2                          -> b: granted until 2.228s`,
		"who has a shorter lease asks, and so does whoever follows at its place": `
			codes
			b locks watch 2249ms             -> acquire 1 2.249s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 2.249s n 1002
			answer joins 2s
			c locks watch 3s
			b waits-no-longer                -> b: gave up, last taken for 2s
			told 0                           -> acquire in line 2 3s n 1002
			answer stands 2s
			given 2                          -> acquire in line 2 3s n 1002
			answer 1                         -> c: granted until 2.97s`,
		"who asks once stands nowhere": placed + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release from line 2 n 1002
			answer not-mine
			c locks try                      -> acquire 3 3s
			answer held 2s                   -> c: taken for 2s`,
		"what was given for another is asked for": placed + `
			c locks lease 10s
			b waits-no-longer                -> b: gave up, last taken for 2s
			given 2                          -> acquire in line 2 10s n 1002
			answer 1                         -> c: granted until 9.9s`,
		"a place that nobody wants by the time of the answer is given up once": placed + `
			told 0                           -> acquire in line 2 3s n 1002
			b waits-no-longer                -> b: gave up, last taken for 2s
			answer stands 2s                 -> release from line 2 n 1002
			answer not-mine
			after 10s                        -> (1s) unsubscribe redisson_lock__channel:{stock}:wheellock:u`,
		"a place is released until that is answered": placed + `
			stall 2039ms
			b waits-no-longer                -> b: gave up, last taken; release from line 2 n 1002
			stall 1ms
			not-sent
			after 10s                        -> (17ms) release from line 2 n 1002; (999ms) unsubscribe redisson_lock__channel:{stock}:wheellock:u
			answer not-mine`,
		"what was given is released as ever, also when nobody listens here any more": placed + `
			given 2                          -> b: granted until 2.97s
			after 50ms                       -> renew 2 3s
			answer 1
			after 960ms                      -> (950ms) unsubscribe redisson_lock__channel:{stock}:wheellock:u
			b unlocks                        -> release 2`,
		"a lock that is given for longer than its holder's lease is released for as long": placed + `
			c locks lease 100ms
			b waits-no-longer                -> b: gave up, last taken for 2s
			given 2                          -> acquire in line 2 100ms n 1002
			answer 1                         -> c: granted until 95ms
			c unlocks                        -> release 2
			not-sent
			after 10s                        -> (95ms) c ok: doubtful; (1s) release 2; unsubscribe redisson_lock__channel:{stock}:wheellock:u`,
		"a code that comes while somebody else is forced off": placed + `
			force x:9 0                      -> release 0 x:9
			given 2
			answer 1                         -> force ok: granted; acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 2.97s`,
		"what was given for one is granted to another, for his lease": placed + `
			c locks watch 5s
			b waits-no-longer                -> b: gave up, last taken for 2s
			given 2                          -> c: granted until 2.97s
			after 50ms                       -> renew 2 5s`,
		"a lock that is given begins a new turn": placed + `
			given 2                          -> b: granted until 2.97s
			c locks
			stall 11ms
			b unlocks                        -> b ok: granted; confirm 2 3s
			answer 0                         -> c: granted until 2.981s, handed on
			c unlocks                        -> release 2
			answer 0                         -> c ok: granted
			stall 500ms
			d locks                          -> acquire in line 3 3s n 1003
			answer joins 2s
			e locks
			given 3                          -> d: granted until 3.481s
			stall 11ms
			d unlocks                        -> d ok: granted; confirm 3 3s`,
		"a lock that is given ends a row of questions in vain": placed + inVain(vainQuestions) + `
			told 0
			given 2                          -> b: granted until 2.97s
			message                          -> renew 2 3s`,
		"who gives up after a lock was given hears that it was taken": placed + `
			told 0                           -> acquire in line 2 3s n 1002
			again OOM
			c locks lease 10s
			given 2                          -> b: granted until 2.97s
			b unlocks                        -> release 2
			c times-out                      -> c: timed out, last taken for 2s`,
	})
}

// B has been refused a fenced mutex and stands in line.
const fencedPlaced = `
			codes
			b locks                          -> acquire fenced 1 3s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 3s n 1002
			answer joins 2s                  -> `

// invariant: gift-counts-from-its-acquire, tokens-grow
func TestFencedGiftScenes(t *testing.T) {
	playScenes(t, FencedKind, map[string]string{
		"a lock that is given is asked for at once, for its tokens": fencedPlaced + `
			given 2                          -> acquire in line 2 3s n 1002
			answer 5063                      -> b: granted until 2.97s, token 5000
			c locks
			b unlocks                        -> c: granted until 2.97s, handed on, token 5001; b ok: granted
			c unlocks                        -> release 2
			answer given 2                   -> c ok: granted`,
		"also while messages are heeded late": fencedPlaced + inVain(vainQuestions) + `
			told 0
			given 2                          -> acquire in line 2 3s n 1002`,
		"a code that comes again is a hint": fencedPlaced + inVain(vainQuestions) + `
			told 0
			given 2                          -> acquire in line 2 3s n 1002
			again OOM
			given 2`,
		"what comes beside a code is no token": fencedPlaced + `
			told -5063 1001 -7063            -> acquire in line 2 3s n 1002
			answer 6063                      -> b: granted until 2.97s, token 6000`,
		"what earlier versions say is a hint": fencedPlaced + `
			told -5063 6064                  -> acquire in line 2 3s n 1002
			answer 6063                      -> b: granted until 2.97s, token 6000`,
		"a code among many is lost as any message": fencedPlaced + `
			told 77 77 77 77 1001            -> acquire in line 2 3s n 1002
			told -5063 1001
			answer 6063                      -> b: granted until 2.97s, token 6000`,
		"a lock that was given when Redis refuses tokens": fencedPlaced + `
			given 2                          -> acquire in line 2 3s n 1002
			again OOM
			told -5063 1001                  -> acquire in line 2 3s n 1002
			again OOM
			b waits-no-longer                -> b: gave up, last refused for now "OOM"; release from line 2 n 1002`,
	})
}

// inVain are so many questions after which the place stands.
func inVain(questions int) string {
	return strings.Repeat(`
			told 0                           -> acquire in line 2 3s n 1002
			answer stands 2s`, questions)
}
