package gate

import (
	"testing"
)

// Only calls that name a line, of kinds that have one, can be sent without it.
func TestCallsThatNameALine(t *testing.T) {
	for kind, lined := range map[Kind]map[Op]bool{
		MutexKind: {AcquireInLine: true, CountWaiters: true, Renew: false}, SemaphoreKind: {SetCount: false}, SpinKind: {CountWaiters: false},
	} {
		for op, want := range lined {
			if c := (Command{Entry: &Entry{Kind: kind}, Op: op}); c.Lined() != want {
				t.Errorf("%v of a %s names a line: %t, want %t", op, kindNames[kind], c.Lined(), want)
			}
		}
	}
}

// The reason that a server or a connection gave reaches the caller.
func TestReasonsArePassedOn(t *testing.T) {
	for _, result := range []Result{NotSent, Unknown, Again, Denied} {
		c, tries := &Command{Result: result, ServerMessage: "why"}, new(retries)
		released, _ := unreleasedOutcome(c, tries)
		if unproved := unprovedOutcome(c); released.ServerMessage != "why" || unproved.ServerMessage != "why" {
			t.Errorf("after result %d: %+v and %+v", result, released, unproved)
		}
	}
}
