package gate

import "testing"

func TestWantedScenes(t *testing.T) {
	playScenes(t, MutexKind, map[string]string{
		"a caller of this process that waited before": mutexHeld + `
			b locks
			a listens                        -> a: is wanted`,
		"an engine in line": `
			a locks lease 10s                -> acquire 1 10s
			answer 1                         -> a: granted until 9.9s
			a listens                        -> count waiters 0
			answer waiting 0 1               -> a: is wanted`,
		"a caller of another process": `
			a locks lease 10s                -> acquire 1 10s
			answer 1                         -> a: granted until 9.9s
			a listens                        -> count waiters 0
			answer 1
			after 1900ms                     -> (250ms) count waiters 0
			answer 1                         -> count waiters 0
			after 99ms
			answer 1
			after 151ms                      -> count waiters 0
			answer 1                         -> a: is wanted`,
		"one who listened, and only tries since": `
			b locks lease 10s                -> acquire 1 10s
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 10s n 1002
			answer 1                         -> b: granted until 9.9s
			b unlocks                        -> release 2
			answer 0                         -> b ok: granted
			after 900ms
			c locks try                      -> acquire 3 1s
			answer held 5s                   -> c: taken for 5s
			after 900ms                      -> (100ms) unsubscribe redisson_lock__channel:{stock}:wheellock:u`,
		"a caller of ours that has waited meanwhile may be counted": `
			b locks lease 10s                -> acquire 1 10s
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 10s n 1002
			answer joins-first 5s            -> subscribe redisson_lock__channel:{stock}
			subscribed                       -> acquire in line 2 10s n 1002
			answer 1                         -> b: granted until 9.9s
			after 800ms
			c locks
			after 500ms
			c waits-no-longer                -> c: gave up, last taken for 8.6s
			after 900ms
			b listens                        -> count waiters 0
			answer 1
			after 100ms                      -> unsubscribe redisson_lock__channel:{stock}; unsubscribe redisson_lock__channel:{stock}:wheellock:u
			after 150ms                      -> count waiters 0
			answer 1                         -> b: is wanted`,
		"our own subscription does not count while it is asked for": `
			b locks lease 10s                -> acquire 1 10s
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 10s n 1002
			answer joins-first 5s            -> subscribe redisson_lock__channel:{stock}
			message                          -> acquire in line 2 10s n 1002
			answer 1                         -> b: granted until 9.9s
			c locks
			after 2s
			b listens                        -> b: is wanted`,
		"one that is refused counts for nobody": `
			b locks lease 10s                -> acquire 1 10s
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed NOPERM                -> subscribe redisson_lock__channel:{stock}
			subscribed NOPERM
			after 2s                         -> (1.973s) acquire 2 10s
			answer 1                         -> b: granted until 11.873s
			after 2s
			b listens                        -> count waiters 0
			answer 1                         -> b: is wanted`,
		"two holds of one Owner, of which one has ended": `
			a locks owner 7 lease 10s        -> acquire 1 10s
			answer 1                         -> a: granted until 9.9s
			b locks owner 7 lease 5s         -> b: granted until 4.95s, re-entered
			after 2s
			a listens                        -> count waiters 0
			b listens
			b unlocks                        -> b ok: granted
			answer 1                         -> a: is wanted`,
		"a hold that has ended": `
			a locks lease 10s                -> acquire 1 10s
			answer 1                         -> a: granted until 9.9s
			after 2s
			a listens                        -> count waiters 0
			a unlocks
			answer 1                         -> release 1
			answer 0                         -> a ok: granted
			b locks lease 10s                -> acquire 2 10s
			answer 1                         -> b: granted until 11.9s
			alarm                            -> 9.9s
			a listens`,
		"one of two holds is too young": `
			a locks owner 7 lease 10s        -> acquire 1 10s
			answer 1                         -> a: granted until 9.9s
			after 1s
			b locks owner 7 lease 5s         -> b: granted until 5.95s, re-entered
			after 1s
			b listens                        -> count waiters 0
			answer 1
			a listens                        -> count waiters 0
			after 250ms
			answer 1                         -> a: is wanted; count waiters 0
			after 1s
			answer 1                         -> count waiters 0
			after 250ms
			answer 1                         -> b: is wanted`,
	})
	t.Run("fair: all in the queue are others", func(t *testing.T) {
		playScene(t, FairKind, `
			b locks lease 10s                -> fair ask 1 NEW 10s next 1 n 1
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:u:1
			subscribed                       -> fair ask 1 OLD 10s
			answer 1                         -> b: granted until 9.9s; unsubscribe redisson_lock__channel:{stock}:u:1
			b listens                        -> count waiters 0
			answer 0
			after 250ms                      -> count waiters 0
			answer waiting 0 1               -> b: is wanted`)
	})
	t.Run("spin: nobody knows of others", func(t *testing.T) {
		playScene(t, SpinKind, `
			a locks lease 10s                -> acquire 1 10s
			answer 1                         -> a: granted until 9.9s
			a listens
			alarm                            -> 9.9s
			b locks                          -> a: is wanted`)
	})
	for name, text := range map[string]string{
		"readers, and a writer of another process in line": `
			a locks lease 10s                -> acquire read 1 10s
			answer 1                         -> a: granted until 990ms
			b locks lease 10s                -> b: granted until 990ms, handed on
			a listens                        -> count waiters 0
			b listens
			answer waiting 0 1               -> a: is wanted; b: is wanted`,
		"readers, and a writer of another process that listens to the channel": `
			a locks lease 10s                -> acquire read 1 10s
			answer 1                         -> a: granted until 990ms
			b locks lease 10s                -> b: granted until 990ms, handed on
			after 334ms                      -> (333ms) renew read 1 9.666s
			answer 1
			after 334ms                      -> (333ms) renew read 1 9.332s
			answer 1
			after 334ms                      -> (332ms) renew read 1 8.998s
			answer 1
			after 334ms                      -> (331ms) renew read 1 8.664s
			answer 1
			after 334ms                      -> (331ms) renew read 1 8.33s
			answer 1
			after 300ms
			b listens                        -> count waiters 0
			answer 1
			a listens                        -> count waiters 0
			answer 1
			after 31ms                       -> (30ms) renew read 1 7.996s
			answer 1
			after 250ms                      -> (219ms) count waiters 0
			answer 1                         -> b: is wanted; a: is wanted`,
		"readers, and a writer of this process": `
			a locks                          -> acquire read 1 1s
			answer 1                         -> a: granted until 990ms
			a listens                        -> count waiters 0
			w locks write                    -> a: is wanted`,
		"a reader of this process that asks beside readers": `
			a locks                          -> acquire read 1 1s
			answer 1                         -> a: granted until 990ms
			a listens                        -> count waiters 0
			answer 0
			after 20ms
			b locks                          -> confirm read 1 1s
			answer 0                         -> b: granted until 1.01s
			w locks write                    -> a: is wanted`,
		"a reader of this process behind a writer": `
			a locks write                    -> acquire write 1 1s
			answer 1                         -> a: granted until 990ms
			a listens                        -> count waiters 0
			b locks                          -> a: is wanted`,
		"a writer": `
			a locks write lease 10s          -> acquire write 1 10s
			answer 1                         -> a: granted until 9.9s
			a listens                        -> count waiters 0
			answer 0
			after 250ms                      -> count waiters 0
			answer waiting 0 1               -> a: is wanted
			after 1s`,
		"a writer that subscribed itself": `
			a locks write lease 10s          -> acquire write 1 10s
			answer held 5s                   -> subscribe redisson_rwlock:{stock}:wheellock:u
			subscribed                       -> acquire write in line 2 10s n 1002
			answer joins-first 5s            -> subscribe redisson_rwlock:{stock}
			subscribed                       -> acquire write in line 2 10s n 1002
			answer 1                         -> a: granted until 9.9s
			after 900ms
			a listens                        -> count waiters 0
			answer 1
			after 1099ms                     -> (100ms) unsubscribe redisson_rwlock:{stock}; unsubscribe redisson_rwlock:{stock}:wheellock:u; (250ms) count waiters 0
			answer 1                         -> count waiters 0
			answer 1
			after 250ms                      -> count waiters 0
			answer 1                         -> a: is wanted`,
	} {
		t.Run("read-write: "+name, func(t *testing.T) { playScene(t, RWKind, text) })
	}
}
