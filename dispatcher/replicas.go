package dispatcher

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
)

// commandClass is which operations a connection carries.
type commandClass uint8

const (
	allCommands        commandClass = iota
	replicatedCommands              // what replicas are to have before it counts
	otherCommands                   // the rest
)

func (c commandClass) takes(op gate.Op) bool {
	return c == allCommands || (c == replicatedCommands) == op.Confirms()
}

// pipeline runs the connection's pipeline. What replicas are to have before it counts (rule 25) ends with a WAIT; enough
// reports whether so many have it. A WAIT holds up its connection, so what needs no replica, releases above all,
// goes by other connections.
func (l *connection) pipeline(sent gate.Time) (results []rueidis.RedisResult, enough bool) {
	conn, cfg := l.dedicated.open(sent, l.n), &l.d.cfg
	if l.class != replicatedCommands {
		return conn.DoMulti(context.Background(), l.wire.commands...), true
	}
	// Not the builder's own Wait: what it marks as blocking is not watched for a dead connection.
	wait := conn.B().Arbitrary("WAIT", strconv.Itoa(cfg.Replicas), strconv.FormatInt(cfg.ReplicaTime.Milliseconds(), 10)).Build()
	results = conn.DoMulti(context.Background(), append(l.wire.commands, wait)...)
	last := len(results) - 1
	have, err := results[last].AsInt64()
	if _, said := Said(err); err != nil && !said {
		l.linkErr = err
		l.wire.commands = nil // the client may still be reading the slice it was given
	}
	return results[:last], err == nil && have >= int64(cfg.Replicas)
}

// unreplicated notes that too few replicas have what the calls of this round did.
func (l *connection) unreplicated(calls []call) {
	for _, c := range calls {
		for i := c.from; i < c.to; i++ {
			l.batch[i].Unreplicated()
		}
	}
}

// errSwitched is the end of a connection to a server that is not the master any more.
var errSwitched = errors.New("the sentinels have made another server the master")

// masterOf is the address of the server that a client talks to, when that can change: with Sentinel; else nothing.
func masterOf(client rueidis.Client) string {
	if client.Mode() == rueidis.ClientModeSentinel {
		for addr := range client.Nodes() {
			return addr
		}
	}
	return ""
}
