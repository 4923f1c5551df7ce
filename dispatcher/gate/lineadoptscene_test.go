package gate

import "testing"

// A lock that is adopted while a place of the same engine stands in line: it is ours under another owner id.
// invariant: gift-counts-from-its-acquire, detached-name-stays
func TestLineAdoptScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"a code that comes while the release of an adopted lock is still due": placed + `
			c locks adopts x:9 lease 100ms   -> adopt 3 x:9 100ms
			answer 1                         -> c: granted until 95ms
			c unlocks                        -> release 3
			not-sent
			stall 104ms
			given 2                          -> c ok: doubtful
			link-up                          -> release 3
			answer not-mine                  -> acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 3.074s`,
		"an adopted lock that is given to our own place at its release": placed + `
			c locks adopts x:9 watch 4s      -> adopt 3 x:9 4s
			answer 1                         -> c: granted until 3.96s
			c unlocks                        -> release 3
			d locks
			given 2
			answer given 0                   -> c ok: granted; acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 2.97s`,
		"an adopted lock that is handed on to who waits in line, whose place is given up": placed + `
			c locks adopts x:9               -> adopt 3 x:9 3s
			answer 1                         -> c: granted until 2.97s
			c unlocks                        -> b: granted until 2.97s, handed on; c ok: granted; release from line 2 n 1002
			b unlocks
			d locks
			answer not-mine                  -> release 3
			answer 1                         -> b ok: granted`,
		"and given to that place if it cannot be given up in time": placed + `
			c locks adopts x:9               -> adopt 3 x:9 3s
			answer 1                         -> c: granted until 2.97s
			c unlocks                        -> b: granted until 2.97s, handed on; c ok: granted; release from line 2 n 1002
			again OOM
			b unlocks                        -> release 3
			given 2
			answer given 0                   -> b ok: granted
			after 20ms                       -> (17ms) release from line 2 n 1002
			answer 0`,
		"an adopted lock that is taken from us, and given to our own place": placed + `
			c locks adopts x:9               -> adopt 3 x:9 3s
			answer 1                         -> c: granted until 2.97s
			given 2                          -> renew 3 3s
			answer not-mine                  -> c ends: lost; acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 2.97s`,
		"an adopted lock that is taken from us when it is our place's turn": placed + `
			c locks adopts x:9               -> adopt 3 x:9 3s
			answer 1                         -> c: granted until 2.97s
			told 0                           -> renew 3 3s
			answer not-mine                  -> c ends: lost; acquire in line 2 3s n 1002`,
		"an adopted lock that vanished leaves the place as it is": placed + `
			c locks adopts x:9               -> adopt 3 x:9 3s
			answer 1                         -> c: granted until 2.97s
			suspect                          -> renew 3 3s
			answer not-mine                  -> c ends: lost; acquire in line 2 3s n 1002`,
		"who waits beside an adopted lock asks when that is released": placed + `
			c locks adopts x:9 watch 4s      -> adopt 3 x:9 4s
			answer 1                         -> c: granted until 3.96s
			c unlocks                        -> release 3
			answer given 0                   -> c ok: granted; acquire in line 2 3s n 1002`,
		"and after the first in line, whatever was said before": placed + `
			c locks adopts x:9 watch 4s      -> adopt 3 x:9 4s
			told 0
			answer 1                         -> c: granted until 3.96s
			c unlocks                        -> release 3
			answer waiting 0 2               -> c ok: granted
			after 18ms                       -> acquire in line 2 3s n 1002`,
		"a hold that is adopted in its own engine is released, but from no line": placed + `
			told 0                           -> acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 2.97s
			c locks adopts u:2               -> b ends: lost; adopt 3 u:2 3s
			answer 1                         -> c: granted until 2.97s; release 2
			answer not-mine`,
		"and from the line, twice, if an acquire of it may still leave a place": placed + `
			told 0                           -> acquire in line 2 3s n 1002
			lost
			after 20ms                       -> (17ms) acquire in line 2 3s n 1002
			answer 1                         -> b: granted until 2.987s
			c locks adopts u:2               -> b ends: lost; adopt 3 u:2 3s
			answer 1                         -> c: granted until 2.99s; release from line 2 n 1002
			answer not-mine
			after 900ms
			c unlocks                        -> release 3
			answer 0                         -> c ok: granted
			after 3s                         -> (100ms) unsubscribe redisson_lock__channel:{stock}:wheellock:u; (1.33s) release from line 2 n 1002`,
		"an adoption that Redis refuses for now leaves the place as it is": placed + `
			c locks adopts x:9               -> adopt 3 x:9 3s
			again OOM                        -> c: refused for now "OOM"; acquire in line 2 3s n 1002`,
		"what was adopted for one is not for who adopts from another owner": `
			a locks adopts x:1               -> adopt 1 x:1 1s
			b locks adopts x:2
			a waits-no-longer                -> a: gave up, last down
			answer 1                         -> release 1
			answer 0                         -> adopt 2 x:2 1s`,
		"what was adopted for the watchdog is not for who has a fixed lease": `
			a locks adopts x:1               -> adopt 1 x:1 1s
			b locks adopts x:1 lease 1s
			a waits-no-longer                -> a: gave up, last down
			answer 1                         -> release 1
			answer 0                         -> adopt 2 x:1 1s
			answer not-mine                  -> b: lost`,
	})
}
