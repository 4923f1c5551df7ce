package gate

import "testing"

// What is left of a swap that proves nothing.
func TestSwapScenes(t *testing.T) {
	for name, text := range map[string]string{
		"a swap that came late and found nothing to swap": `
			a locks                          -> acquire 1 1s
			b locks lease 500ms
			answer 1                         -> a: granted until 990ms
			a unlocks                        -> a ok: granted; swap 1 500ms next 2
			after 1s
			b goes                           -> b: is not there
			answer not-mine                  -> release 1
			answer not-mine
			idle                             -> true`,
		"a swap that came late and was refused": `
			a locks                          -> acquire 1 1s
			b locks lease 500ms
			answer 1                         -> a: granted until 990ms
			a unlocks                        -> a ok: granted; swap 1 500ms next 2
			after 1s
			b goes                           -> b: is not there
			denied NOPERM                    -> release 1
			answer not-mine
			idle                             -> true`,
		"the fresh owner of a swap is released until its key has run out": `
			a locks                          -> acquire 1 1s
			b locks lease 3s
			answer 1                         -> a: granted until 990ms
			a unlocks                        -> a ok: granted; swap 1 3s next 2
			b goes                           -> b: is not there
			lost                             -> release 1
			after 10ms
			answer 0                         -> release 2
			after 5s
			lost
			after 17ms                       -> (17ms) release 2
			answer 0
			idle                             -> true`,
	} {
		t.Run(name, func(t *testing.T) { playScene(t, MutexKind, text) })
	}
}
