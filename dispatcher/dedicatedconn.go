package dispatcher

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
)

// dedicatedConn is a connection's own, on which nobody else sends: then the connection itself writes its pipeline and reads the
// answers, which saves two goroutines and their wake-ups on each way. The connection owns it while it is away, the loop
// while it is idle.
type dedicatedConn struct {
	own    rueidis.DedicatedClient // nil: not open
	rest   func()                  // gives it back to the client
	kept   func() bool             // ends the watch over the node's end, which closes it
	at     string                  // where it leads, if that can change
	usedAt gate.Time
	fresh  bool // nothing has come over it yet
	stale  bool // another one to this node broke: this one is not to be relied upon
}

// restTime is after how much idleness a connection may have been found dead: the client looks once a second.
const restTime = time.Second

// open is where a connection sends.
func (c *dedicatedConn) open(now gate.Time, n *node) rueidis.CoreClient {
	at := masterOf(n.client)
	if c.stale || c.at != at {
		c.hangUp()
	}
	if c.own != nil && now-c.usedAt > restTime { // the client takes back any, and gives out none that is dead
		c.kept()
		c.rest()
		c.own = nil
	}
	if c.own == nil {
		c.own, c.rest = n.client.Dedicate()
		c.kept = context.AfterFunc(n.ctx, c.own.Close) // cuts a stuck call
		c.fresh = true
	}
	c.usedAt, c.at = now, at
	return c.own
}

// proved notes whether anything came over the connection. One over which nothing ever came may be no connection at all:
// its errors are those of the login, for good.
func (c *dedicatedConn) proved(well bool) {
	if c.fresh && !well {
		c.hangUp()
	}
	c.fresh = false
}

// hangUp closes the connection, if it is open.
func (c *dedicatedConn) hangUp() {
	if c.own != nil {
		c.kept()
		c.own.Close()
	}
	*c = dedicatedConn{}
}
