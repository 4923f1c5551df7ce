package dispatcher

import (
	"testing"

	"github.com/wheellock/wheellock/internal/gate"
)

// A user without rights to the channels of its names would otherwise leave an entry behind for each of them.
func TestRefusedChannelIsForgotten(t *testing.T) {
	c := gate.NewEntry("stock:7", gate.MutexKind, &gate.Config{Stats: &gate.Stats{}})
	d := &Dispatcher{heard: make(routes)}
	n := &node{}
	for _, channel := range []string{"a", "b"} {
		d.heard[channel] = route{entries: []*gate.Entry{c}, node: n}
	}
	(&refused{n, "a", "NOPERM this user has no permissions to access one of the channels"}).deliver(d, 0)
	(&subscribed{n, []string{"b"}}).deliver(d, 0)
	if d.heard["a"].entries != nil || d.heard["b"].entries == nil {
		t.Errorf("still heard are %v, want b alone", d.heard)
	}
}
