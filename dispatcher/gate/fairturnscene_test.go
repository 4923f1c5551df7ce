package gate

import "testing"

// invariant: fair-queue-order
func TestFairTurnScenes(t *testing.T) {
	playScenes(t, FairKind, map[string]string{
		"a question of the queue's that failed is repeated after a pause": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer 1                         -> a: granted until 990ms
			b locks                          -> fair ask 0 OLD next 2 n 1
			answer held 5s
			after 150ms
			after 100ms                      -> (50ms) fair ask 0 OLD
			again LOADING
			alarm                            -> 18ms
			after 100ms                      -> (18ms) fair ask 0 OLD`,
		"a question of the queue's without an answer is repeated after a pause": `
			a locks                          -> fair ask 1 NEW 1s next 1 n 1
			answer 1                         -> a: granted until 990ms
			b locks                          -> fair ask 0 OLD next 2 n 1
			answer held 5s
			after 150ms
			after 100ms                      -> (50ms) fair ask 0 OLD
			lost
			alarm                            -> 18ms
			after 100ms                      -> (18ms) fair ask 0 OLD`,
		"an engine that no release gives a lock has no claims": `
			b locks watch 3s                 -> fair ask 1 NEW 3s next 1 n 1
			answer held 2s                   -> subscribe redisson_lock__channel:{stock}:u:1
			subscribed                       -> fair ask 1 OLD 3s`,
	})
}

// The machine is woken when something can be done, and not before.
func TestAlarmsOfWhatIsGivenBack(t *testing.T) {
	late := fairQueue{late: []places{{first: 7, n: 1, at: 5}}, leaveAt: 9}
	if at := late.nextAlarm(); at != 9 {
		t.Errorf("a late place is given up at %d, want 9", at)
	}
	s := NewEntry("stock", SemaphoreKind, &Config{Stats: &Stats{}}).Machine.(*Sequencer)
	s.unassigned, s.giveAt, s.rivals.linger = 1, 9, 5
	if at := s.NextAlarm(); at != 5 {
		t.Errorf("woken at %d, want 5, when the subscription ends", at)
	}
}
