package dispatcher

import (
	"log/slog"
	"testing"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/dispatcher/subscriber"
)

// Invariant: nothing is due at once twice without progress. Sentinel makes another server the master while a probe of the
// old one is out: the loop must wait for the probe, whose answer says nothing any more, and send another.
// invariant: loop-never-waits
func TestSwitchedWhileProbing(t *testing.T) {
	l := newLoop(Config{Gate: &gate.Config{Stats: &gate.Stats{}}, Logger: slog.New(slog.DiscardHandler)})
	n := &node{nodes: &l.nodes, server: &redisconn.Server{}, subscriber: &subscriber.Subscriber{}, idle: []*connection{{Connection: &redisconn.Connection{}}}}
	l.nodes.all = []*node{n}
	n.link = link{state: linkShaky, probing: true, probeAt: gate.Never}

	n.switched(time.Second)
	if at := n.alarm(); at != gate.Never {
		t.Errorf("with a probe out the node is to be looked at %v", at)
	}
	n.probed(2*time.Second, nil)
	if n.link.state == linkUp {
		t.Error("the answer of the old master is taken for that of the new one")
	}
	if at := n.alarm(); at > 2*time.Second {
		t.Errorf("the next probe is due at %v, want at once", at)
	}
}
