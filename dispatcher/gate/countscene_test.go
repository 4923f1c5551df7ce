package gate

import "testing"

// A waits for two permits, and listens.
const waitsForTwo = `
			a locks n 2                      -> take 1 2x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 2x1, n 2 collects
			answer 0                         -> subscribe redisson_sc:{stock}`

// A waits for five permits, and listens.
const waitsForFive = `
			a locks n 5                      -> take 1 5x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 5x1, n 5 collects
			answer 0                         -> subscribe redisson_sc:{stock}`

func TestSemaphoreScenes(t *testing.T) {
	playScenes(t, SemaphoreKind, map[string]string{
		"what was taken for who has gone is the next one's, and else goes back": `
			a locks n 2                      -> take 1 2x1,
			b locks n 3
			a leaves
			answer 2                         -> a: is not there; give 2 n 2
			answer 3                         -> take 3 3x1,
			c locks n 4
			c leaves
			answer 4                         -> b: granted; give 4 n 1
			answer 0                         -> take 5 4x1,
			idle                             -> false`,
		"what goes back is refused": `
			a locks n 2                      -> take 1 2x1,
			a goes                           -> a: is not there
			answer 2                         -> give 2 n 2
			answer fault 1
			after 20ms                       -> (17ms) give 2 n 2
			answer fault 5
			after 1s                         -> (980ms) give 3 n 2
			answer 0
			idle                             -> true`,
		"a waiter that gives up has those behind it asked for anew": `
			a locks n 5                      -> take 1 5x1,
			b locks n 1
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 5x1,1x1, n 5 collects
			answer 0                         -> subscribe redisson_sc:{stock}
			a times-out                      -> a: timed out, last taken for who knows how long, absent; take 3 1x1, n 1
			answer 1                         -> b: granted
			c locks n 5                      -> take 4 5x1, n 5 collects
			answer 0
			c waits-no-longer                -> c: gave up, last taken for who knows how long, absent`,
		"a question whose answer never came": `
			a locks n 5                      -> take 1 5x1,
			lost
			after 49s                        -> (17ms) take 1 5x1, next 1
			lost
			after 2s                         -> (37ms) take 1 5x1, next 1
			b locks
			lost                             -> a: doubtful; take 2 1x1,
			b goes                           -> b: is not there
			answer 0`,
		"releases add up": `
			x changes give 1                 -> give 1 n 1
			y changes give 2
			z changes give 3
			p changes add-permits 9
			q changes give 4
			answer 0                         -> x ok: granted; give 2 n 5
			answer 0                         -> y ok: granted; z ok: granted; add permits 3 n 9
			answer 9                         -> p ok: granted 9; give 4 n 4
			answer 0                         -> q ok: granted
			idle                             -> true`,
		"releases add up to what Lua counts exactly": `
			x changes give 1                 -> give 1 n 1
			y changes give 2251799813685247
			z changes give 1
			p changes give 1
			answer 0                         -> x ok: granted; give 2 n 2251799813685248
			answer 0                         -> y ok: granted; z ok: granted; give 3 n 1
			answer 0                         -> p ok: granted`,
		"a debt of one is no loss": `
			x changes drain-permits 0        -> drain permits 1
			answer not-mine                  -> x ok: granted -1`,
		"a release is repeated while it is refused for now": `
			x changes give 1                 -> give 1 n 1
			answer fault 1
			after 20ms                       -> (17ms) give 1 n 1
			again LOADING
			after 40ms                       -> (37ms) give 1 n 1
			not-sent
			y changes give 1
			link-up                          -> give 2 n 2
			lost
			after 30ms                       -> (17ms) give 2 n 2
			answer 0                         -> x ok: granted; y ok: granted`,
		"for half a minute": `
			x changes give 1                 -> give 1 n 1
			again LOADING
			after 29900ms                    -> (17ms) give 1 n 1
			again LOADING
			after 200ms                      -> (37ms) give 1 n 1
			again LOADING                    -> x ok: refused for now "LOADING"
			idle                             -> true`,
		"a change that does not last fails while the link is down": `
			x changes set-permits 5          -> set permits 1 n 5
			y changes set-permits 6
			z changes give 1
			p changes drain-permits 0
			not-sent                         -> y ok: down; p ok: down; x ok: down
			q changes set-permits 7          -> give 2 n 1
			not-sent                         -> q ok: down
			link-up                          -> give 3 n 1
			answer 0                         -> z ok: granted
			idle                             -> true`,
		"a change whose answer was lost": `
			x changes drain-permits 0        -> drain permits 1
			lost
			after 20ms                       -> (17ms) drain permits 1
			again LOADING
			after 40ms                       -> (37ms) drain permits 1
			answer late
			after 0s
			after 1s                         -> (73ms) drain permits 1
			answer 5                         -> x ok: granted 5
			idle                             -> true`,
		"a change whose answer never came": `
			x changes drain-permits 0        -> drain permits 1
			lost
			after 50s                        -> (17ms) drain permits 1
			again LOADING                    -> x ok: doubtful
			after 1s
			idle                             -> true`,
		"a change that came too late": `
			x changes drain-permits 0        -> drain permits 1
			answer late                      -> drain permits 1
			answer late
			after 40ms                       -> (37ms) drain permits 1
			answer 3                         -> x ok: granted 3
			a locks                          -> take 2 1x1,
			answer late                      -> take 2 1x1, next 1
			answer late
			a times-out                      -> a: timed out, last too late "by the clock of Redis it came more than 2s after it was sent, and did nothing"`,
		"a take that too few replicas have goes back": `
			a locks n 2                      -> take 1 2x1,
			b locks try                      -> b: taken for who knows how long
			alone 3                          -> give 2 n 3
			answer 0
			message
			after 20ms                       -> (17ms) take 3 2x1,
			answer 2                         -> a: granted
			idle                             -> true`,
		"a broken link": `
			a locks n 2                      -> take 1 2x1,
			b locks n 1 try                  -> b: taken for who knows how long
			not-sent
			after 500ms
			link-up                          -> take 2 2x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 3 2x1, n 2 collects
			not-sent
			link-up                          -> take 4 2x1, n 2 collects
			answer 0                         -> subscribe redisson_sc:{stock}
			a times-out                      -> a: timed out, last taken for who knows how long, absent`,
		"a refused question": `
			a locks n 2                      -> take 1 2x1,
			b locks n 1 try                  -> b: taken for who knows how long
			again LOADING
			c locks try                      -> c: taken for who knows how long
			after 20ms                       -> (17ms) take 2 2x1,
			answer fault 1
			after 40ms                       -> (33ms) take 3 2x1,
			denied NOPERM                    -> a: refused "NOPERM"
			idle                             -> true
			d locks                          -> take 4 1x1,
			answer fault 6                   -> d: refused (fault 6)
			idle                             -> true`,
		"nothing will be heard any more": `
			a locks n 2                      -> take 1 2x1,
			x changes give 1
			y changes drain-permits 0
			end                              -> a: closed; x ok: down; y ok: down
			idle                             -> false`,
		"nothing will be heard of a change": `
			y changes drain-permits 0        -> drain permits 1
			x changes give 1
			end                              -> y ok: doubtful; x ok: down
			idle                             -> true`,
		"nothing will be heard of a change that waits": `
			y changes give 0                 -> give 1
			lost
			x changes drain-permits 1        -> give 1
			end                              -> y ok: doubtful; x ok: down
			idle                             -> true`,
		"one question is for 128 callers at most": `
			callers 130                      -> take 1 1x1,
			answer 1                         -> caller0: granted; take 2 1x128,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			waiting                          -> 129`,
		"one question asks for so many permits at most": `
			a locks n 2251799813685248       -> take 1 2251799813685248x1,
			b locks n 1
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 2251799813685248x1, n 2251799813685248 collects`,
		"what a caller hears who came after others had gone": `
			a locks                          -> take 1 1x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			a goes                           -> a: is not there
			b locks                          -> take 2 1x1,
			b times-out                      -> b: timed out, last down`,
		"a message that was taken for our own": waitsForTwo + `
			x changes give 1                 -> give 3 n 1
			message
			answer fault 5                   -> x ok: refused (fault 5); take 4 2x1, n 2 collects
			answer 0
			x changes give 1                 -> give 5 n 1
			denied NOPERM                    -> x ok: refused "NOPERM"
			x changes give 1                 -> give 6 n 1
			lost
			message
			after 20ms                       -> (17ms) give 6 n 1
			answer 1                         -> x ok: granted 1; take 7 2x1, n 2 collects
			answer 0
			message                          -> take 8 2x1, n 2 collects`,
		"a subscription that is refused later": waitsForTwo + `
			subscribed NOPERM
			after 2s                         -> (500ms) take 3 2x1, n 2 collects`,
		"a change whose answer is given up in its pause": `
			x changes drain-permits 0        -> drain permits 1
			lost
			after 49950ms                    -> (17ms) drain permits 1
			lost
			after 40ms                       -> (37ms) drain permits 1
			lost
			after 100ms                      -> (10ms) x ok: doubtful
			idle                             -> true`,
		"a refusal for now, and one for good, of a question that may have been served": `
			a locks n 2                      -> take 1 2x1,
			lost
			after 20ms                       -> (17ms) take 1 2x1, next 1
			answer fault 5
			after 40ms                       -> (37ms) take 1 2x1, next 1
			after 3s
			answer fault 1
			after 80ms                       -> (73ms) take 1 2x1, next 1
			answer fault 5                   -> a: refused (fault 5)
			idle                             -> true`,
		"a try does not wait for the end of a pause": `
			x changes give 1                 -> give 1 n 1
			answer fault 1
			b locks try                      -> give 1 n 1
			answer fault 1                   -> b: refused (fault 1) for now
			y changes drain-permits 0        -> give 1 n 1
			answer 0                         -> x ok: granted; drain permits 2
			answer 0                         -> y ok: granted`,
		"a drained engine hears no news": waitsForTwo + `
			drain                            -> a: closed
			after 1s                         -> unsubscribe redisson_sc:{stock}; unsubscribe redisson_sc:{stock}:wheellock:u
			idle                             -> true`,
		"messages in vain, and a grant": `
			a locks                          -> take 1 1x1,
			b locks
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 1x2, n 1
			answer 0                         -> subscribe redisson_sc:{stock}
			message                          -> take 3 1x2, n 1
			answer 0
			in-vain 8 0
			message                          -> take 12 1x2, n 1
			answer 0
			message
			after 1ms                        -> take 13 1x2, n 1
			answer 1                         -> a: granted; take 14 1x1, n 1
			answer 0
			message                          -> take 15 1x1, n 1
			answer 0
			message                          -> take 16 1x1, n 1`,
		"a try asks again after a message": `
			b locks                          -> take 1 1x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 1x1, n 1
			answer 0                         -> subscribe redisson_sc:{stock}
			b goes                           -> b: is not there
			a locks try                      -> take 3 1x1,
			message
			answer 0                         -> take 4 1x1,
			answer 0                         -> a: taken for who knows how long, absent`,
		"permits of one run are bounded, too": `
			a locks n 1125899906842624       -> take 1 1125899906842624x1,
			b locks n 1125899906842624
			c locks n 1125899906842624
			d locks n 1125899906842624
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 1125899906842624x2, n 1125899906842624 collects`,
		"a try while a question waits for its answer": `
			a locks try                      -> take 1 1x1,
			lost                             -> a: doubtful
			b locks try                      -> take 1 1x1, next 1
			answer fault 1                   -> b: refused (fault 1) for now
			c locks try                      -> take 1 1x1, next 1
			not-sent                         -> c: down
			idle                             -> false`,
		"changes that wait while a question finds the link down": `
			a locks                          -> take 1 1x1,
			x changes drain-permits 0
			y changes give 1
			not-sent                         -> x ok: down
			link-up                          -> give 2 n 1
			answer 0                         -> y ok: granted; take 3 1x1,
			answer 1                         -> a: granted`,
		"a machine is woken when something is due, and not earlier": `
			a locks                          -> take 1 1x1,
			alarm                            -> none
			lost
			alarm                            -> 17ms
			after 20ms                       -> (17ms) take 1 1x1, next 1
			answer 0                         -> take 2 1x1,
			alarm                            -> none
			subscribed
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			a goes                           -> a: is not there
			alarm                            -> 1s
			x changes give 1                 -> give 3 n 1
			alarm                            -> 1s
			answer fault 1
			alarm                            -> 18ms
			after 20ms                       -> (18ms) give 3 n 1
			not-sent
			alarm                            -> 980ms`,
		"nobody holds a semaphore": `
			a locks                          -> take 1 1x1,
			answer 1                         -> a: granted
			oldest                           -> none
			waiting                          -> 0`,
		"what was granted in vain is given, however often it is refused": `
			a locks n 2                      -> take 1 2x1,
			answer 2                         -> a: granted
			a returns                        -> give 2 n 2
			denied NOPERM
			idle                             -> false
			after 2s                         -> (1s) give 3 n 2
			denied NOPERM                    -> give 4 n 2
			answer 0
			idle                             -> true`,
		"what was granted in vain goes to the next": `
			a locks n 2                      -> take 1 2x1,
			answer 2                         -> a: granted
			b locks                          -> take 2 1x1,
			a returns
			answer 0                         -> b: granted; give 3 n 1`,
	})
}

func TestLatchScenes(t *testing.T) {
	playScenes(t, LatchKind, map[string]string{
		"count-downs add up": `
			x changes count-down 1           -> count down 1 n 1
			y changes count-down 1
			z changes count-down 1
			answer 0                         -> x ok: granted; count down 2 n 2`,
		"all are let through when the count is 0": `
			a locks                          -> look 1
			b locks
			oldest                           -> none
			answer 2                         -> look 2
			subscribed
			answer 2                         -> subscribe redisson_countdownlatch__channel__{stock}
			c locks                          -> look 3
			answer 1
			x changes count-down 1           -> count down 4 n 1
			answer 0                         -> x ok: granted; look 5
			answer 0                         -> a: granted; b: granted; c: granted
			idle                             -> false`,
		"each caller looks for itself": `
			a locks                          -> look 1
			answer 1                         -> subscribe redisson_countdownlatch__channel__{stock}
			b locks                          -> look 2
			answer 1
			subscribed                       -> look 3
			answer 1
			message                          -> look 4
			a leaves
			answer 0                         -> a: is not there; b: granted
			idle                             -> false`,
		"an answer after others in vain": `
			a locks                          -> look 1
			again LOADING
			after 20ms                       -> (17ms) look 2
			again LOADING
			after 40ms                       -> (33ms) look 3
			answer 1                         -> subscribe redisson_countdownlatch__channel__{stock}
			subscribed                       -> look 4
			again LOADING
			after 20ms                       -> (20ms) look 5
			answer 0                         -> a: granted`,
		"the poll cap": `
			a locks                          -> look 1
			answer 1                         -> subscribe redisson_countdownlatch__channel__{stock}
			subscribed                       -> look 2
			answer 1
			after 2s                         -> (1.567s) look 3
			lost
			after 20ms                       -> (18ms) look 3
			answer 0                         -> a: granted`,
		"counting down, setting, deleting": `
			x changes count-down 1           -> count down 1 n 1
			y changes count-down 2
			z changes set-count 5
			answer 3                         -> x ok: granted 3; count down 2 n 2
			answer 3                         -> y ok: granted 3; set count 3 n 5
			p changes delete-count 0
			answer 1                         -> z ok: granted 1; delete count 4
			answer 1                         -> p ok: granted 1
			idle                             -> true`,
	})
}
