package gate

import "testing"

// What a tenure that goes on brings along: pauses, extensions, pauses for others.
func TestKeptScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"an extension of a hold that was unlocked meanwhile, in a tenure that goes on": `
			a locks owner 7 lease 300ms      -> acquire 1 300ms
			answer 1                         -> a: granted until 295ms
			b locks owner 7 lease 200ms      -> b: granted until 195ms, re-entered
			a extends 3s                     -> renew 1 3s
			a unlocks                        -> a ok: granted
			answer 1                         -> a ok: lost
			b until                          -> 195ms`,
		"an extension within what the tenure has": `
			a locks owner 7 lease 300ms      -> acquire 1 300ms
			answer 1                         -> a: granted until 295ms
			b locks owner 7 lease 100ms      -> b: granted until 95ms, re-entered
			b extends 200ms                  -> b ok: granted until 195ms
			b extends 300ms                  -> b ok: granted until 295ms`,
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
