package dispatcher

import (
	"testing"

	"github.com/wheellock/wheellock/internal/gate"
)

// A user without rights to the channels of its names would otherwise leave an entry behind for each of them.
func TestRefusedChannelIsForgotten(t *testing.T) {
	c := gate.NewEntry("stock:7", gate.MutexKind, &gate.Config{Stats: &gate.Stats{}})
	l := newLoop(Config{Gate: &gate.Config{Stats: &gate.Stats{}}})
	n := &node{}
	for _, channel := range []string{"a", "b"} {
		l.routes.heard[channel] = route{entries: []*gate.Entry{c}, node: n}
	}
	(&refused{n, "a", "NOPERM this user has no permissions to access one of the channels"}).deliver(l, 0)
	(&subscribed{n, []string{"b"}}).deliver(l, 0)
	if l.routes.heard["a"].entries != nil || l.routes.heard["b"].entries == nil {
		t.Errorf("still heard are %v, want b alone", l.routes.heard)
	}
}
