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
	for _, a := range []AcquireReadArgs{{}, {Yields: YieldsToNobody}, {Code: -1, Yields: YieldsInLine}, {Yields: 1}} {
		if got := a.Args().AcquireRead(); got != a {
			t.Errorf("%+v is read as %+v", a, got)
		}
	}
	for _, a := range []FairAskArgs{{}, {Place: scripts.NoPlace, First: 7, Joining: 3}, {Place: scripts.InQueue, Code: 1 << 62}} {
		if got := a.Args().FairAsk(); got != a {
			t.Errorf("%+v is read as %+v", a, got)
		}
	}
	if a := (FairLeaveArgs{N: 3}); a.Args().FairLeave() != a {
		t.Errorf("%+v is read as %+v", a, a.Args().FairLeave())
	}
	for _, a := range []TakeArgs{{Runs: "2x1,"}, {Runs: "2x1,", Place: 3, Resent: true}, {N: 2}, {N: 2, Resent: true}, {N: 2, Place: 1 << 51}, {Place: 3, Resent: true}} {
		if got := a.Args().Take(); got != a {
			t.Errorf("%+v is read as %+v", a, got)
		}
	}
	for _, a := range []PermitFreeArgs{{N: 2, First: 7}, {N: 1, IDs: "id"}} {
		if got := a.Args().PermitFree(); got != a {
			t.Errorf("%+v is read as %+v", a, got)
		}
	}
	if a := (PermitRenewArgs{Holds: "1,1,1000;"}); a.Args().PermitRenew() != a {
		t.Errorf("%+v is read as %+v", a, a.Args().PermitRenew())
	}
	if a := (CountArgs{N: -3}); a.Args().Count() != a {
		t.Errorf("%+v is read as %+v", a, a.Args().Count())
	}
}
