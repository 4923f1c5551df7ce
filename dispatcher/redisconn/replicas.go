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

// AllReplicas as Config.Replicas stands for all that are connected.
const AllReplicas = -1

// confirmed runs a pipeline of what replicas are to have before it counts (invariant: replicas-acknowledge), with a WAIT behind it,
// or the server on its disk, with a WAITAOF; enough reports whether they have it. Both hold up their connection, so what needs
// neither, releases above all, goes by other connections.
func (c *Connection) confirmed(conn rueidis.CoreClient) (results []rueidis.RedisResult, enough bool) {
	asked := c.awaited()
	results = conn.DoMulti(context.Background(), c.confirming(c.pipe)...)
	calls := len(c.pipe)
	enough = c.acknowledged(results[calls:])
	if !enough && c.Err == nil && c.awaited() > asked { // a replica has come since the batch before
		enough = c.acknowledged(conn.DoMulti(context.Background(), c.confirming(nil)...))
	}
	return results[:calls], enough
}

// awaited is how many replicas are waited for. Of all that are connected there are as many as the server said last: the number
// must be in the pipeline before the server can say it. If it has grown, one more WAIT follows. If a replica has left, one WAIT
// takes its whole time.
func (c *Connection) awaited() int {
	if c.cfg.Replicas == AllReplicas {
		return c.dedicated.replicas
	}
	return c.cfg.Replicas
}

// confirming appends to a pipeline what asks whether replicas, and the disk, have what it did.
func (c *Connection) confirming(pipe rueidis.Commands) rueidis.Commands {
	b := c.server.Client.B()
	if c.cfg.Replicas == AllReplicas {
		pipe = append(pipe, b.Role().Build())
	}
	if c.cfg.Replicas != 0 { // not the builder's own Wait: what it marks as blocking is not watched for a dead connection
		pipe = append(pipe, b.Arbitrary("WAIT", strconv.Itoa(c.awaited()), millis(c.cfg.ReplicaTime)).Build())
	}
	if c.cfg.Fsync > 0 {
		pipe = append(pipe, b.Arbitrary("WAITAOF", "1", "0", millis(c.cfg.Fsync)).Build())
	}
	return pipe
}

// acknowledged reads the answers to confirming.
func (c *Connection) acknowledged(results []rueidis.RedisResult) bool {
	for _, result := range results {
		if _, said := rediserr.Said(result.Error()); result.Error() != nil && !said {
			c.Err = result.Error()
			c.pipe = nil // the client may still be reading the slice it was given
		}
	}
	enough := true
	if c.cfg.Replicas == AllReplicas {
		c.dedicated.replicas, enough = connected(results[0])
		results = results[1:]
	}
	if c.cfg.Replicas != 0 {
		have, err := results[0].AsInt64()
		enough = enough && err == nil && have >= int64(c.awaited())
		results = results[1:]
	}
	if c.cfg.Fsync > 0 {
		have, _ := results[0].AsIntSlice() // of the server, of its replicas
		enough = enough && len(have) > 0 && have[0] > 0
	}
	return enough
}

// connected reads the answer to ROLE: the replicas that a master sends everything to, and that have acknowledged something. One
// that is still loading has not, nor has a client that only reads the stream, as redis-cli --replica.
func connected(role rueidis.RedisResult) (n int, known bool) {
	parts, err := role.ToArray()
	if err != nil || len(parts) < 3 {
		return 0, false
	}
	replicas, err := parts[2].ToArray() // of a replica its master's port
	for _, replica := range replicas {
		if offset, err := replica.AsStrSlice(); err == nil && len(offset) == 3 && offset[2] != "0" {
			n++
		}
	}
	return n, err == nil
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
