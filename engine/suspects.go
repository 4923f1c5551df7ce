package engine

import (
	"github.com/redis/rueidis"
	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/dispatcher"
)

// suspects passes Redis' messages about changed keys to the dispatcher, for WatchLoss. The client exists before the
// dispatcher, so messages may arrive before there is one.
type suspects struct {
	to *atomic.Pointer[dispatcher.Dispatcher]
}

// ask makes the client track the keys that its connection reads. NOLOOP: Redis sends no messages about its own writes.
func (s *suspects) ask(o *rueidis.ClientOption) {
	s.to = &atomic.Pointer[dispatcher.Dispatcher]{}
	o.DisableCache = false
	o.ClientTrackingOptions = []string{"NOLOOP"}
	s.hear(o, "")
}

// hear receives a client's messages. node is the address of a cluster's node; empty: a single server, or the client of a
// cluster that is used only for queries.
func (s suspects) hear(o *rueidis.ClientOption, node string) {
	to := s.to
	if to == nil {
		return
	}
	o.OnInvalidations = func(keys []rueidis.RedisMessage) {
		d := to.Load()
		if d == nil {
			return
		}
		if keys == nil { // everything was flushed, or the connection broke
			d.SuspectNode(node)
			return
		}
		for i := range keys {
			if key, err := keys[i].ToString(); err == nil {
				d.Suspect(key)
			}
		}
	}
}

func (s *suspects) tell(d *dispatcher.Dispatcher) {
	if s.to != nil {
		s.to.Store(d)
	}
}
