package gate

import "testing"

// A holder is told when a renewal is overdue, before its hold is lost, and when it was renewed after all.
// invariant: warned-once
func TestRiskScenes(t *testing.T) {
	for _, s := range []struct {
		name string
		kind Kind
		text string
	}{
		{"a renewal that is answered in time, at the second attempt", MutexKind, `
			a locks                          -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			after 340ms                      -> (333ms) renew 1 1s
			lost
			after 100ms                      -> (20ms) renew 1 1s
			answer 1
			after 400ms                      -> (253ms) renew 1 1s
			answer 1
			after 400ms                      -> (187ms) renew 1 1s`},
		{"a server that refuses", MutexKind, `
			a locks                          -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			after 334ms                      -> (333ms) renew 1 1s
			denied NOPERM
			after 100ms                      -> (20ms) renew 1 1s
			denied NOPERM
			after 100ms                      -> (37ms) renew 1 1s
			denied NOPERM                    -> a at risk: refused "NOPERM"
			after 100ms                      -> (73ms) renew 1 1s
			denied NOPERM
			a unlocks                        -> release 1`},
		{"a link that is down", MutexKind, `
			a locks                          -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			after 334ms                      -> (333ms) renew 1 1s
			not-sent
			after 110ms                      -> (100ms) renew 1 1s
			not-sent
			after 110ms                      -> (100ms) renew 1 1s
			not-sent                         -> a at risk: down
			after 100ms                      -> renew 1 1s
			link-up
			answer 1                         -> a is renewed; renew 1 1s`},
		{"a downgrade that is refused", RWKind, `
			a locks write owner 7            -> acquire write 1 1s
			answer 1                         -> a: granted until 990ms
			b locks owner 7                  -> b: granted until 990ms, re-entered
			a unlocks                        -> downgrade 1 1s
			again LOADING
			after 480ms                      -> (17ms) downgrade 1 1s
			again LOADING
			after 40ms                       -> (37ms) downgrade 1 1s
			again LOADING                    -> b at risk: refused for now "LOADING"`},
		{"permits, of which a renewal is refused", PermitKind, `
			a locks                          -> permit take 1 1x1x1000,
			answer 1                         -> a: granted until 990ms
			after 340ms                      -> (333ms) permit renew 2 1,1,1000; 1s
			again LOADING
			after 100ms                      -> (20ms) permit renew 3 1,1,1000; 1s
			again LOADING
			after 100ms                      -> (35ms) permit renew 4 1,1,1000; 1s
			again LOADING                    -> a at risk: refused for now "LOADING"
			after 100ms                      -> (62ms) permit renew 5 1,1,1000; 1s
			answer 1                         -> a is renewed`},
		{"a renewal whose answer was lost", MutexKind, `
			a locks                          -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			after 600ms                      -> (333ms) renew 1 1s
			lost                             -> a at risk: doubtful
			after 200ms                      -> (20ms) renew 1 1s
			answer 1                         -> a is renewed
			after 100ms`},
		{"too few replicas, until the end", MutexKind, `
			a locks                          -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			after 600ms                      -> (333ms) renew 1 1s
			alone 1                          -> a at risk: too few
			after 1s                         -> (20ms) renew 1 1s; (390ms) a ends: lost`},
		{"an answer that comes late is in time", MutexKind, `
			a locks                          -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			stall 700ms
			after 1ms                        -> (0s) renew 1 1s
			after 50ms
			answer 1
			after 330ms                      -> (282ms) renew 1 1s
			answer 1`},
		{"whoever re-enters is told as well, and whoever has a fixed lease is not", MutexKind, `
			a locks owner 7                  -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			after 600ms                      -> (333ms) renew 1 1s
			lost                             -> a at risk: doubtful
			b locks owner 7                  -> b: granted until 990ms, re-entered; b at risk: doubtful
			c locks owner 7 lease 100ms      -> c: granted until 695ms, re-entered
			a unlocks                        -> a ok: granted
			after 20ms                       -> renew 1 1s
			answer 1                         -> b is renewed
			b unlocks                        -> b ok: granted`},
		{"a fixed lease is not renewed", MutexKind, `
			a locks lease 1s                 -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			after 600ms
			suspect                          -> renew 1 1ms
			lost
			after 1s                         -> (20ms) renew 1 1ms; (390ms) a ends: lost`},
		{"what was given has ten seconds, less than half of a lease", MutexKind, `
			codes
			a locks watch 30s                -> acquire 1 30s
			answer held 1s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 30s n 1002
			answer joins 1s
			given 2                          -> a: granted until 9.9s
			after 50ms                       -> renew 2 30s
			not-sent                         -> a at risk: down`},
		{"a fair lock", FairKind, `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer 1                         -> a: granted until 990ms
			after 600ms                      -> (333ms) renew 1 1s
			lost                             -> a at risk: doubtful
			after 20ms                       -> renew 1 1s
			answer 1                         -> a is renewed`},
		{"permits whose renewals get no answer", PermitKind, `
			a locks n 2                      -> permit take 1 2x1x1000,
			answer 1                         -> a: granted until 990ms
			after 600ms                      -> (333ms) permit renew 3 1,2,1000; 1s
			lost                             -> a at risk: doubtful
			after 100ms                      -> (20ms) permit renew 3 1,2,1000; 1s
			answer 1                         -> a is renewed
			after 600ms                      -> (253ms) permit renew 4 1,2,1000; 1s
			lost                             -> a at risk: doubtful
			a unlocks`},
		{"permits whose renewal cannot leave before the answer to another call", PermitKind, `
			a locks                          -> permit take 1 1x1x1000,
			answer 1                         -> a: granted until 990ms
			after 300ms
			x changes permit-add 1           -> permit add 2 n 1
			after 400ms                      -> (357ms) a at risk: down "the renewal waits behind other calls"
			answer 0                         -> x ok: granted; permit renew 3 1,1,1000; 1s
			answer 1                         -> a is renewed`},
		{"permits whose renewal is on its way for a third of their lease", PermitKind, `
			a locks                          -> permit take 1 1x1x1000,
			answer 1                         -> a: granted until 990ms
			after 700ms                      -> (333ms) permit renew 2 1,1,1000; 1s
			answer 1                         -> permit renew 3 1,1,1000; 1s`},
		{"permits whose renewal failed, and then cannot leave", PermitKind, `
			a locks                          -> permit take 1 1x1x1000,
			answer 1                         -> a: granted until 990ms
			after 340ms                      -> (333ms) permit renew 2 1,1,1000; 1s
			again LOADING
			x changes permit-add 1           -> permit add 3 n 1
			after 400ms                      -> (317ms) a at risk: refused for now "LOADING"`},
		{"permits with just half of their lease left", PermitKind, `
			a locks n 2                      -> permit take 1 2x1x1000,
			answer 1                         -> a: granted until 990ms
			after 490ms                      -> (333ms) permit renew 3 1,2,1000; 1s
			lost                             -> a at risk: doubtful
			a unlocks`},
	} {
		t.Run(s.name, func(t *testing.T) { playScene(t, s.kind, s.text) })
	}
}
