package dispatcher

import (
	"testing"

	"github.com/wheellock/wheellock/internal/gate"
)

// A user without rights to the channels of its names would otherwise leave an entry behind for each of them.
func TestRefusedChannelIsForgotten(t *testing.T) {
	c := gate.NewEntry("stock:7", gate.MutexKind, &gate.Config{Stats: &gate.Stats{}})
	d := &Dispatcher{heard: make(routes)}
	for _, channel := range []string{"a", "b"} {
		d.heard[channel] = route{entries: []*gate.Entry{c}, node: &node{}}
	}
	d.read(0, &event{kind: subscribed, ref: []string{"a"}, text: "NOPERM this user has no permissions to access one of the channels"})
	d.read(0, &event{kind: subscribed, ref: []string{"b"}})
	if d.heard["a"].entries != nil || d.heard["b"].entries == nil {
		t.Errorf("still heard are %v, want b alone", d.heard)
	}
}
