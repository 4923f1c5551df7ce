package dispatcher

import (
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
)

// follower notices that the sentinels have made another server the master. The client follows by itself and tells
// nobody: calls that are on their way break, but a connection that is only listened to does not while the old
// master lives, and holds that the new master does not know would be told by their next renewal.
type follower struct {
	stop    chan struct{}
	stopped chan struct{}
}

// followEvery is how often the follower looks; that costs no network.
const followEvery = 250 * time.Millisecond

// follow starts a follower where the master can change. Nil: it cannot.
func (n *node) follow() *follower {
	if n.d.cluster != nil || n.client.Mode() != rueidis.ClientModeSentinel {
		return nil
	}
	f := &follower{stop: make(chan struct{}), stopped: make(chan struct{})}
	go f.run(n, masterOf(n.client))
	return f
}

func (f *follower) run(n *node, master string) {
	defer close(f.stopped)
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-tick.C:
		}
		if at := masterOf(n.client); at != master {
			master = at
			n.d.mail.put(event{kind: switched, ref: n})
		}
	}
}

func (f *follower) close() {
	if f != nil {
		close(f.stop)
		<-f.stopped
	}
}

// switched is another server being the master: everything is verified there, and listened to.
func (n *node) switched(now gate.Time) {
	n.linkBroke(now, errSwitched)
	n.link.probeAt = now
	n.subscriber.move()
}
