package wire

import (
	"slices"
	"testing"

	"github.com/wheellock/wheellock/internal/gate"
)

// batchOf returns commands of these operations, each for a name of its own.
func batchOf(ops ...gate.Op) []gate.Command {
	batch := make([]gate.Command, len(ops))
	for i, op := range ops {
		batch[i] = gate.Command{Op: op, ID: uint64(i + 1), Entry: &gate.Entry{Name: "n"}}
	}
	return batch
}

func TestCut(t *testing.T) {
	t.Run("makes one call of each operation", func(t *testing.T) {
		got := Cut(nil, batchOf(gate.Renew, gate.Renew, gate.Release, gate.Acquire, gate.Acquire), false)
		want := []Call{{Op: gate.Renew, From: 0, To: 2}, {Op: gate.Release, From: 2, To: 3}, {Op: gate.Acquire, From: 3, To: 5}}
		if !slices.Equal(got, want) {
			t.Errorf("calls %v, want %v", got, want)
		}
	})
	t.Run("puts at most maxNames names into a call", func(t *testing.T) {
		got := Cut(nil, batchOf(slices.Repeat([]gate.Op{gate.Acquire}, 2*maxNames+1)...), false)
		want := []Call{{Op: gate.Acquire, From: 0, To: maxNames}, {Op: gate.Acquire, From: maxNames, To: 2 * maxNames}, {Op: gate.Acquire, From: 2 * maxNames, To: 2*maxNames + 1}}
		if !slices.Equal(got, want) {
			t.Errorf("calls %v, want %v", got, want)
		}
	})
	t.Run("in a cluster makes one call of each hash slot", func(t *testing.T) {
		batch := batchOf(gate.Acquire, gate.Acquire, gate.Acquire, gate.Acquire)
		for i, slot := range []uint16{7, 5, 7, 5} {
			batch[i].Entry.Slot = slot
		}
		got := Cut(nil, batch, true)
		if want := []Call{{Op: gate.Acquire, From: 0, To: 2}, {Op: gate.Acquire, From: 2, To: 4}}; !slices.Equal(got, want) {
			t.Errorf("calls %v, want %v", got, want)
		}
		if batch[0].Entry.Slot != 5 || batch[1].Entry.Slot != 5 {
			t.Error("the batch is not in the order of its hash slots")
		}
	})
	t.Run("leaves a command with ASKING alone", func(t *testing.T) {
		batch := batchOf(gate.Acquire, gate.Acquire, gate.Acquire)
		batch[1].Asking = true
		got := Cut(nil, batch, true)
		if len(got) != 3 || got[0].Asking || !got[1].Asking || got[2].Asking || got[1].Commands() != 2 || got[0].Commands() != 1 {
			t.Errorf("calls %+v, want three, of which the second goes with ASKING", got)
		}
	})
	t.Run("appends to the calls it was given", func(t *testing.T) {
		if got := Cut([]Call{{}}, batchOf(gate.Acquire), false); len(got) != 2 {
			t.Errorf("%d calls, want 2", len(got))
		}
		if got := Cut(nil, nil, true); len(got) != 0 {
			t.Errorf("%d calls of an empty batch", len(got))
		}
	})
}

// invariant: batch-error-charges-nobody
func TestSplitMakesACallOfEachCommand(t *testing.T) {
	got := Call{Op: gate.Acquire, From: 3, To: 6}.Split(nil)
	want := []Call{{Op: gate.Acquire, From: 3, To: 4}, {Op: gate.Acquire, From: 4, To: 5}, {Op: gate.Acquire, From: 5, To: 6}}
	if !slices.Equal(got, want) {
		t.Errorf("calls %v, want %v", got, want)
	}
}
