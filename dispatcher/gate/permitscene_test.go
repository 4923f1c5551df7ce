package gate

import "testing"

// A has a permit.
const permitHeld = `
			a locks                          -> permit take 1 1x1x1000,
			answer 1                         -> a: granted until 990ms`

func TestPermitScenes(t *testing.T) {
	playScenes(t, PermitKind, map[string]string{
		"permits are taken for the first, renewed and freed": `
			a locks n 2                      -> permit take 1 2x1x1000,
			b locks n 3
			answer 1                         -> a: granted until 990ms; permit take 3 3x1x1000,
			answer held 500ms                -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> permit take 6 3x1x1000, n 3 collects
			answer held 500ms                -> subscribe redisson_sc:{stock}
			after 334ms                      -> (333ms) permit renew 9 1,2,1000; 1s
			answer 1                         -> permit take 10 3x1x1000, n 3 collects
			after 200ms
			answer 1                         -> b: granted until 1.324s
			b unlocks                        -> permit free 13 10,3,0; n 3
			answer 1                         -> b ok: granted
			a unlocks                        -> permit free 14 1,2,0; n 2
			a unlocks                        -> a ok: lost
			answer 0                         -> a ok: lost
			oldest                           -> none
			idle                             -> false
			after 1s                         -> unsubscribe redisson_sc:{stock}; unsubscribe redisson_sc:{stock}:wheellock:u
			idle                             -> true`,
		"a try is told how long it would take, and with it those that were asked for beside it and want as much": `
			x changes permit-free 9          -> permit free 1 0,1,0;id-0000000000009 next 16 n 1
			a locks n 2 try
			b locks n 3 try
			c locks n 1 try
			answer 0                         -> x ok: lost; permit take 2 2x1x1000,3x1x1000,1x1x1000,
			f locks n 2 try
			answer held 700ms                -> a: taken for 700ms; b: taken for 700ms; permit take 8 1x1x1000,2x1x1000,
			answer 1                         -> c: granted until 990ms; f: taken for who knows how long
			d locks n 5                      -> permit take 11 5x1x1000,
			e locks try                      -> e: taken for who knows how long
			answer held 5s                   -> subscribe redisson_sc:{stock}:wheellock:u`,
		"permits that nobody here has are freed by their numbers": `
			x changes permit-free 8          -> permit free 1 0,1,0;id-0000000000008 next 16 n 1
			answer 0                         -> x ok: lost
			y changes permit-free 0          -> permit free 2 0,1,0;id-0000000000000 next 16 n 1
			not-sent
			after 1s                         -> permit free 3 0,1,0;id-0000000000000 next 16 n 1
			answer 1                         -> y ok: granted
			idle                             -> true`,
		"a fixed lease ends, and is not renewed": `
			a locks lease 300ms              -> permit take 1 1x1x300,
			answer 1                         -> a: granted until 295ms
			oldest                           -> 0s
			after 300ms                      -> (295ms) a ends: lost; permit free 2 1,1,0; n 1
			answer 1
			oldest                           -> none
			idle                             -> true`,
		"extensions without end keep nobody from giving back, or from asking": `
			a locks lease 300ms              -> permit take 1 1x1x300,
			answer 1                         -> a: granted until 295ms
			b locks lease 300ms              -> permit take 2 1x1x300,
			answer 1                         -> b: granted until 295ms
			a extends 500ms                  -> permit renew 3 1,1,500; 300ms
			a extends 600ms
			b unlocks
			c locks lease 300ms
			answer 1                         -> permit free 4 2,1,0; n 1
			a extends 700ms
			answer 1                         -> b ok: granted; permit take 5 1x1x300,
			a extends 800ms
			answer 1                         -> c: granted until 295ms; permit renew 6 1,1,800; 300ms`,
		"an extension counts from when its call left": `
			a locks lease 300ms              -> permit take 1 1x1x300,
			answer 1                         -> a: granted until 295ms
			a extends 500ms                  -> permit renew 2 1,1,500; 300ms
			after 5ms
			a extends 900ms
			a extends 700ms
			after 5ms
			answer 1                         -> permit renew 3 1,1,900; 300ms
			a until                          -> 495ms
			answer 1                         -> a ok: granted until 901ms; a ok: granted until 901ms; a ok: granted until 901ms
			a until                          -> 901ms
			a extends 100ms                  -> permit renew 4 1,1,100; 300ms
			answer 1                         -> a ok: granted until 901ms
			a until                          -> 901ms
			after 1s                         -> (891ms) a ends: lost; permit free 5 1,1,0; n 1
			answer 1
			idle                             -> true`,
		"an extension that was not answered is asked for again": `
			a locks lease 900ms              -> permit take 1 1x1x900,
			answer 1                         -> a: granted until 891ms
			a extends 2s                     -> permit renew 2 1,1,2000; 900ms
			lost
			a extends 3s
			after 20ms                       -> (18ms) permit renew 2 1,1,2000; 900ms
			answer 1                         -> permit renew 3 1,1,3000; 900ms
			a until                          -> 1.998s
			answer 1                         -> a ok: granted until 2.99s; a ok: granted until 2.99s
			after 1s
			a until                          -> 2.99s
			a extends 5s                     -> permit renew 4 1,1,5000; 900ms
			denied NOPERM
			a until                          -> 2.99s
			after 10s                        -> (20ms) permit renew 5 1,1,5000; 900ms; (1.97s) a ends: lost; a ok: lost
			answer 1                         -> permit free 6 1,1,0; n 1
			idle                             -> false`,
		"an extension of a hold that is gone": `
			a locks lease 900ms              -> permit take 1 1x1x900,
			answer 1                         -> a: granted until 891ms
			a extends 2s                     -> permit renew 2 1,1,2000; 900ms
			answer 0                         -> a ends: lost; a ok: lost; permit free 3 1,1,0; n 1
			answer 0
			a extends 1s                     -> a ok: lost
			idle                             -> true`,
		"a renewal that fails is tried again until the deadline": permitHeld + `
			after 334ms                      -> (333ms) permit renew 2 1,1,1000; 1s
			lost
			after 20ms                       -> permit renew 2 1,1,1000; 1s
			answer fault 2
			after 40ms                       -> (33ms) permit renew 2 1,1,1000; 1s
			not-sent
			after 50ms
			link-up                          -> permit renew 2 1,1,1000; 1s
			answer 1                         -> permit renew 3 1,1,1000; 1s
			answer 1
			a until                          -> 1.434s
			after 335ms                      -> (333ms) permit renew 4 1,1,1000; 1s
			lost
			after 800ms                      -> (20ms) permit renew 4 1,1,1000; 1s; (655ms) a ends: lost
			answer 1                         -> permit free 5 1,1,0; n 1
			idle                             -> false`,
		"a grant that too few replicas have is given back": `
			a locks n 3                      -> permit take 1 3x1x1000,
			alone 1                          -> permit free 4 1,3,0; n 3
			answer 1
			message
			after 20ms                       -> (18ms) permit take 5 3x1x1000,
			answer 1                         -> a: granted until 1.008s
			a until                          -> 1.008s`,
		"messages in vain are heeded less often": `
			a locks n 2                      -> permit take 1 2x1x1000,
			answer held 1900ms               -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> permit take 3 2x1x1000, n 2 collects
			answer held 1900ms               -> subscribe redisson_sc:{stock}
			message                          -> permit take 5 2x1x1000, n 2 collects
			answer held 1900ms
			in-vain 8 held 1900ms
			message                          -> permit take 23 2x1x1000, n 2 collects
			answer held 1900ms
			message
			message
			after 1ms                        -> permit take 25 2x1x1000, n 2 collects
			answer held 1900ms
			message
			message
			after 1ms
			after 2ms                        -> (1ms) permit take 27 2x1x1000, n 2 collects
			message
			after 2ms
			message
			answer held 1900ms
			after 4ms                        -> (2ms) permit take 29 2x1x1000, n 2 collects
			answer 1                         -> a: granted until 998ms`,
		"an extension that too few replicas have": `
			a locks lease 900ms              -> permit take 1 1x1x900,
			answer 1                         -> a: granted until 891ms
			a extends 5s                     -> permit renew 2 1,1,5000; 900ms
			alone 1
			a until                          -> 891ms
			after 20ms                       -> (18ms) permit renew 3 1,1,5000; 900ms
			answer 1                         -> a ok: granted until 4.968s`,
		"a caller that gives up is told what was heard last": `
			a locks n 2                      -> permit take 1 2x1x1000,
			b locks n 1
			answer held 700ms                -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> permit take 3 2x1x1000,1x1x1000, n 2 collects
			a times-out                      -> a: timed out, last taken for 700ms
			answer held 650ms                -> permit take 6 1x1x1000, n 1
			answer held 600ms                -> subscribe redisson_sc:{stock}
			after 100ms
			b waits-no-longer                -> b: gave up, last taken for 500ms`,
		"pauses of a question do not depend on its lease, those of a renewal do": `
			a locks lease 100ms              -> permit take 1 1x1x100,
			lost
			after 20ms                       -> (17ms) permit take 1 1x1x100, next 1
			again LOADING
			after 40ms                       -> (37ms) permit take 1 1x1x100, next 1
			answer 1                         -> a: granted until 152ms
			b locks watch 100ms              -> permit take 2 1x1x100,
			answer 1                         -> b: granted until 155ms
			after 34ms                       -> (33ms) permit renew 3 2,1,100; 100ms
			lost
			after 4ms
			after 6ms                        -> permit renew 3 2,1,100; 100ms
			answer fault 1
			after 10ms                       -> permit renew 3 2,1,100; 100ms
			answer 1
			b until                          -> 209ms`,
		"what time has ended ends before a caller comes": permitHeld + `
			stall 2s
			b locks                          -> a ends: lost; permit free 2 1,1,0; n 1
			answer 1                         -> permit take 3 1x1x1000,
			answer 1                         -> b: granted until 2.99s`,
		"what time has ended ends before an extension": `
			a locks lease 500ms              -> permit take 1 1x1x500,
			answer 1                         -> a: granted until 495ms
			stall 2s
			a extends 5s                     -> a ends: lost; a ok: lost; permit free 2 1,1,0; n 1`,
		"what time has ended ends before an unlock": permitHeld + `
			stall 2s
			a unlocks                        -> a ends: lost; a ok: lost; permit free 2 1,1,0; n 1`,
		"what time has ended ends before an answer": permitHeld + `
			b locks                          -> permit take 2 1x1x1000,
			stall 2s
			answer held 1s                   -> a ends: lost; permit free 3 1,1,0; n 1; subscribe redisson_sc:{stock}:wheellock:u`,
		"what time has ended ends before the link is up": permitHeld + `
			stall 2s
			link-up                          -> a ends: lost; permit free 2 1,1,0; n 1`,
		"what time has ended ends before permits are freed": permitHeld + `
			stall 2s
			x changes permit-free 1          -> a ends: lost; permit free 2 1,1,0;0,1,0;id-0000000000001 next 16 n 2
			answer 1                         -> x ok: lost`,
		"permits of ours stay when another one is not held": permitHeld + `
			x changes permit-free 1 8        -> permit free 2 0,1,0;id-0000000000008 next 16 n 1
			answer 0                         -> x ok: lost
			oldest                           -> 0s
			y changes permit-free 8 1        -> permit free 3 0,1,0;id-0000000000008 next 16 n 1
			denied NOPERM                    -> y ok: refused "NOPERM"
			oldest                           -> 0s`,
		"a thousand permits are freed by one call, more by several, and each must succeed": `
			a locks n 600                    -> permit take 1 600x1x1000,
			answer 1                         -> a: granted until 990ms
			b locks n 400                    -> permit take 601 400x1x1000,
			answer 1                         -> b: granted until 990ms
			c locks                          -> permit take 1001 1x1x1000,
			answer 1                         -> c: granted until 990ms
			x changes permit-free 1 1000 1001 -> a ends: unlocked; b ends: unlocked; c ends: unlocked; permit free 1002 1,600,0;601,400,0; n 1000
			denied NOPERM                    -> permit free 1003 1001,1,0; n 1
			answer 1                         -> x ok: refused "NOPERM"
			idle                             -> true`,
		"of several holds that are freed one was lost, and Redis refuses another": permitHeld + `
			b locks                          -> permit take 2 1x1x1000,
			answer 1                         -> b: granted until 990ms
			c locks n 999                    -> permit take 3 999x1x1000,
			answer 1                         -> c: granted until 990ms
			x changes permit-free 1 2 3      -> a ends: unlocked; b ends: unlocked; c ends: unlocked; permit free 1002 1,1,0;2,1,0; n 2
			answer 2                         -> permit free 1003 3,999,0; n 999
			denied NOPERM                    -> x ok: refused "NOPERM"
			idle                             -> true`,
		"of several holds that are freed one was lost": permitHeld + `
			b locks                          -> permit take 2 1x1x1000,
			answer 1                         -> b: granted until 990ms
			x changes permit-free 1 2        -> a ends: unlocked; b ends: unlocked; permit free 3 1,1,0;2,1,0; n 2
			answer 2                         -> x ok: lost
			idle                             -> true`,
		"a caller whose permits are freed by several calls is answered when the engine ends": permitHeld + `
			b locks                          -> permit take 2 1x1x1000,
			answer 1                         -> b: granted until 990ms
			x changes permit-free 1 2        -> a ends: unlocked; b ends: unlocked; permit free 3 1,1,0;2,1,0; n 2
			end                              -> x ok: doubtful`,
		"permits of ours end while those of others are freed": permitHeld + `
			x changes permit-free 8 1        -> permit free 2 0,1,0;id-0000000000008 next 16 n 1
			a unlocks
			answer 1                         -> x ok: granted; permit free 3 1,1,0; n 1
			answer 1                         -> a ok: granted
			idle                             -> true`,
		"an extension while the link is down": `
			a locks lease 900ms              -> permit take 1 1x1x900,
			answer 1                         -> a: granted until 891ms
			a extends 5s                     -> permit renew 2 1,1,5000; 900ms
			not-sent
			a until                          -> 891ms
			link-up                          -> permit renew 3 1,1,5000; 900ms
			answer 1                         -> a ok: granted until 4.95s
			a unlocks                        -> permit free 4 1,1,0; n 1
			not-sent
			link-up                          -> permit free 5 1,1,0; n 1
			answer 1                         -> a ok: granted`,
		"a message while a question is on its way": `
			a locks n 2                      -> permit take 1 2x1x1000,
			answer held 5s                   -> subscribe redisson_sc:{stock}:wheellock:u
			subscribed                       -> permit take 3 2x1x1000, n 2 collects
			message
			answer held 5s                   -> permit take 5 2x1x1000, n 2 collects
			answer held 5s                   -> subscribe redisson_sc:{stock}`,
		"a hold is no more when it was granted to who has gone": `
			a locks                          -> permit take 1 1x1x1000,
			a leaves
			answer 1                         -> a: is not there; permit free 2 1,1,0; n 1
			a count                          -> 0
			answer 1
			idle                             -> true`,
		"a renewal while another change waits for the link": permitHeld + `
			after 300ms
			x changes permit-free 9          -> permit free 2 0,1,0;id-0000000000009 next 16 n 1
			not-sent
			after 100ms
			y changes permit-add 1           -> permit free 3 0,1,0;id-0000000000009 next 16 n 1
			answer 0                         -> x ok: lost; permit renew 4 1,1,1000; 1s
			answer 1                         -> permit add 5 n 1
			answer 1                         -> y ok: granted 1`,
		"a machine is woken when something is due, and not earlier": `
			a locks                          -> permit take 1 1x1x1000,
			alarm                            -> none
			answer 1                         -> a: granted until 990ms
			alarm                            -> 333ms
			b locks lease 200ms              -> permit take 2 1x1x200,
			answer 1                         -> b: granted until 195ms
			alarm                            -> 195ms
			b unlocks                        -> permit free 3 2,1,0; n 1
			answer 1                         -> b ok: granted
			alarm                            -> 333ms
			after 334ms                      -> (333ms) permit renew 4 1,1,1000; 1s
			not-sent
			alarm                            -> 323ms
			link-up                          -> permit renew 5 1,1,1000; 1s
			answer 1
			alarm                            -> 333ms
			c locks                          -> permit take 6 1x1x1000,
			answer held 700ms                -> subscribe redisson_sc:{stock}:wheellock:u
			alarm                            -> 333ms
			c goes                           -> c: is not there
			alarm                            -> 333ms
			a unlocks                        -> permit free 7 1,1,0; n 1
			again LOADING
			alarm                            -> 16ms`,
		"numbers of permits follow each other": `
			a locks n 5                      -> permit take 1 5x1x1000,
			answer 1                         -> a: granted until 990ms
			b locks n 1                      -> permit take 6 1x1x1000,
			answer 1                         -> b: granted until 990ms
			c locks n 1                      -> permit take 7 1x1x1000,
			answer 1                         -> c: granted until 990ms
			a drops                          -> permit free 8 1,5,0; n 5
			answer 1
			x changes permit-free 7          -> c ends: unlocked; permit free 9 7,1,0; n 1
			answer 1                         -> x ok: granted
			y changes permit-free 6          -> b ends: unlocked; permit free 10 6,1,0; n 1
			answer 0                         -> y ok: lost
			b unlocks                        -> b ok: lost`,
		"permits are freed by their numbers, those of other engines by themselves": `
			a locks n 2                      -> permit take 1 2x1x1000,
			answer 1                         -> a: granted until 990ms
			b locks n 2                      -> permit take 3 2x1x1000,
			answer 1                         -> b: granted until 990ms
			x changes permit-free 2 0 9      -> permit free 5 0,2,0;id-0000000000000id-0000000000009 next 32 n 2
			answer 1                         -> a ends: unlocked; permit free 6 1,2,0; n 2
			answer 1                         -> x ok: granted
			x changes permit-free 3 4        -> b ends: unlocked; permit free 7 3,2,0; n 2
			answer 1                         -> x ok: granted
			idle                             -> true`,
		"a question whose answer never comes": `
			a locks n 2                      -> permit take 1 2x1x1000,
			b locks n 1
			lost
			after 49s                        -> (17ms) permit take 1 2x1x1000, next 1
			lost
			after 3s                         -> (33ms) permit take 1 2x1x1000, next 1
			lost                             -> permit take 3 2x1x1000,1x1x1000,
			answer 2                         -> a: granted until 52.99s; b: granted until 52.99s`,
		"a suspicion has holds looked for": permitHeld + `
			suspect                          -> permit renew 2 1,1,1000; 1s
			answer 1
			link-up                          -> permit renew 3 1,1,1000; 1s
			link-up
			answer 1                         -> permit renew 4 1,1,1000; 1s
			answer 1`,
		"the answer to a renewal that had left proves nothing against a suspicion": permitHeld + `
			after 334ms                      -> (333ms) permit renew 2 1,1,1000; 1s
			suspect
			answer 1                         -> permit renew 3 1,1,1000; 1s
			answer 0                         -> a ends: lost; permit free 4 1,1,0; n 1
			answer 0`,
		"a closing engine frees what it holds": permitHeld + `
			b locks                          -> permit take 2 1x1x1000,
			drain                            -> b: closed
			answer held 100ms
			subscribed
			c locks                          -> permit take 3 1x1x1000,
			answer held 100ms                -> subscribe redisson_sc:{stock}:wheellock:u
			close                            -> a ends: closed; c: closed; permit free 4 1,1,0; n 1
			answer 1
			idle                             -> true`,
		"an unlock and an extension beside Close hear of it": `
			a locks lease 1s                 -> permit take 1 1x1x1000,
			b locks lease 1s
			answer 1                         -> a: granted until 990ms; permit take 2 1x1x1000,
			answer 1                         -> b: granted until 990ms
			a extends 2s                     -> permit renew 3 1,1,2000; 1s
			close                            -> a ends: closed; a ok: closed; b ends: closed
			b unlocks                        -> b ok: closed
			b extends 2s                     -> b ok: closed
			answer 1                         -> permit free 4 1,1,0;2,1,0; n 2`,
		"a hold may last for so long": `
			max-hold 500ms
			a locks                          -> permit take 1 1x1x1000,
			answer 1                         -> a: granted until 500ms
			a until                          -> 500ms
			after 600ms                      -> (333ms) permit renew 2 1,1,1000; 1s; (500ms) a ends: too long
			answer 1                         -> permit free 3 1,1,0; n 1`,
		"nothing will be heard any more": permitHeld + `
			b locks                          -> permit take 2 1x1x1000,
			a unlocks
			end                              -> a ok: doubtful; b: closed`,
	})
}
