package gate

import "testing"

// invariant: fair-queue-order
func TestFairTurnScenes(t *testing.T) {
	for name, text := range map[string]string{
		"who has no place yet asks for one after a release": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer 1                         -> a: granted until 990ms
			a unlocks                        -> fair release 1
			b locks
			answer 0                         -> a ok: granted; fair ask 2 NEW 1s next 2 n 1`,
	} {
		t.Run(name, func(t *testing.T) { playScene(t, FairKind, text) })
	}
}
