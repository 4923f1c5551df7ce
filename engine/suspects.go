package engine

import (
	"github.com/redis/rueidis"
	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/dispatcher"
)

// suspects passes on what Redis tells about changed keys, for WatchLoss. The client exists before the
// dispatcher does, and may speak before there is anybody to hear.
type suspects struct {
	to *atomic.Pointer[dispatcher.Dispatcher]
}

// ask has the client track the keys that its connection reads. NOLOOP: our own writes are not told.
func (s *suspects) ask(o *rueidis.ClientOption) {
	s.to = &atomic.Pointer[dispatcher.Dispatcher]{}
	o.DisableCache = false
	o.ClientTrackingOptions = []string{"NOLOOP"}
	s.hear(o, "")
}

// hear has a client tell. node is the address of a cluster's node; empty: a single server, or the client of a cluster
// that is for queries alone.
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
