package gate

import "testing"

// What a command may have given a key is noted for as long as the tenure lives, and for as long as nobody knows.
// invariant: handoff-keeps-lease, released-owner-is-dead
func TestLeaseScenes(t *testing.T) {
	for name, text := range map[string]string{
		"a tenure that had a longer lease is not handed on after a shorter one was confirmed": `
			a locks owner 7                  -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			b locks owner 7 lease 5s         -> renew 1 5s
			answer 1                         -> b: granted until 4.95s, re-entered
			b unlocks                        -> b ok: granted
			c locks
			after 400ms                      -> (333ms) renew 1 1s
			answer 1
			a unlocks                        -> a ok: granted; swap 1 1s next 2`,
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
	} {
		t.Run(name, func(t *testing.T) { playScene(t, MutexKind, text) })
	}
}
