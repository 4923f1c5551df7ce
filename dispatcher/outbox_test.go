package dispatcher

import (
	"testing"

	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/internal/gate"
)

// TestOutboxNeverEmpty: under a load that always leaves something waiting, what has left takes no place.
func TestOutboxNeverEmpty(t *testing.T) {
	var commands [gate.Ops][]gate.Command
	o := outbox{commands: &commands}
	var batch []gate.Command
	sent, put := uint64(0), uint64(0)
	for range 1000 {
		for range maxBatch {
			put++
			o.put(&gate.Command{Op: gate.Acquire, ID: put})
		}
		if put > 3*maxBatch { // three batches always wait
			batch = o.fill(batch[:0], redisconn.AllCommands)
		}
		for _, c := range batch {
			if sent++; c.ID != sent {
				t.Fatalf("command %d left after %d", c.ID, sent-1)
			}
		}
		batch = batch[:0]
	}
	if waiting := len(commands[gate.Acquire]) - o.heads[gate.Acquire]; waiting != int(put-sent) {
		t.Errorf("%d wait, want %d", waiting, put-sent)
	}
	if room := cap(commands[gate.Acquire]); room > 16*maxBatch {
		t.Errorf("room for %d commands, of which %d wait", room, put-sent)
	}
}
