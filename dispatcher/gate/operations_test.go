package gate

import (
	"slices"
	"testing"
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
