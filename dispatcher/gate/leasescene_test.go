package gate

import "testing"

// What a command may have given a key is noted for as long as the tenure lives, and for as long as nobody knows.
// invariant: handoff-keeps-lease, released-owner-is-dead
func TestLeaseScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"the key stands for as long as a renewal may have made it that got no answer for long": `
			a locks lease 1s                 -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			a extends 3s                     -> renew 1 3s
			after 700ms
			lost
			after 300ms                      -> (20ms) renew 1 3s; (290ms) a ends: lost; a ok: lost
			denied NOPERM                    -> release 1
			after 3s
			denied NOPERM
			after 1s                         -> release 1
			denied NOPERM
			after 200ms
			idle                             -> false
			alarm                            -> 560ms
			after 1s
			idle                             -> true`,
		"an orphan that may come again is released for as long as its key may stand": `
			a locks adopts java:1            -> adopt 1 java:1 1s
			lost                             -> a: doubtful; release 1
			answer not-mine
			after 3s                         -> (2.25s) release 1
			denied NOPERM
			after 1s                         -> (17ms) release 1
			answer 0
			idle                             -> true`,
		"a tenure that had a longer lease is not handed on after it was watched": `
			a locks owner 7 lease 1s         -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			b locks owner 7 lease 5s         -> renew 1 5s
			answer 1                         -> b: granted until 4.95s, re-entered
			b unlocks                        -> b ok: granted
			c locks owner 7                  -> renew 1 1s
			answer 1                         -> c: granted until 4.95s, re-entered
			d locks
			a unlocks                        -> a ok: granted
			c unlocks                        -> release 1`,
		"a renewal is for the longest lease that is waited for": `
			a locks owner 7 lease 1s         -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			suspect                          -> renew 1 1ms
			a extends 5s
			b locks owner 7 lease 3s
			answer 1                         -> renew 1 5s
			answer 1                         -> a ok: granted until 4.95s; b: granted until 2.97s, re-entered`,
		"a question that is asked again is for who waits now": `
			a locks                          -> acquire 1 1s
			lost
			b locks lease 1s
			a goes                           -> a: is not there
			after 20ms                       -> (17ms) acquire 1 1s
			answer 1                         -> b: granted until 1.007s
			after 900ms`,
		"a channel that is refused later is not asked for again": waitsForOthers + `
			subscribed NOPERM
			a goes                           -> a: is not there
			b locks                          -> acquire in line 4 1s n 1004
			answer held 5s`,
		"a caller that gives up before anything is heard": `
			a locks                          -> acquire 1 1s
			a waits-no-longer                -> a: gave up, last down`,
	})
}
