package wire

import (
	"slices"
	"testing"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
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
		got := Cut(nil, batchOf(gate.Renew, gate.Renew, gate.Release, gate.Acquire, gate.Acquire), false, false)
		want := []Call{{Op: gate.Renew, From: 0, To: 2}, {Op: gate.Release, From: 2, To: 3}, {Op: gate.Acquire, From: 3, To: 5}}
		if !slices.Equal(got, want) {
			t.Errorf("calls %v, want %v", got, want)
		}
	})
	t.Run("puts at most maxNames names into a call", func(t *testing.T) {
		got := Cut(nil, batchOf(slices.Repeat([]gate.Op{gate.Acquire}, 2*maxNames+1)...), false, false)
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
		got := Cut(nil, batch, true, false)
		if want := []Call{{Op: gate.Acquire, From: 0, To: 2}, {Op: gate.Acquire, From: 2, To: 4}}; !slices.Equal(got, want) {
			t.Errorf("calls %v, want %v", got, want)
		}
		if batch[0].Entry.Slot != 5 || batch[1].Entry.Slot != 5 {
			t.Error("the batch is not in the order of its hash slots")
		}
	})
	t.Run("at a node that takes wide calls puts names of many hash slots into one", func(t *testing.T) {
		batch := batchOf(gate.Renew, gate.Renew, gate.Acquire, gate.Acquire, gate.Acquire)
		for i, slot := range []uint16{7, 7, 9, 5, 9} {
			batch[i].Entry.Slot = slot
		}
		got := Cut(nil, batch, true, true)
		if want := []Call{{Op: gate.Renew, From: 0, To: 2}, {Op: gate.Acquire, From: 2, To: 5, Wide: true}}; !slices.Equal(got, want) {
			t.Errorf("calls %v, want %v", got, want)
		}
	})
	t.Run("leaves a command with ASKING alone", func(t *testing.T) {
		batch := batchOf(gate.Acquire, gate.Acquire, gate.Acquire)
		batch[1].Asking = true
		got := Cut(nil, batch, true, false)
		if len(got) != 3 || got[0].Asking || !got[1].Asking || got[2].Asking || got[1].Commands() != 2 || got[0].Commands() != 1 {
			t.Errorf("calls %+v, want three, of which the second goes with ASKING", got)
		}
	})
	t.Run("appends to the calls it was given", func(t *testing.T) {
		if got := Cut([]Call{{}}, batchOf(gate.Acquire), false, false); len(got) != 2 {
			t.Errorf("%d calls, want 2", len(got))
		}
		if got := Cut(nil, nil, true, true); len(got) != 0 {
			t.Errorf("%d calls of an empty batch", len(got))
		}
	})
}

// invariant: batch-error-charges-nobody
func TestSplitMakesACallOfEachCommand(t *testing.T) {
	got := Call{Op: gate.Acquire, From: 3, To: 6}.Split([]Call{{}}, "no")
	want := []Call{{}, {Op: gate.Acquire, From: 3, To: 4, Doubted: "no"}, {Op: gate.Acquire, From: 4, To: 5, Doubted: "no"}, {Op: gate.Acquire, From: 5, To: 6, Doubted: "no"}}
	if !slices.Equal(got, want) {
		t.Errorf("calls %v, want %v", got, want)
	}
}

// What a wide call refuses to a name is asked again alone, unless it would be refused again.
// invariant: batch-error-charges-nobody
func TestRefusedMakesACallOfEachCommandThatAWideCallRefused(t *testing.T) {
	replies := []scripts.Reply{1, -10002, scripts.Moving.Reply(), scripts.NoPerm.Reply(), scripts.OutOfMem.Reply(), scripts.Other.Reply(), scripts.AnotherType.Reply(), scripts.NotMine}
	batch := batchOf(slices.Repeat([]gate.Op{gate.Acquire}, len(replies))...)
	for i, reply := range replies {
		answered(&batch[i], reply)
	}
	got := Call{Op: gate.Acquire, To: len(batch), Wide: true}.Refused(nil, batch)
	want := []Call{{Op: gate.Acquire, From: 2, To: 3}, {Op: gate.Acquire, From: 3, To: 4}, {Op: gate.Acquire, From: 5, To: 6, Doubted: scripts.Other.String()}}
	if !slices.Equal(got, want) {
		t.Errorf("calls %v, want %v", got, want)
	}
}

// An answer is one integer for all names of a call, or as many as there are names; anything else is an error about the
// whole call, and no command takes part of it.
// invariant: batch-error-charges-nobody
func TestDecode(t *testing.T) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redistest.Start(t).Addr()}, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, c := range []struct {
		name, script string
		want         []scripts.Reply // nil: an error
	}{
		{"one for all", "return 1", []scripts.Reply{1, 1}},
		{"one for each", "return {1, -10002}", []scripts.Reply{1, -10002}},
		{"too few", "return {1}", nil},
		{"too many", "return {1, 2, 3}", nil},
		{"strings of digits", "return {'1', '2'}", nil},
		{"a text", "return 'OK'", nil},
		{"nothing", "return false", nil},
		{"an error", "return redis.error_reply('OOM')", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			batch := batchOf(gate.Acquire, gate.Acquire)
			err := Decode(batch, client.Do(t.Context(), client.B().Eval().Script(c.script).Numkeys(0).Build()))
			if (err != nil) != (c.want == nil) {
				t.Fatalf("error %v", err)
			}
			for i, want := range c.want {
				if batch[i].Result != gate.Answered || batch[i].Reply != want {
					t.Errorf("command %d: result %v, reply %v; want %v", i, batch[i].Result, batch[i].Reply, want)
				}
			}
		})
	}
}

// A command that met a key which is moving to another node did nothing, and is to be sent again.
func TestAMovingKeyIsAnsweredAgain(t *testing.T) {
	c := gate.Command{}
	answered(&c, scripts.Moving.Reply())
	if c.Result != gate.Again || c.Reply != 0 || c.ServerMessage == "" {
		t.Errorf("result %v, reply %v, message %q", c.Result, c.Reply, c.ServerMessage)
	}
}
