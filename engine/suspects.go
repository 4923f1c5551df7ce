package engine

import (
	"github.com/redis/rueidis"
	"go.uber.org/atomic"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/dispatcher/respguard"
)

// suspects passes to the dispatcher what clients notice: connections that are broken, and, for WatchLoss, Redis' messages about
// changed keys. The client exists before the dispatcher, so something may be noticed before there is one.
type suspects struct {
	to        atomic.Pointer[dispatcher.Dispatcher]
	watchLoss bool
}

// install makes a client with these options report what it notices. For WatchLoss it tracks the keys that its connection reads. NOLOOP: Redis sends no messages about
// its own writes.
func (s *suspects) install(o *rueidis.ClientOption, watchLoss bool) {
	s.watchLoss = watchLoss
	respguard.Watch(o, func(addr string) {
		if d := s.to.Load(); d != nil {
			d.ReportBroken(addr)
		}
	})
	if watchLoss {
		o.DisableCache = false
		o.ClientTrackingOptions = []string{"NOLOOP"}
		s.watchKeys(o, "")
	}
}

// watchKeys receives a client's messages about keys. node is the address of a cluster's node; empty: a single server, or the client of
// a cluster that is used only for queries.
func (s *suspects) watchKeys(o *rueidis.ClientOption, node string) {
	if !s.watchLoss {
		return
	}
	o.OnInvalidations = func(keys []rueidis.RedisMessage) {
		d := s.to.Load()
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
