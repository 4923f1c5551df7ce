package gate

import "testing"

// An answer may come long after its question left. What others have left of a lease counts from when the answer is read: what is
// asked earlier finds the same owner.
// invariant: reply-says-what-redis-holds
func TestAnswerTimeScenes(t *testing.T) {
	for _, s := range []struct {
		name string
		kind Kind
		text string
	}{
		{"a fair lock", FairKind, `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:u:1
			subscribed                       -> fair ask 1 OLD 1s
			after 100ms
			answer held 150ms
			alarm                            -> 151ms`},
		{"a fair lock whose lease is nearly over", FairKind, `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:u:1
			subscribed                       -> fair ask 1 OLD 1s
			answer held 50ms
			alarm                            -> 51ms`},
		{"a mutex", MutexKind, `
			a locks                          -> acquire 1 1s
			answer held 5s                   -> subscribe redisson_lock__channel:{stock}:wheellock:u
			subscribed                       -> acquire in line 2 1s n 1002
			after 100ms
			answer joins 150ms
			alarm                            -> 151ms`},
		{"readers who stand back", RWKind, `
			a locks lease 300ms              -> acquire read 1 300ms
			answer 1                         -> a: granted until 295ms
			after 20ms
			b locks lease 300ms              -> confirm read 1 300ms
			answer 0                         -> b: granted until 315ms
			after 20ms
			c locks lease 300ms              -> confirm read 1 300ms
			after 180ms
			answer 2                         -> subscribe redisson_rwlock:{stock}:wheellock:u
			alarm                            -> 75ms`},
	} {
		t.Run(s.name, func(t *testing.T) { playScene(t, s.kind, s.text) })
	}
}

// Redis is asked at the time of a suspicion at the latest, and no later than it was to be asked in any case.
// invariant: handoff-only-while-fresh
func TestASuspicionPostponesNothing(t *testing.T) {
	for at, want := range map[Time]Time{4: 4, 5: 5, 6: 5} {
		o := Lease{phase: ours, Tenure: Tenure{Next: 5}}
		if o.suspect(at); o.Next != want || !o.Doubt {
			t.Errorf("suspected at %d, to be renewed at 5: renewed at %d, doubtful %v", at, o.Next, o.Doubt)
		}
	}
}
