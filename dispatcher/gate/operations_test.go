package gate

import (
	"slices"
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

func TestEveryOperationHasARow(t *testing.T) {
	ours := []Op{
		Acquire, AcquireInLine, AcquireFenced, Renew, Confirm, Adopt, FairAsk, FairRelease, AcquireRead, RenewRead, ConfirmRead, Downgrade,
		ReleaseRead, ReleaseReadFromLine, AcquireWrite, AcquireWriteInLine, RenewWrite, ConfirmWrite, AcquireSimple, AcquireSimpleInLine, RenewSimple, ConfirmSimple, AdoptSimple,
	}
	releases := []Op{Detach, Release, ReleaseFromLine, ReleaseQuietly, ReleaseRead, ReleaseReadFromLine, ReleaseWrite, ReleaseWriteFromLine, FairRelease, ReleaseSimple, ReleaseSimpleFromLine, DetachSimple}
	names := make(map[string]Op)
	for op := None + 1; op < Ops; op++ {
		row := Operations[op]
		if other, known := names[row.Name]; known || row.Name == "" || row.Script == nil || row.Keys == "" {
			t.Errorf("operation %d, %+v, beside %d of this name", op, row, other)
		}
		names[row.Name] = op
		if row.Ours() != slices.Contains(ours, op) || row.Releases() != slices.Contains(releases, op) {
			t.Errorf("%v: ours %t, releases %t", op, row.Ours(), row.Releases())
		}
	}
}

// What gives or prolongs something counts only when replicas have it; what takes away, and what only looks, needs none.
func TestWhatReplicasMustHave(t *testing.T) {
	confirms := []Op{Renew, Confirm, RenewRead, RenewWrite, ConfirmRead, ConfirmWrite, Downgrade, PermitRenew, FairRelease,
		Adopt, Acquire, AcquireInLine, AcquireFenced, AcquireRead, AcquireWrite, AcquireWriteInLine, PermitTake, FairAsk, Take, AcquireSimple, AcquireSimpleInLine, RenewSimple, ConfirmSimple, AdoptSimple}
	for op := range Ops {
		if op.Confirms() != slices.Contains(confirms, op) {
			t.Errorf("%v: %v", op, op.Confirms())
		}
	}
	for _, c := range []struct {
		op    Op
		reply scripts.Reply
		gave  bool
	}{
		{Acquire, 1, true}, {Acquire, -500, false}, {Acquire, 0, false}, {Acquire, faultReply(1), false},
		{AcquireRead, 1, true}, {AcquireWrite, 1, true}, {AcquireFenced, 1 << 40, true},
		{Renew, 1, true}, {Renew, scripts.NotMine, false}, {RenewRead, 1, true}, {RenewWrite, 1, true},
		{Confirm, 0, true}, {Confirm, 3, true}, {Confirm, scripts.NotMine, false}, {Confirm, faultReply(1), false},
		{ConfirmRead, 0, true}, {ConfirmWrite, 0, true}, {ConfirmWrite, scripts.NotMine, false},
		{Downgrade, 0, true}, {Downgrade, scripts.PublishDenied, true}, {Downgrade, scripts.NotMine, false}, {Downgrade, faultReply(1), false},
		{FairRelease, scripts.Passed, true}, {FairRelease, 1, false}, {FairRelease, 0, false}, {FairRelease, scripts.NotMine, false},
		{FairAsk, 1, true}, {FairAsk, -500, false}, {Take, 2, true}, {Take, 0, false}, {PermitTake, 1, true}, {PermitTake, -500, false},
		{PermitRenew, 1, true}, {PermitRenew, 0, false}, {Release, 1, false}, {Give, 1, false}, {GetCount, 1, false}, {CountDown, 1, false},
	} {
		command := Command{Op: c.op, Result: Answered, Reply: c.reply}
		command.Unreplicated()
		if gave := command.Result == UnderReplicated; gave != c.gave {
			t.Errorf("%v answered %d: %v", c.op, c.reply, gave)
		}
		command.Result = Unknown
		if command.Unreplicated(); command.Result != Unknown {
			t.Errorf("%v without an answer became %v", c.op, command.Result)
		}
	}
}
