package redisconn

import (
	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/wire"
)

// watch is WatchLoss in a connection. Redis tells a tracking connection once about each key that the connection has read
// and somebody then changes. A script's own write of a key ends the tracking, so behind a call that may leave a key ours
// the same pipeline reads its keys again.
//
// Between the call and the read somebody may have deleted a key, and Redis does not tell of that. The answer to the read
// does, for it is the number of keys that exist.
type watch struct {
	calls []wire.Call // in the order in which their keys are read; of a wide call one for each name
	keys  []string    // of one of them
	sent  int         // how many commands that took
	gone  []string    // names that may have lost their keys between call and read
}

// watch appends the reads to the pipeline.
func (c *Connection) watch() {
	w := &c.watching
	w.calls, w.sent = w.calls[:0], 0
	if !c.cfg.WatchLoss {
		return
	}
	for _, call := range c.calls {
		switch {
		case !gate.Operations[call.Op].Ours():
		case call.Wide:
			w.calls = call.Split(w.calls, "")
		default:
			w.calls = append(w.calls, call)
		}
	}
	for _, call := range w.calls {
		w.keys = w.keys[:0]
		for i := call.From; i < call.To; i++ {
			w.keys = append(w.keys, c.Batch[i].Entry.Name)
		}
		c.sendAsking(call)
		c.pipe = append(c.pipe, c.server.Client.B().Exists().Key(w.keys...).Build())
		w.sent += call.Commands()
	}
}

// readWatch takes the answers to the reads. Where keys are missing, every name of the call is suspected: the
// count does not say which.
func (c *Connection) readWatch(results []rueidis.RedisResult) {
	for i, call := range c.watching.calls {
		if call.Asking {
			results = results[1:]
		}
		there, err := results[i].AsInt64()
		if err != nil || there == int64(call.To-call.From) {
			continue
		}
		for at := call.From; at < call.To; at++ {
			c.watching.gone = append(c.watching.gone, c.Batch[at].Entry.Name)
		}
	}
}

// suspects gives away what readWatch found.
func (c *Connection) suspects() []string {
	gone := c.watching.gone
	c.watching.gone = nil
	return gone
}
