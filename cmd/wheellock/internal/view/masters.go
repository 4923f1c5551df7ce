package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/topology"
	"github.com/wheellock/wheellock/scripts"
)

// master is a connection to one server.
type master struct {
	rueidis.Client
	addr string
}

// findMasters asks which nodes are masters. In a cluster they change, and the client hears of one that has joined only when a command is
// sent on to it: so there is a new client then.
func (r *redis) findMasters(ctx context.Context) error {
	if r.Mode() != rueidis.ClientModeCluster {
		r.masters, r.unasked = []master{{r.Client, r.place}}, make(map[string]error)
		return nil
	}
	known, err := r.askMasters(ctx)
	if !known && (err == nil || errors.Is(err, topology.ErrUnserved)) {
		if fresh, unmade := reach(ctx, r.options); unmade == nil {
			r.Close()
			r.Client = fresh
			_, err = r.askMasters(ctx)
		}
	}
	return unavailable(err)
}

// reach makes a client.
func reach(ctx context.Context, o rueidis.ClientOption) (rueidis.Client, error) {
	client, _, err := topology.Reach(ctx, o, func(_ context.Context, o rueidis.ClientOption) (rueidis.Client, error) { return rueidis.NewClient(o) })
	return client, err
}

// askMasters does so with the present client, which may not know all of them.
func (r *redis) askMasters(ctx context.Context) (known bool, err error) {
	type answer struct {
		addr   string
		served *topology.Map
		err    error
	}
	r.masters, r.unasked = nil, make(map[string]error)
	nodes := r.Nodes()
	answers := make(chan answer, len(nodes))
	for addr, node := range nodes {
		go func() {
			served, err := topology.Ask(ctx, node, addr)
			answers <- answer{addr, served, err}
		}()
	}
	var served *topology.Map
	why := make(map[string]error)
	for range nodes {
		a := <-answers
		served, why[a.addr] = cmp.Or(served, a.served), a.err
		err = cmp.Or(err, a.err)
	}
	if served == nil {
		return false, cmp.Or(err, topology.ErrUnserved)
	}
	known, r.unserved = true, served.Unserved()
	for _, addr := range served.Masters() {
		switch node := nodes[addr]; {
		case node == nil:
			known, r.unasked[addr] = false, errors.New("the cluster does not tell all of its nodes of it")
		case why[addr] != nil:
			r.unasked[addr] = why[addr]
		default:
			r.masters = append(r.masters, master{node, addr})
		}
	}
	return known, nil
}

// errUnseen is the error of a client that was not told of the other nodes.
var errUnseen = errors.New("this is a node of a Redis Cluster, but this user may not ask for the others: grant +cluster|slots, from version 8 on +cluster|shards too")

// notAll is an error that tells which masters could not be asked, and why; nil: all were.
func (r *redis) notAll(ctx context.Context) error {
	if r.Mode() != rueidis.ClientModeCluster {
		err := r.unasked[r.place]
		if err == nil && topology.AtNode(ctx, r.Client) {
			err = errUnseen
		}
		return unavailable(err)
	}
	var all error
	if r.unserved > 0 {
		all = fmt.Errorf("no node whose address is known serves %d of the %d hash slots", r.unserved, scripts.HashSlots)
	}
	for _, addr := range slices.Sorted(maps.Keys(r.unasked)) {
		err := fmt.Errorf("could not ask the master at %s: %w", addr, unavailable(r.unasked[addr]))
		if all != nil {
			err = fmt.Errorf("%w; %w", all, err)
		}
		all = err
	}
	if all == nil {
		return nil
	}
	return &failure{all}
}

// perScan is how many keys one SCAN looks at: about a third of a millisecond of the server's time.
const perScan = 1000

// scan passes on the keys of a type that match a pattern, in pages. A key may come twice.
func (m *master) scan(ctx context.Context, pattern, kind string, page func(keys []string) error) error {
	for cursor := uint64(0); ; {
		found, err := m.Do(ctx, m.B().Scan().Cursor(cursor).Match(pattern).Count(perScan).Type(kind).Build()).AsScanEntry()
		if err != nil {
			return unavailable(err)
		}
		if len(found.Elements) > 0 {
			if err := page(found.Elements); err != nil {
				return err
			}
		}
		if cursor = found.Cursor; cursor == 0 {
			return nil
		}
	}
}
