package gate

import "testing"

// TestOthersListen: other listeners make us leave the name free for a pause. That there are none proves nothing.
// invariant: others-get-a-turn
func TestOthersListen(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
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
