package redisconn

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/topology"
)

// dedicated is the network connection of one Connection. Nobody else sends on it, so the Connection's own goroutine writes
// the pipeline and reads the answers, which saves two goroutines and their wake-ups on each way. The Connection owns it
// while it is away, the loop while it is idle.
type dedicated struct {
	own    rueidis.DedicatedClient // nil: not open
	rest   func()                  // gives it back to the client
	kept   func() bool             // ends the watch for the server's end, which would close it
	at     string                  // where it leads, if that can change
	usedAt gate.Time
	fresh  bool // nothing has come over it yet
	stale  bool // another one to this node broke: this one is not to be relied upon

	replicas int // as many as were connected when it was asked last
}

// restTime is how long a connection may be idle before the client may have found it dead: the client looks once a second.
const restTime = time.Second

// open returns the network connection, which it makes if there is none that can be relied on.
func (d *dedicated) open(now gate.Time, s *Server) rueidis.CoreClient {
	at := topology.MasterOf(s.Client)
	if d.stale || d.at != at {
		d.disconnect()
	}
	if d.own != nil && now-d.usedAt > restTime { // the client takes back any, and gives out none that is dead
		d.kept()
		d.rest()
		d.own = nil
	}
	if d.own == nil {
		d.own, d.rest = s.Client.Dedicate()
		d.kept = context.AfterFunc(s.ctx, d.own.Close) // cuts a stuck call
		d.fresh = true
	}
	d.usedAt, d.at = now, at
	return d.own
}

// proved notes whether anything came over the connection. A connection over which nothing ever came may have failed to log
// in: then each use of it returns the error of the login.
func (d *dedicated) proved(well bool) {
	if d.fresh && !well {
		d.disconnect()
	}
	d.fresh = false
}

// disconnect closes the connection, if it is open.
func (d *dedicated) disconnect() {
	if d.own != nil {
		d.kept()
		d.own.Close()
	}
	*d = dedicated{}
}
