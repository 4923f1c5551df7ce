package gate

import "testing"

// What is left of a fair lock when an answer is lost: a copy of the command may still take the lock, or bring a place back.
func TestFairDoubtScenes(t *testing.T) {
	playScenes(t, FairKind, map[string]string{
		"a release goes on for as long as a lost question may take the lock": `
			a locks lease 100ms              -> fair ask 1 NEW 100ms next 1 n 1
			lost
			after 20ms                       -> (17ms) fair ask 1 NEW 100ms next 1 n 1
			answer 1                         -> a: granted until 112ms
			a unlocks                        -> fair release 1
			denied NOPERM                    -> a ok: refused "NOPERM"
			after 1s                         -> fair release 1
			answer 0
			after 3s                         -> (1.23s) fair leave 1 n 1
			answer 0                         -> fair release 1
			answer 0
			idle                             -> true`,
		"a lock that was passed on while a question for it may still arrive": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			b locks
			lost
			after 20ms                       -> (17ms) fair ask 1 NEW 1s next 1 n 1
			answer 1                         -> a: granted until 1.007s; fair ask 0 OLD next 2 n 1
			answer held 1s
			a unlocks                        -> fair release 1 1s next 2
			answer passed                    -> a ok: granted; b: granted until 1.01s
			b unlocks                        -> fair release 2
			answer 0                         -> b ok: granted
			after 3s                         -> (2.23s) fair leave 1 n 1
			answer 0                         -> fair leave 2 n 1
			answer 0                         -> fair release 1
			answer 0                         -> fair release 2
			answer 0
			idle                             -> true`,
		"a lock that was passed on is renewed": fairHeld + `
			a unlocks                        -> fair release 1 1s next 2
			answer passed                    -> a ok: granted; b: granted until 990ms
			after 400ms                      -> (333ms) renew 2 1s
			answer 1
			b until                          -> 1.323s`,
		"a lock that vanished, whose place may come back": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			lost
			after 20ms                       -> (17ms) fair ask 1 NEW 1s next 1 n 1
			answer 1                         -> a: granted until 1.007s
			suspect                          -> renew 1 1s
			answer not-mine                  -> a ends: lost
			b locks                          -> fair ask 2 NEW 1s next 2 n 1
			answer 1                         -> b: granted until 1.01s
			b unlocks                        -> fair release 2
			answer 0                         -> b ok: granted
			after 3s                         -> (2.23s) fair leave 1 n 1
			answer 0                         -> fair leave 2 n 1
			answer 0                         -> fair release 1
			answer 0                         -> fair release 2
			answer 0
			idle                             -> true`,
		"places whose joining got no answer join again, and no others with them": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer 1                         -> a: granted until 990ms
			b locks                          -> fair ask 0 OLD next 2 n 1
			c locks
			lost
			after 20ms                       -> (18ms) fair ask 0 OLD next 2 n 1
			answer held 1s                   -> fair ask 0 OLD next 3 n 1
			answer held 1s`,
		"places are given up although others may join later": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer 1                         -> a: granted until 990ms
			b locks                          -> fair ask 0 OLD next 2 n 1
			answer held 1s
			b goes                           -> b: is not there; fair leave 2 n 1
			lost
			c locks                          -> fair ask 0 OLD next 3 n 1
			not-sent
			alarm                            -> 17ms`,
		"the key may be gone when a release passes the lock on": fairHeld + `
			a unlocks                        -> fair release 1 1s next 2
			suspect
			answer passed                    -> a ok: granted; b: granted until 990ms; renew 2 1s
			answer not-mine                  -> b ends: lost`,
		"sixteen places are given up at once": `
			callers 20                       -> fair ask 1 NEW 1s next 1 n 1
			answer held 5s                   -> fair ask 1 OLD 1s next 2 n 19; subscribe redisson_lock__channel:{stock}:u:1
			not-sent
			drain                            -> caller0: closed; caller1: closed; caller2: closed; caller3: closed; caller4: closed; caller5: closed; caller6: closed; caller7: closed; caller8: closed; caller9: closed; caller10: closed; caller11: closed; caller12: closed; caller13: closed; caller14: closed; caller15: closed; caller16: closed; caller17: closed; caller18: closed; caller19: closed; fair leave 1 n 16; unsubscribe redisson_lock__channel:{stock}:u:1
			answer 0                         -> fair leave 17 n 4
			answer 0
			idle                             -> true`,
	})
}
