package gate

import "testing"

// Owner ids that may appear in Redis although nobody wants them are released beside all else.
func TestOrphanScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"the release of an orphan says nothing of the tenure that ends meanwhile": adoptedHold + `
			a unlocks                        -> release 1
			answer 0                         -> a ok: granted
			b locks lease 5s                 -> acquire 2 5s
			answer 1                         -> b: granted until 4.97s
			after 3s                         -> (2.23s) release 1
			b unlocks
			answer not-mine                  -> release 2
			answer 0                         -> b ok: granted
			idle                             -> true`,
		"a release that nobody heard has no message that comes back": waitsForOthers + `
			force java:1 0                   -> release 0 java:1
			answer 0                         -> force ok: granted; acquire in line 4 1s n 1004
			answer held 5s
			message                          -> acquire in line 5 1s n 1005`,
		"who forces is answered once, also when the engine has closed": `
			force java:1 0                   -> release 0 java:1
			end                              -> force ok: closed
			answer 0
			idle                             -> true`,
		"a link that comes up does not hurry what may still arrive": adoptedHold + `
			a unlocks                        -> release 1
			answer 0                         -> a ok: granted
			link-up
			after 3s                         -> (2.23s) release 1
			answer not-mine
			idle                             -> true`,
	})
}
