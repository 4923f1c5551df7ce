package gate

import "testing"

// TestOthersListen: other listeners make us leave the name free for a pause. That there are none proves nothing.
// invariant: others-get-a-turn
func TestOthersListen(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"a confirmation that finds others is the last of its turn": `
			a locks                          -> acquire 1 1s
			b locks
			answer 1                         -> a: granted until 990ms
			after 10ms
			a unlocks                        -> a ok: granted; confirm 1 1s
			answer 1                         -> release 1
			answer 1
			after 2ms                        -> acquire 2 1s
			answer 1                         -> b: granted until 1.002s`,
		"no message shortens a pause": leftToOthers + `
			rtt 100ms
			answer 2                         -> a ok: granted
			after 1ms
			message
			message
			after 198ms
			after 1ms                        -> acquire in line 5 1s n 1005`,
	})
}
