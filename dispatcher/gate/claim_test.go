package gate

import (
	"fmt"
	"testing"
)

// B has been refused, listens and has a claim.
const claimed = `
			claims
			b locks                          -> acquire 1 3s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire claim 2 3s n 1001
			answer claimed 2s                -> `

// invariant: claim-counts-from-its-acquire, detached-name-stays
func TestClaimScenes(t *testing.T) {
	for name, text := range map[string]string{
		"a lock that is given counts from the question, and is renewed soon": claimed + `
			stall 700ms
			given 1                          -> b: granted until 1.98s
			after 49ms
			after 1ms                        -> renew 2 3s
			answer 1
			b unlocks                        -> release claim 2 n 1
			answer given 2                   -> b ok: granted`,
		"what is unlocked soon is not renewed": claimed + `
			given 1                          -> b: granted until 1.98s
			b unlocks                        -> release claim 2 n 1
			answer 1                         -> b ok: granted
			after 10s                        -> (1s) unsubscribe redisson_lock__channel:{stock}`,
		"what was given is renewed again in time, however long its lease is to be": `
			claims
			b locks watch 10m                -> acquire 1 10m0s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire claim 2 10m0s n 1001
			answer claimed 2s
			given 1                          -> b: granted until 1.98s
			after 50ms                       -> renew 2 10m0s
			again CLUSTERDOWN                -> b at risk: refused for now "CLUSTERDOWN"
			after 1s                         -> (40ms) renew 2 10m0s; (950ms) unsubscribe redisson_lock__channel:{stock}`,
		"what wakes waiters of Redisson beside a code wakes nobody here": claimed + `
			redisson
			given 9                          -> acquire claim 2 3s n 1002
			redisson
			answer claimed 2s`,
		"another code is a hint": claimed + `
			given 9                          -> acquire claim 2 3s n 1002
			answer claimed 2s`,
		"a code of an earlier question is a hint": claimed + `
			after 2001ms                     -> (1.567s) acquire claim 2 3s n 1002
			answer claimed 2s
			given 1                          -> acquire claim 2 3s n 1003
			answer held 1s
			given 2                          -> b: granted until 3.547s`,
		"a code that comes too late is a hint": claimed + `
			stall 1.98s
			given 1                          -> acquire claim 2 3s n 1002
			answer 1                         -> b: granted until 4.95s`,
		"a code that comes while a question is on its way": claimed + `
			message                          -> acquire claim 2 3s n 1002
			given 1
			answer claimed 2s                -> acquire claim 2 3s n 1003
			answer 1                         -> b: granted until 2.97s`,
		"a code that comes twice": claimed + `
			given 1                          -> b: granted until 1.98s
			given 1                          -> renew 2 3s
			answer 1`,
		"a refusal by which no claim stands counts for nothing": claimed + `
			stall 700ms
			message                          -> acquire claim 2 3s n 1002
			answer held 1s
			given 1                          -> b: granted until 1.98s`,
		"a claim that nobody wants is given up": claimed + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release claim 2 n 1
			answer not-mine`,
		"a claim that was given when nobody wants it any more": claimed + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release claim 2 n 1
			given 1
			answer given 1`,
		"a claim whose acquire got no answer before is not asked for again": `
			claims
			b locks                          -> acquire 1 3s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire claim 2 3s n 1001
			lost
			after 20ms                       -> (17ms) acquire claim 2 3s n 1002
			answer claimed 2s
			given 2                          -> acquire claim 3 3s n 1003
			answer claimed 2s
			after 1.7s                       -> (1.687s) acquire claim 3 3s n 1004
			answer claimed 2s
			after 600ms                      -> (530ms) release claim 2 n 1`,
		"a lock that is given to an owner who was forced off": claimed + `
			force u:2 2                      -> release claim 2 u:2 n 1
			given 1
			answer 1                         -> force ok: granted; acquire claim 3 3s n 1002`,
		"our next callers have the lock as after any grant": claimed + `
			c locks
			given 1                          -> b: granted until 1.98s
			b unlocks                        -> c: granted until 1.98s, handed on; b ok: granted
			c unlocks                        -> release claim 2 n 1`,
		"who has a fixed lease has no claim": `
			claims
			b locks lease 10s                -> acquire 1 10s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire 2 10s
			answer held 2s`,
		"a lock that was given over an earlier link is asked for": claimed + `
			link-breaks
			given 1                          -> acquire claim 2 3s n 1002
			answer 1                         -> b: granted until 2.97s`,
		"what is left of a given lease is enough for a least time": claimed + `
			c locks least 1030ms
			stall 950ms
			b leaves
			given 1                          -> b: is not there; c: granted until 1.98s`,
		"what is left of a given lease is too short for a least time": claimed + `
			c locks least 1031ms
			stall 950ms
			b leaves
			given 1                          -> b: is not there; release claim 2 n 1
			answer 0                         -> acquire 3 3s`,
		"a lock that is given late is renewed sooner": claimed + `
			stall 1.9s
			given 1                          -> b: granted until 1.98s
			after 19ms
			after 1ms                        -> renew 2 3s
			again LOADING                    -> b at risk: refused for now "LOADING"`,
		"who has a least time has no claim": `
			claims
			b locks least 1s                 -> acquire 1 3s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire 2 3s
			answer held 2s`,
		"who has a lease as long as a claim has one": `
			claims
			b locks watch 2s                 -> acquire 1 2s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire claim 2 2s n 1001
			answer claimed 2s`,
		"who has a shorter lease has none": `
			claims
			b locks watch 1999ms             -> acquire 1 1.999s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire 2 1.999s
			answer held 2s`,
		"who asks once has none": claimed + `
			b waits-no-longer                -> b: gave up, last taken for 2s; release claim 2 n 1
			answer not-mine
			c locks try                      -> acquire 3 3s
			answer held 2s                   -> c: taken for 2s`,
		"what was claimed for another is asked for": claimed + `
			c locks lease 10s
			b waits-no-longer                -> b: gave up, last taken for 2s
			given 1                          -> acquire claim 2 10s n 1002
			answer 1                         -> c: granted until 9.9s`,
		"a code that comes while nobody knows what became of the question": claimed + `
			message                          -> acquire claim 2 3s n 1002
			lost
			given 1                          -> acquire claim 2 3s n 1003
			answer 1                         -> b: granted until 2.97s`,
		"a claim that nobody wants by the time of the answer is given up once": claimed + `
			message                          -> acquire claim 2 3s n 1002
			b waits-no-longer                -> b: gave up, last taken for 2s
			answer claimed 2s                -> release claim 2 n 1
			answer not-mine
			after 10s                        -> (1s) unsubscribe redisson_lock__channel:{stock}`,
		"a claim that has run out needs no release": claimed + `
			stall 2040ms
			b waits-no-longer                -> b: gave up, last taken`,
		"a claim that may stand is released": claimed + `
			stall 2039ms
			b waits-no-longer                -> b: gave up, last taken; release claim 2 n 1
			stall 1ms
			not-sent
			after 10s                        -> (999ms) unsubscribe redisson_lock__channel:{stock}`,
		"what was claimed is released to claims, also when nobody listens here any more": claimed + `
			given 1                          -> b: granted until 1.98s
			after 50ms                       -> renew 2 3s
			answer 1
			after 960ms                      -> (950ms) unsubscribe redisson_lock__channel:{stock}
			b unlocks                        -> release claim 2`,
		"who was never refused knows of no claims": `
			claims
			b locks                          -> acquire 1 3s
			answer 1                         -> b: granted until 2.97s
			b unlocks                        -> release 1`,
		"an acquire without a claim is repeated as it was": `
			claims
			b locks lease 10s                -> acquire 1 10s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire 2 10s
			lost
			link-up                          -> acquire 2 10s
			answer 1                         -> b: granted until 9.9s
			b unlocks                        -> release claim 2 n 1`,
		"a claim that stands for longer than its holder's lease is released for as long": claimed + `
			c locks lease 100ms
			b waits-no-longer                -> b: gave up, last taken for 2s
			given 1                          -> acquire claim 2 100ms n 1002
			answer 1                         -> c: granted until 95ms
			c unlocks                        -> release claim 2 n 1
			not-sent
			after 10s                        -> (95ms) c ok: doubtful; (1s) release claim 2; unsubscribe redisson_lock__channel:{stock}`,
		"a claim of which a later question got no answer is not asked for again": claimed + `
			message                          -> acquire claim 2 3s n 1002
			lost
			after 20ms                       -> (17ms) acquire claim 2 3s n 1003
			answer claimed 2s
			given 3                          -> acquire claim 3 3s n 1004
			answer claimed 2s`,
		"a code that comes while somebody else is forced off": claimed + `
			force x:9 0                      -> release claim 0 x:9 n 1
			given 1
			answer 1                         -> force ok: granted; acquire claim 2 3s n 1002
			answer 1                         -> b: granted until 2.97s`,
		"a code that comes too late and is counted as our own message": claimed + `
			given 1                          -> b: granted until 1.98s
			b unlocks                        -> release claim 2 n 1
			answer 1                         -> b ok: granted
			c locks                          -> acquire claim 3 3s n 1002
			answer claimed 2s
			stall 1s
			link-up                          -> acquire claim 3 3s n 1003
			answer held 2s
			stall 980ms
			alarm                            -> 707ms
			given 2                          -> acquire claim 3 3s n 1004`,
		"what was claimed for one is given to another, for his lease": claimed + `
			c locks watch 5s
			b waits-no-longer                -> b: gave up, last taken for 2s
			given 1                          -> c: granted until 1.98s
			after 50ms                       -> renew 2 5s`,
		"a claim ends with the lock that was given to it": claimed + `
			given 1                          -> b: granted until 1.98s
			c locks lease 10s
			b unlocks                        -> release claim 2 n 1
			answer 1                         -> b ok: granted; acquire 3 10s
			answer 1                         -> c: granted until 9.9s
			c unlocks                        -> release claim 3 n 1
			answer 1                         -> c ok: granted
			d locks                          -> acquire claim 4 3s n 1002`,
		"a lock that is given ends a row of refusals": claimed + `
			message                          -> acquire claim 2 3s n 1002
			again OOM
			after 20ms                       -> (17ms) acquire claim 2 3s n 1003
			again OOM
			after 40ms                       -> (33ms) acquire claim 2 3s n 1004
			again OOM
			given 1                          -> b: granted until 1.98s
			after 50ms                       -> renew 2 3s
			again OOM
			after 60ms                       -> (40ms) renew 2 3s`,
		"a lock that is given begins a new turn": claimed + `
			given 1                          -> b: granted until 1.98s
			c locks
			stall 11ms
			b unlocks                        -> b ok: granted; confirm 2 3s
			answer 1                         -> c: granted until 2.981s, handed on
			c unlocks                        -> release claim 2 n 1
			answer 1                         -> c ok: granted
			stall 500ms
			d locks                          -> acquire claim 3 3s n 1002
			answer claimed 2s
			e locks
			given 2                          -> d: granted until 2.491s
			stall 11ms
			d unlocks                        -> d ok: granted; confirm 3 3s`,
		"a lock that is given ends a row of questions in vain": claimed + inVain(vainQuestions) + `
			message
			given 11                         -> b: granted until 1.98s
			message                          -> renew 2 3s`,
		"who gives up after a lock was given hears that it was taken": claimed + `
			message                          -> acquire claim 2 3s n 1002
			again OOM
			c locks lease 10s
			given 1                          -> b: granted until 1.98s
			b unlocks                        -> release claim 2 n 1
			c times-out                      -> c: timed out, last taken for 2s`,
	} {
		t.Run(name, func(t *testing.T) { playScene(t, MutexKind, text) })
	}
}

// B has been refused a fenced mutex, listens and has a claim.
const fencedClaimed = `
			claims
			b locks                          -> acquire fenced 1 3s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire claim 2 3s n 1001
			answer claimed 2s                -> `

// invariant: claim-counts-from-its-acquire, tokens-grow
func TestFencedClaimScenes(t *testing.T) {
	for name, text := range map[string]string{
		"a lock that is given is asked for at once, for its tokens": fencedClaimed + `
			given 1                          -> acquire claim 2 3s n 1002
			answer 5063                      -> b: granted until 2.97s, token 5000
			c locks
			b unlocks                        -> c: granted until 2.97s, handed on, token 5001; b ok: granted
			c unlocks                        -> release claim 2 n 1
			answer given 2                   -> c ok: granted`,
		"also while messages are heeded late": fencedClaimed + inVain(vainQuestions) + `
			message
			given 11                         -> acquire claim 2 3s n 1012`,
		"a code that comes again is a hint": fencedClaimed + inVain(vainQuestions) + `
			message
			given 11                         -> acquire claim 2 3s n 1012
			again OOM
			given 11`,
		"what comes beside a code is no token": fencedClaimed + `
			says -5063 1001 -7063            -> acquire claim 2 3s n 1002
			answer 6063                      -> b: granted until 2.97s, token 6000`,
		"what earlier versions say is a hint": fencedClaimed + `
			says -5063 6064                  -> acquire claim 2 3s n 1002
			answer 6063                      -> b: granted until 2.97s, token 6000`,
		"a code among many is lost as any message": fencedClaimed + `
			says 77 77 77 77 1001            -> acquire claim 2 3s n 1002
			says -5063 1001
			answer 6063                      -> b: granted until 2.97s, token 6000`,
		"a lock that was given when Redis refuses tokens": fencedClaimed + `
			given 1                          -> acquire claim 2 3s n 1002
			again OOM
			says -5063 1001                  -> acquire claim 2 3s n 1003
			again OOM
			b waits-no-longer                -> b: gave up, last refused for now "OOM"; release claim 2 n 1`,
	} {
		t.Run(name, func(t *testing.T) { playScene(t, FencedKind, text) })
	}
}

// inVain are so many questions after which the claim stands.
func inVain(questions int) string {
	text := ""
	for n := range questions {
		text += fmt.Sprintf(`
			message                          -> acquire claim 2 3s n %d
			answer claimed 2s`, 1002+n)
	}
	return text
}

// Of the operations of a name only those with claims have another in their place.
// invariant: command-follows-its-slot
func TestUnclaimed(t *testing.T) {
	for kind, acquire := range map[Kind]Op{MutexKind: Acquire, FencedKind: AcquireFenced} {
		c := Command{Entry: &Entry{Kind: kind}}
		for op := range Ops {
			want := map[Op]Op{AcquireClaim: acquire, ReleaseClaim: Release}[op]
			if got := c.Unclaimed(op); got != want {
				t.Errorf("kind %d: in place of %v there is %v, want %v", kind, op, got, want)
			}
		}
	}
}
