package gate

import "testing"

// The place of an engine in the line for permits, as a caller sees it.
func TestPermitsLineScenes(t *testing.T) {
	const (
		waiting = `
			a locks n 1                      -> take 1 1x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 1x1, n 1
			answer joins 0s`
		first = `
			a locks n 1                      -> take 1 1x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 1x1, n 1
			answer joins-as-first 0s`
	)
	playScenes(t, SemaphoreKind, map[string]string{
		"one that is called asks at once": waiting + `
			told 0                           -> take 3 1x1, n 1
			answer 1                         -> a: granted
			after 10s                        -> (1s) unsubscribe redisson_sc:{stock}:wheellock:u
			idle                             -> true`,
		"one that is to leave the permits to others first asks after a pause": waiting + `
			told 2
			after 39ms
			after 1ms                        -> take 3 1x1, n 1
			answer 1                         -> a: granted`,
		"if they take them, it listens to the channel": first + `
			told 2
			after 40ms                       -> take 3 1x1, n 1
			answer is-first 0s               -> subscribe redisson_sc:{stock}
			message                          -> take 4 1x1, n 1`,
		"one that is not the first asks after the poll cap": waiting + `
			after 1500ms
			after 100ms                      -> (67ms) take 3 1x1, n 1`,
		"the first asks every 500 ms": first + `
			after 499ms
			after 1ms                        -> take 3 1x1, n 1
			answer is-first 0s               -> subscribe redisson_sc:{stock}
			after 499ms
			after 1ms                        -> take 4 1x1, n 1`,
		"one that is told that it is the first asks within 500 ms": waiting + `
			after 200ms
			told 1
			after 499ms
			after 1ms                        -> take 3 1x1, n 1
			answer is-first 0s               -> subscribe redisson_sc:{stock}
			after 500ms                      -> take 4 1x1, n 1`,
		"one that is called while its question is on its way asks once more": waiting + `
			told 0                           -> take 3 1x1, n 1
			told 0
			answer stands 0s                 -> take 4 1x1, n 1`,
		"the first is to listen to the channel for as long as others free permits": waiting + `
			told 0                           -> take 3 1x1, n 1
			answer is-first-and-listens 0s   -> subscribe redisson_sc:{stock}
			message                          -> take 4 1x1, n 1
			answer is-first 0s
			after 400ms
			message                          -> take 5 1x1, n 1
			answer is-first 0s
			after 400ms
			message                          -> take 6 1x1, n 1
			answer is-first 0s
			after 300ms                      -> (200ms) unsubscribe redisson_sc:{stock}`,
		"the first that nobody calls for 500 ms expects others for five seconds": first + `
			after 500ms                      -> take 3 1x1, n 1
			answer is-first 0s               -> subscribe redisson_sc:{stock}
			subscribed                       -> take 4 1x1, n 1
			answer is-first 0s
			message                          -> take 5 1x1, n 1
			answer 1                         -> a: granted
			b locks n 1                      -> take 6 1x1, n 1
			answer joins 0s
			message
			told 1                           -> take 7 1x1, n 1
			answer is-first 0s
			message                          -> take 8 1x1, n 1
			answer 1                         -> b: granted
			after 5s                         -> (1s) unsubscribe redisson_sc:{stock}; unsubscribe redisson_sc:{stock}:wheellock:u`,
		"one that expects others listens when it is told that it is the first": first + `
			after 500ms                      -> take 3 1x1, n 1
			answer 1                         -> a: granted
			b locks n 1                      -> take 4 1x1, n 1
			answer joins 0s
			message
			told 1                           -> subscribe redisson_sc:{stock}
			subscribed                       -> take 5 1x1, n 1
			answer is-first 0s
			message                          -> take 6 1x1, n 1`,
		"messages on the channel are for the first": `
			a locks n 1                      -> take 1 1x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 1x1, n 1
			answer is-first-and-listens 0s   -> subscribe redisson_sc:{stock}
			message                          -> take 3 1x1, n 1
			answer stands 0s
			message
			after 1s                         -> unsubscribe redisson_sc:{stock}`,
		"a release of our own does not ask while our place stands": waiting + `
			x changes give 1                 -> give 3 n 1
			answer 1                         -> x ok: granted 1
			told 0                           -> take 4 1x1, n 1
			answer 1                         -> a: granted`,
		"it does when its call is heard before its answer": waiting + `
			x changes give 1                 -> give 3 n 1
			told 0
			answer 1                         -> x ok: granted 1; take 4 1x1, n 1
			answer 1                         -> a: granted`,
		"it does without a place": `
			a locks n 1                      -> take 1 1x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			x changes give 1                 -> give 2 n 1
			answer 0                         -> x ok: granted; take 3 1x1,`,
		"the last waiter gives up, and so does its engine": waiting + `
			a goes                           -> a: is not there; take 3 n 1
			answer 0
			idle                             -> false
			after 10s                        -> (1s) unsubscribe redisson_sc:{stock}:wheellock:u
			idle                             -> true`,
		"one of two waiters gives up": waiting + `
			b locks n 1
			b goes                           -> b: is not there
			a goes                           -> a: is not there; take 3 n 1
			answer 0`,
		"a turn that its callers leave is over": `
			a locks n 2                      -> take 1 2x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 2x1, n 2 collects
			answer collects 0s
			after 50ms
			a goes                           -> a: is not there; take 3 n 2
			answer 0
			after 300ms
			b locks n 2                      -> take 4 2x1, n 2 collects`,
		"the rest after a turn for several is not for one that wants a single permit": `
			a locks n 2                      -> take 1 2x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 2x1, n 2 collects
			answer collects 0s
			after 50ms
			a goes                           -> a: is not there; take 3 n 2
			answer 0
			b locks n 1                      -> take 4 1x1, n 1
			answer is-first-and-listens 0s   -> subscribe redisson_sc:{stock}
			message                          -> take 5 1x1, n 1`,
		"a waiter comes while the place is given up": waiting + `
			a goes                           -> a: is not there; take 3 n 1
			b locks n 2
			answer 0                         -> take 4 2x1, n 2 collects
			answer joins 0s
			told 0                           -> take 5 2x1, n 2 collects`,
		"a place that is given up without an answer is given up once more": waiting + `
			a goes                           -> a: is not there; take 3 n 1
			lost
			after 20ms                       -> (18ms) take 3 n 1
			b locks n 2
			answer 0                         -> take 4 2x1, n 2 collects
			answer joins 0s`,
		"a place whose end is not sent ends with the inbox": waiting + `
			a goes                           -> a: is not there; take 3 n 1
			not-sent
			link-up
			after 1s                         -> unsubscribe redisson_sc:{stock}:wheellock:u
			idle                             -> true`,
		"the question that left the place gets no answer, and its waiter gives up": `
			a locks n 1                      -> take 1 1x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 1x1, n 1
			lost
			a goes                           -> a: is not there
			after 20ms                       -> (17ms) take 2 next 1 n 1
			answer 0`,
		"a place whose end is refused": waiting + `
			a goes                           -> a: is not there; take 3 n 1
			denied NOPERM
			after 1s                         -> unsubscribe redisson_sc:{stock}:wheellock:u
			idle                             -> true`,
		"a place whose end was refused is called": waiting + `
			a goes                           -> a: is not there; take 3 n 1
			denied NOPERM
			told 0                           -> take 4 n 1
			answer 0
			told 1`,
		"a question in line whose last waiter has gone meanwhile": waiting + `
			told 0                           -> take 3 1x1, n 1
			a goes                           -> a: is not there
			answer stands 0s                 -> take 4 n 1
			answer 0`,
		"permits that come when the last waiter has gone go back": waiting + `
			told 0                           -> take 3 1x1, n 1
			a goes                           -> a: is not there
			answer 1                         -> give 4 n 1
			answer 0`,
		"an inbox that may not be heard": `
			a locks n 1                      -> take 1 1x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed NOPERM                -> subscribe redisson_sc:{stock}
			subscribed                       -> take 2 1x1,
			answer 0
			message                          -> take 3 1x1,
			answer 1                         -> a: granted`,
		"neither the inbox nor the channel may be heard": `
			a locks n 1                      -> take 1 1x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed NOPERM                -> subscribe redisson_sc:{stock}
			subscribed NOPERM
			after 2s                         -> (1.973s) take 2 1x1,
			answer 1                         -> a: granted`,
		"an inbox that is refused after a break": waiting + `
			subscribed NOPERM                -> subscribe redisson_sc:{stock}
			subscribed                       -> take 3 1x1, n 1
			answer 0
			message                          -> take 4 1x1,`,
		"an inbox that is heard again after a break": waiting + `
			subscribed                       -> take 3 1x1, n 1
			answer stands 0s`,
		"without a place the channel is listened to": waiting + `
			told 0                           -> take 3 1x1, n 1
			answer 0                         -> subscribe redisson_sc:{stock}
			subscribed                       -> take 4 1x1, n 1
			answer 0
			message                          -> take 5 1x1, n 1
			answer joins 0s
			message
			after 1s                         -> unsubscribe redisson_sc:{stock}`,
		"a try beside a waiter is turned away": waiting + `
			b locks n 1 try                  -> b: taken for who knows how long`,
		"a try before a waiter takes no place": `
			a locks n 1 try                  -> take 1 1x1,
			b locks n 1
			answer 0                         -> a: taken for who knows how long, absent; take 2 1x1,
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u`,
		"a try while the inbox of earlier waiters is heard": waiting + `
			told 0                           -> take 3 1x1, n 1
			answer 1                         -> a: granted
			b locks n 1 try                  -> take 4 1x1,
			answer 0                         -> b: taken for who knows how long, absent`,
		"a waiter while the inbox of earlier ones is heard": waiting + `
			told 0                           -> take 3 1x1, n 1
			answer 1                         -> a: granted
			b locks n 2                      -> take 4 2x1, n 2 collects
			answer joins 0s
			b goes                           -> b: is not there; take 5 n 2`,
		"a place is given up by a call of its own": waiting + `
			x changes give 1                 -> give 3 n 1
			y changes set-permits 5
			z changes drain-permits 0
			w changes give 2
			a goes                           -> a: is not there
			answer 0                         -> x ok: granted; set permits 4 n 5
			answer 5                         -> y ok: granted 5; take 5 n 1
			answer 5                         -> drain permits 6
			answer 5                         -> z ok: granted 5; give 7 n 2`,
		"a closed engine gives up its place": waiting + `
			close                            -> a: closed; take 3 n 1
			answer 0
			idle                             -> true`,
		"so does a drained one": waiting + `
			drain                            -> a: closed; take 3 n 1
			answer 0`,
		"the link breaks and works again": waiting + `
			told 0                           -> take 3 1x1, n 1
			not-sent
			link-up                          -> take 4 1x1, n 1
			answer stands 0s`,
		"a question in line without an answer is asked again": waiting + `
			told 0                           -> take 3 1x1, n 1
			lost
			after 20ms                       -> (18ms) take 3 1x1, next 1 n 1
			answer is-first 0s               -> take 4 1x1, n 1
			answer is-first 0s
			after 500ms                      -> take 5 1x1, n 1`,
		"a caller that wants another number asks with the place that stands": `
			a locks n 1                      -> take 1 1x1,
			b locks n 3
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 1x1,3x1, n 1
			answer joins 0s
			a goes                           -> a: is not there; take 3 3x1, n 1 collects
			answer joins 0s
			told 0                           -> take 4 3x1, n 3 collects
			answer 3                         -> b: granted`,
		"a question that serves some has the others ask in line at once": `
			a locks n 1                      -> take 1 1x1,
			b locks n 1
			answer 0                         -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> take 2 1x2, n 1
			answer joins 0s
			told 0                           -> take 3 1x2, n 1
			answer 1                         -> a: granted; take 4 1x1, n 1
			answer joins 0s`,
	})
}

// The same of permits that expire, where that differs.
func TestPlacesOfPermitsThatExpire(t *testing.T) {
	const (
		waiting = `
			a locks n 1                      -> permit take 1 1x1x1000,
			answer held 5s                   -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> permit take 2 1x1x1000, n 1
			answer joins 5s`
	)
	playScenes(t, PermitKind, map[string]string{
		"one that is called asks at once": waiting + `
			told 0                           -> permit take 3 1x1x1000, n 1
			answer 1                         -> a: granted until 990ms
			a unlocks                        -> permit free 4 3,1,0; n 1
			answer 1                         -> a ok: granted
			after 1s                         -> unsubscribe redisson_sc:{stock}:wheellock:u
			idle                             -> true`,
		"the first asks every 500 ms, or when the first of the held permits ends": waiting + `
			told 1
			after 499ms
			after 1ms                        -> permit take 3 1x1x1000, n 1
			answer is-first 300ms            -> subscribe redisson_sc:{stock}
			after 300ms
			after 1ms                        -> permit take 4 1x1x1000, n 1
			answer is-first-and-listens 5s
			message                          -> permit take 5 1x1x1000, n 1`,
		"each waiter has a place of its own after the one before": waiting + `
			b locks n 2
			told 0                           -> permit take 3 1x1x1000,2x1x1000, n 1
			answer 1                         -> a: granted until 990ms; permit take 6 2x1x1000, n 2 collects
			answer joins 5s
			told 0                           -> permit take 8 2x1x1000, n 2 collects`,
		"a release of our own does not ask while our place stands": `
			a locks n 1                      -> permit take 1 1x1x1000,
			answer 1                         -> a: granted until 990ms
			b locks n 1                      -> permit take 2 1x1x1000,
			answer held 5s                   -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> permit take 3 1x1x1000, n 1
			answer joins 5s
			a unlocks                        -> permit free 4 1,1,0; n 1
			answer 1                         -> a ok: granted
			told 0                           -> permit take 5 1x1x1000, n 1
			answer 1                         -> b: granted until 990ms`,
		"a place that is given up without an answer is given up once more": waiting + `
			a goes                           -> a: is not there; permit take 3 n 1
			lost
			after 20ms                       -> (18ms) permit take 3 n 1
			answer not-mine
			after 1s                         -> (980ms) unsubscribe redisson_sc:{stock}:wheellock:u
			idle                             -> true`,
		"the question that left the place gets no answer, and its waiter gives up": `
			a locks n 1                      -> permit take 1 1x1x1000,
			answer held 5s                   -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> permit take 2 1x1x1000, n 1
			lost
			a goes                           -> a: is not there
			after 20ms                       -> (17ms) permit take 2 1x1x1000, next 1 n 1
			answer stands 5s                 -> permit free 3 2,1,0; n 1
			answer 0                         -> permit take 4 n 1`,
		"its place is for as many as it asked for, whoever waits now": `
			a locks n 1                      -> permit take 1 1x1x1000,
			b locks n 3
			answer held 5s                   -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> permit take 2 1x1x1000,3x1x1000, n 1
			lost
			a goes                           -> a: is not there
			after 20ms                       -> (18ms) permit take 2 1x1x1000,3x1x1000, next 1 n 1
			answer joins 5s                  -> permit free 6 2,1,0;3,3,0; n 4
			answer 0                         -> permit take 7 3x1x1000, n 1 collects
			b goes                           -> b: is not there`,
		"a closed engine gives up its place": waiting + `
			close                            -> a: closed; permit take 3 n 1
			answer not-mine
			idle                             -> true`,
	})
}
