package gate

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// What a machine packs into the arguments of a command, dispatcher/wire unpacks.
func TestArgsAreReadAsTheyWereWritten(t *testing.T) {
	for _, a := range []ReleaseArgs{{}, {Owner: "java:1"}, {Turn: time.Second}, {Owner: "token", Code: 1 << 62, Turn: 1}} {
		if got := a.Args().Release(); got != a {
			t.Errorf("%+v is read as %+v", a, got)
		}
	}
	if a := (FairReleaseArgs{Successor: 7}); a.Args().FairRelease() != a {
		t.Errorf("%+v is read as %+v", a, a.Args().FairRelease())
	}
	for _, a := range []FairAskArgs{{}, {Place: scripts.NoPlace, First: 7, Joining: 3}, {Place: scripts.InQueue, Code: 1 << 62}} {
		if got := a.Args().FairAsk(); got != a {
			t.Errorf("%+v is read as %+v", a, got)
		}
	}
	if a := (FairLeaveArgs{N: 3}); a.Args().FairLeave() != a {
		t.Errorf("%+v is read as %+v", a, a.Args().FairLeave())
	}
	for _, a := range []TakeArgs{{Runs: "2x1,"}, {Runs: "2x1,", Place: 3, Resent: true}, {Runs: "2x1x7,", Place: 1 << 51, Collects: true}, {Place: 3, Resent: true}} {
		if got := a.Args().Take(); got != a {
			t.Errorf("%+v is read as %+v", a, got)
		}
	}
	for _, a := range []PermitFreeArgs{{Holds: "7,2,0;", N: 2}, {IDs: "id"}} {
		if got := a.Args().PermitFree(); got != a {
			t.Errorf("%+v is read as %+v", a, got)
		}
	}
	if a := (PermitRenewArgs{Holds: "1,1,1000;"}); a.Args().PermitRenew() != a {
		t.Errorf("%+v is read as %+v", a, a.Args().PermitRenew())
	}
	if a := (CountArgs{N: -3, TTL: time.Second}); a.Args().Count() != a {
		t.Errorf("%+v is read as %+v", a, a.Args().Count())
	}
}

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
