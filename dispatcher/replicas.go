package dispatcher

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/internal/gate"
)

// cargo is which operations a lane carries.
type cargo uint8

const (
	everything cargo = iota
	vouched          // what replicas are to have before it counts
	unvouched        // the rest
)

func (c cargo) takes(op gate.Op) bool { return c == everything || (c == vouched) == op.Confirms() }

// voucher is how the replicas are made to have what a lane has carried before it counts (rule 25): by a WAIT at the
// end of its pipeline. A WAIT holds up its connection, so each such lane has one of its own, and what needs no
// replica, releases above all, goes by other lanes.
type voucher struct {
	conn    rueidis.DedicatedClient // nil: none yet, or it broke
	release func()
	at      string // where conn leads, if that can change
	n       int    // how many replicas
	time    time.Duration
}

// do runs a pipeline and reports whether enough replicas have it.
func (v *voucher) do(client rueidis.Client, commands rueidis.Commands) (results []rueidis.RedisResult, enough bool, err error) {
	if at := masterOf(client); v.conn == nil || at != v.at {
		v.close()
		v.at = at
		v.conn, v.release = client.Dedicate()
	}
	// Not the builder's own Wait: what it marks as blocking is not watched for a dead connection.
	wait := client.B().Arbitrary("WAIT", strconv.Itoa(v.n), strconv.FormatInt(v.time.Milliseconds(), 10)).Build()
	results = v.conn.DoMulti(context.Background(), append(commands, wait)...)
	last := len(results) - 1
	have, err := results[last].AsInt64()
	if err != nil {
		v.close()
	}
	if _, said := Said(err); said { // the connection lives
		return results[:last], false, nil
	}
	return results[:last], have >= int64(v.n), err
}

func (v *voucher) close() {
	if v.conn != nil {
		v.conn.Close()
		v.release()
		v.conn = nil
	}
}

// carry runs the lane's pipeline, on the node's connection or, when replicas are to have it, on its own.
func (l *lane) carry() (results []rueidis.RedisResult, enough bool) {
	if l.cargo != vouched {
		return l.n.client.DoMulti(context.Background(), l.wire.commands...), true
	}
	results, enough, err := l.voucher.do(l.n.client, l.wire.commands)
	if err != nil {
		l.linkErr = err
		l.wire.commands = nil // the client may still be reading the slice it was given
	}
	return results, enough
}

// unreplicated notes that too few replicas have what the calls of this round did.
func (l *lane) unreplicated(calls []call) {
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
