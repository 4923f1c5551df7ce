package gate

import "testing"

// What a tenure that goes on brings along: pauses, extensions, pauses for others.
func TestKeptScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"a confirmation begins pauses anew": `
			a locks                          -> acquire 1 1s
			b locks
			answer 1                         -> a: granted until 990ms
			after 334ms                      -> (333ms) renew 1 1s
			answer fault 1
			a unlocks                        -> a ok: granted; confirm 1 1s
			answer 0                         -> b: granted until 1.324s, handed on
			after 334ms                      -> (333ms) renew 1 1s
			answer fault 1
			after 20ms                       -> renew 1 1s`,
		"an extension of a hold that was unlocked meanwhile, in a tenure that goes on": `
			a locks owner 7 lease 300ms      -> acquire 1 300ms
			answer 1                         -> a: granted until 295ms
			b locks owner 7 lease 200ms      -> b: granted until 195ms, re-entered
			a extends 3s                     -> renew 1 3s
			a unlocks                        -> a ok: granted
			answer 1                         -> a ok: lost
			b until                          -> 195ms`,
		"a subscription that is confirmed while nobody waits ends no pause for others": `
			a locks                          -> acquire 1 1s
			answer held 1s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 1s n 1002
			answer held 1s                   -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire in line 3 1s n 1003
			answer held 1s
			message                          -> acquire in line 4 1s n 1004
			answer 1                         -> a: granted until 990ms
			a unlocks                        -> release 4
			answer 2                         -> a ok: granted
			subscribed
			a locks
			after 2ms                        -> acquire in line 5 1s n 1005`,
		"an extension within what the tenure has": `
			a locks owner 7 lease 300ms      -> acquire 1 300ms
			answer 1                         -> a: granted until 295ms
			b locks owner 7 lease 100ms      -> b: granted until 95ms, re-entered
			b extends 200ms                  -> b ok: granted until 195ms
			b extends 300ms                  -> b ok: granted until 295ms`,
		"a message that was ours makes nobody of who listens later": `
			handoff-time 0s
			a locks                          -> acquire 1 1s
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 1s n 1002
			answer joins-first 5s            -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire in line 2 1s n 1002
			answer 1                         -> a: granted until 990ms
			a unlocks                        -> release 2
			answer 1                         -> a ok: granted
			after 1s                         -> unsubscribe redisson_lock__channel:{stock}; unsubscribe redisson_lock__channel:{stock}:wheellock:u
			b locks                          -> acquire 3 1s
			answer 1                         -> b: granted until 1.99s
			c locks
			b unlocks                        -> release 3
			answer 1                         -> b ok: granted
			after 2ms                        -> acquire 4 1s`,
	})
}

// invariant: readers-share-one-tenure
func TestTheMessageOfADowngradeIsAHint(t *testing.T) {
	playScene(t, RWKind, `
			a locks write owner 7            -> acquire write 1 1s
			answer held 5s                   -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> acquire write in line 2 1s n 1002
			answer joins-first 5s            -> subscribe redisson_rwlock:{stock}
			subscribed                       -> acquire write in line 2 1s n 1002
			answer 1                         -> a: granted until 990ms
			b locks owner 7                  -> b: granted until 990ms, re-entered
			a unlocks                        -> downgrade 2 1s
			answer 1                         -> a ok: granted
			message                          -> renew read 2 1s`)
}
