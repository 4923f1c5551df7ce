package redisconn

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/dispatcher/wire"
)

// Class is which operations a connection carries.
type Class uint8

const (
	AllCommands        Class = iota
	ReplicatedCommands       // what replicas or the disk are to have before it counts
	OtherCommands            // the rest
)

// Takes reports whether a connection of this class carries an operation.
func (c Class) Takes(op gate.Op) bool {
	return c == AllCommands || (c == ReplicatedCommands) == op.Confirms()
}

// confirmed runs a pipeline of what replicas are to have before it counts (rule 25), with a WAIT behind it, or the server on its
// disk, with a WAITAOF; enough reports whether they have it. Both hold up their connection, so what needs neither, releases above
// all, goes by other connections.
func (c *Connection) confirmed(conn rueidis.CoreClient) (results []rueidis.RedisResult, enough bool) {
	// Not the builder's own Wait: what it marks as blocking is not watched for a dead connection.
	cfg, pipe := c.cfg, c.pipe
	if cfg.Replicas > 0 {
		pipe = append(pipe, conn.B().Arbitrary("WAIT", strconv.Itoa(cfg.Replicas), millis(cfg.ReplicaTime)).Build())
	}
	if cfg.Fsync > 0 {
		pipe = append(pipe, conn.B().Arbitrary("WAITAOF", "1", "0", millis(cfg.Fsync)).Build())
	}
	results = conn.DoMulti(context.Background(), pipe...)
	calls := len(c.pipe)
	enough = true
	for i, waited := range results[calls:] {
		if _, said := rediserr.Said(waited.Error()); waited.Error() != nil && !said {
			c.Err = waited.Error()
			c.pipe = nil // the client may still be reading the slice it was given
		}
		if cfg.Replicas > 0 && i == 0 {
			have, err := waited.AsInt64()
			enough = err == nil && have >= int64(cfg.Replicas)
		} else {
			have, err := waited.AsIntSlice() // of the server, of its replicas
			enough = enough && err == nil && len(have) > 0 && have[0] > 0
		}
	}
	return results[:calls], enough
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// unreplicated notes that too few replicas, or not the disk, have what the calls of this round did.
func (c *Connection) unreplicated(calls []wire.Call) {
	for _, call := range calls {
		for i := call.From; i < call.To; i++ {
			c.Batch[i].Unreplicated()
		}
	}
}
