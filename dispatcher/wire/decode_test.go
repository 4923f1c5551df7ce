package wire

import (
	"testing"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

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
