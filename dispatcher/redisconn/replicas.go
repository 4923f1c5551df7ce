package redisconn

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/dispatcher/wire"
	"github.com/wheellock/wheellock/internal/gate"
)

// Class is which operations a connection carries.
type Class uint8

const (
	AllCommands        Class = iota
	ReplicatedCommands       // what replicas are to have before it counts
	OtherCommands            // the rest
)

// Takes reports whether a connection of this class carries an operation.
func (c Class) Takes(op gate.Op) bool {
	return c == AllCommands || (c == ReplicatedCommands) == op.Confirms()
}

// pipeline runs the connection's pipeline. What replicas are to have before it counts (rule 25) ends with a WAIT; enough
// reports whether so many have it. A WAIT holds up its connection, so what needs no replica, releases above all,
// goes by other connections.
func (c *Connection) pipeline(sent gate.Time) (results []rueidis.RedisResult, enough bool) {
	conn, cfg := c.dedicated.open(sent, c.server), c.cfg
	if c.Class != ReplicatedCommands {
		return conn.DoMulti(context.Background(), c.pipe...), true
	}
	// Not the builder's own Wait: what it marks as blocking is not watched for a dead connection.
	wait := conn.B().Arbitrary("WAIT", strconv.Itoa(cfg.Replicas), strconv.FormatInt(cfg.ReplicaTime.Milliseconds(), 10)).Build()
	results = conn.DoMulti(context.Background(), append(c.pipe, wait)...)
	last := len(results) - 1
	have, err := results[last].AsInt64()
	if _, said := rediserr.Said(err); err != nil && !said {
		c.Err = err
		c.pipe = nil // the client may still be reading the slice it was given
	}
	return results[:last], err == nil && have >= int64(cfg.Replicas)
}

// unreplicated notes that too few replicas have what the calls of this round did.
func (c *Connection) unreplicated(calls []wire.Call) {
	for _, call := range calls {
		for i := call.From; i < call.To; i++ {
			c.Batch[i].Unreplicated()
		}
	}
}
