package dispatcher

import (
	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
)

// watch is WatchLoss in a connection. Redis tells a tracking connection once about each key that it has read and
// that somebody then changes. A script's own write of a key ends that, so after a call that may leave a key
// ours, the same pipeline reads its keys again.
//
// Between the two somebody may have deleted a key, and of that Redis tells nothing: the read itself does,
// for it counts the keys that are there.
type watch struct {
	calls []call   // whose keys are read, in the order of the reads
	sent  int      // how many commands that took
	gone  []string // names that may have lost their keys between call and read
}

// watched are the operations after which a key may be ours.
var watched = [gate.Ops]bool{
	gate.Acquire: true, gate.AcquireFenced: true, gate.Renew: true, gate.Confirm: true, gate.Swap: true,
	gate.AcquireRead: true, gate.RenewRead: true, gate.ConfirmRead: true, gate.Downgrade: true,
	gate.AcquireWrite: true, gate.RenewWrite: true, gate.ConfirmWrite: true,
}

// watch appends the reads to the pipeline.
func (l *connection) watch() {
	l.watching.calls, l.watching.sent = l.watching.calls[:0], 0
	if !l.d.cfg.WatchLoss {
		return
	}
	b := l.n.client.B()
	for _, c := range l.wire.calls {
		if !watched[c.op] {
			continue
		}
		keys := l.wire.keys[:0]
		for i := c.from; i < c.to; i++ {
			keys = append(keys, l.batch[i].Entry.Name)
		}
		l.wire.keys = keys
		l.wire.asking(c, b)
		l.wire.commands = append(l.wire.commands, b.Exists().Key(keys...).Build())
		l.watching.calls = append(l.watching.calls, c)
		l.watching.sent += c.commands()
	}
}

// readWatch takes the answers to the reads. Where keys are missing, every name of the call is suspected: the
// count does not say which.
func (l *connection) readWatch(results []rueidis.RedisResult) {
	for i, c := range l.watching.calls {
		if c.asking {
			results = results[1:]
		}
		there, err := results[i].AsInt64()
		if err != nil || there == int64(c.to-c.from) {
			continue
		}
		for at := c.from; at < c.to; at++ {
			l.watching.gone = append(l.watching.gone, l.batch[at].Entry.Name)
		}
	}
}

// suspects gives away what readWatch found.
func (l *connection) suspects() []string {
	gone := l.watching.gone
	l.watching.gone = nil
	return gone
}
