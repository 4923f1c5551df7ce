package gate

import "testing"

// Holds of permits end, and are renewed, each in its time.
// invariant: hold-within-tenure
func TestPermitEndScenes(t *testing.T) {
	playScenes(t, PermitKind, map[string]string{
		"a hold ends by MaxHold though another one ended before": `
			max-hold 500ms
			a locks                          -> permit take 1 1x1x1000,
			answer 1                         -> a: granted until 500ms
			b locks lease 400ms              -> permit take 2 1x1x400,
			answer 1                         -> b: granted until 395ms
			after 390ms                      -> (333ms) permit renew 3 1,1,1000; 1s
			answer 1
			after 700ms                      -> (5ms) b ends: lost; permit free 4 2,1,0; n 1; (110ms) a ends: too long`,
		"a hold that is not there was freed by the copy before, if that got no answer": `
			a locks                          -> permit take 1 1x1x1000,
			b locks
			answer 1                         -> a: granted until 990ms; permit take 2 1x1x1000,
			answer 1                         -> b: granted until 990ms
			a unlocks                        -> permit free 3 1,1,0; n 1
			lost
			after 20ms                       -> (18ms) permit free 3 1,1,0; n 1
			answer 0                         -> a ok: granted
			b unlocks                        -> permit free 4 2,1,0; n 1
			answer 0                         -> b ok: lost`,
		"the oldest of eight": `
			a locks lease 300s               -> permit take 1 1x1x300000,
			answer 1                         -> a: granted until 4m57s
			after 1s
			b locks lease 300s               -> permit take 2 1x1x300000,
			answer 1                         -> b: granted until 4m58s
			c locks lease 300s               -> permit take 3 1x1x300000,
			answer 1                         -> c: granted until 4m58s
			d locks lease 300s               -> permit take 4 1x1x300000,
			answer 1                         -> d: granted until 4m58s
			e locks lease 300s               -> permit take 5 1x1x300000,
			answer 1                         -> e: granted until 4m58s
			f locks lease 300s               -> permit take 6 1x1x300000,
			answer 1                         -> f: granted until 4m58s
			g locks lease 300s               -> permit take 7 1x1x300000,
			answer 1                         -> g: granted until 4m58s
			h locks lease 300s               -> permit take 8 1x1x300000,
			answer 1                         -> h: granted until 4m58s
			oldest                           -> 0s`,
		"who asks once hears that too few replicas have its permits": `
			a locks try                      -> permit take 1 1x1x1000,
			alone 1                          -> a: too few; permit free 2 1,1,0; n 1`,
	})
}

// invariant: replicas-acknowledge
func TestWhoAsksOnceHearsOfReplicas(t *testing.T) {
	playScene(t, SemaphoreKind, `
			a locks try                      -> take 1 1x1,
			alone 1                          -> a: too few; give 2 n 1`)
}
