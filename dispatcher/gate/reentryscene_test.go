package gate

import "testing"

// What a re-entry needs of its tenure, and what it leaves behind.
func TestReentryScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"a lease and a least time that just fit need no renewal": `
			a locks owner 7                  -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			b locks owner 7 lease 1s         -> b: granted until 990ms, re-entered
			c locks owner 7 least 990ms      -> c: granted until 990ms, re-entered`,
		"a tenure that had a longer lease is not handed on": `
			a locks owner 7 lease 3s         -> acquire 1 3s
			answer 1                         -> a: granted until 2.97s
			b locks owner 7                  -> renew 1 1s
			answer 1                         -> b: granted until 2.97s, re-entered
			a unlocks                        -> a ok: granted
			c locks
			b unlocks                        -> release 1`,
		"one that had the same is": `
			a locks owner 7 lease 1s         -> acquire 1 1s
			answer 1                         -> a: granted until 990ms
			b locks owner 7                  -> renew 1 1s
			answer 1                         -> b: granted until 990ms, re-entered
			a unlocks                        -> a ok: granted
			c locks
			b unlocks                        -> c: granted until 990ms, handed on; b ok: granted`,
	})
}
