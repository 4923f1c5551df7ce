package gate

import "testing"

// B stands in line, behind an engine.
const simpleLine = `
			codes
			b locks                          -> acquire simple 1 3s
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire simple in line 2 3s n 1002
			answer joins 2s`

// Of simple locks that engines stand in line for while others poll.
// invariant: others-get-a-turn, gift-counts-from-its-acquire
func TestSimpleScenes(t *testing.T) {
	playScenes(t, SimpleKind, map[string]string{
		"it is given by a message, and its release says how long the turn is": simpleLine + `
			given 2                          -> b: granted until 2.97s
			b unlocks                        -> release simple 2 turn 830ms
			answer 0                         -> b ok: granted
			after 10s                        -> (1s) unsubscribe redisson_lock__channel:{stock}:wheellock:u
			idle                             -> true`,
		"a 0 asks at once": simpleLine + `
			told 0                           -> acquire simple in line 2 3s n 1002
			answer 1                         -> b: granted until 2.97s`,
		"a 1 asks after a pause, in which it looks who has the name": simpleLine + `
			told 1
			after 14ms                       -> peek 0
			answer 0
			after 14ms                       -> peek 0
			answer held 5s
			after 111ms
			after 1ms                        -> acquire simple in line 2 3s n 1002
			answer 1                         -> b: granted until 3.11s
			b unlocks                        -> release simple 2 turn 83ms`,
		"when the pause is over and an engine has the name, it does not look any more": simpleLine + `
			told 1
			b waits-no-longer                -> b: gave up, last taken for 2s; release simple from line 2 turn 830ms n 1002
			answer not-mine
			after 200ms
			c locks                          -> acquire simple in line 3 3s n 1003
			answer joins 2s`,
		"a try does not wait for the end of the pause": simpleLine + `
			told 1
			after 20ms                       -> (14ms) peek 0
			c locks try                      -> c: taken for 1.98s
			answer 0`,
		"the first in line polls ever more rarely while another than an engine has it, and no longer when an engine has it": `
			codes
			b locks                          -> acquire simple 1 3s
			answer leads 5s                  -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire simple in line 2 3s n 1002
			answer joins-first 5s
			after 1ms                        -> (1ms) acquire simple in line 2 3s n 1002
			refuse 24 -1ms
			after 100ms                      -> (61ms) acquire simple in line 2 3s n 1002
			answer stands 2s
			after 1500ms`,
		"it polls every few milliseconds while others take it again and again": simpleLine + `
			told 0                           -> acquire simple in line 2 3s n 1002
			answer joins-first 5s
			refuse 24 5s
			after 4ms                        -> (2ms) acquire simple in line 2 3s n 1002
			answer stands 2s`,
		"who had it and left it free in a pause waits for longer than the first": `
			codes
			a locks                          -> acquire simple 1 3s
			answer 1                         -> a: granted until 2.97s
			a unlocks                        -> release simple 1 turn 830ms
			b locks
			answer waiting 0 1               -> a ok: granted
			after 140ms
			after 3ms                        -> (2ms) acquire simple 2 3s`,
		"it is detached": `
			a locks                          -> acquire simple 1 1s
			answer 1                         -> a: granted until 990ms
			a detaches 5s                    -> detach simple 1 5s
			answer 0                         -> a ok: granted
			idle                             -> true`,
		"it is freed by force, by its value": `
			force token 0                    -> release simple 0 token turn 830ms
			answer 0                         -> force ok: granted
			idle                             -> true`,
	})
}
