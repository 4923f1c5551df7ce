package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/dispatcher/topology"
	"github.com/wheellock/wheellock/scripts"
)

// errUnseen is the error for a cluster that the client took for a single server because it was not told which node serves what.
var errUnseen error = &failure{"this is a node of a Redis Cluster, but this user may not ask for the others: grant +cluster|slots, from version 8 on +cluster|shards too, or set Redis.ForceSingleClient to use this node alone", ErrRefused}

// prepareCluster connects to every master, each by a client of its own, loads the scripts and checks the rights. Masters that cannot be
// reached are left to the dispatcher. It is an error if none can be reached, or if one refuses the user.
func (e *Engine) prepareCluster(ctx context.Context, o rueidis.ClientOption, known *topology.Map) error {
	e.cluster = &dispatcher.Cluster{Seeds: o.InitAddress, Map: known, Connect: func(addr string) (rueidis.Client, error) {
		return e.connectNode(context.Background(), o, addr)
	}}
	var unreached error
	reached := false
	for _, addr := range known.Masters() {
		err := e.reachNode(ctx, o, addr)
		if err == nil {
			reached = true
		} else if unreached = fmt.Errorf("%s: %w", addr, topology.At(addr, o.InitAddress, err)); refused(err) || ctx.Err() != nil {
			return unreached
		}
	}
	if reached {
		return nil
	}
	return unreached
}

// reachNode connects to one master and prepares it.
func (e *Engine) reachNode(ctx context.Context, o rueidis.ClientOption, addr string) error {
	client, err := e.connectNode(ctx, o, addr)
	if err != nil {
		return err
	}
	loaded, err := e.load(ctx, client, e.cluster.Map.Key(addr, e.probeKey()))
	if err != nil {
		client.Close()
		return err
	}
	e.cluster.Reached = append(e.cluster.Reached, dispatcher.Reached{Addr: addr, Client: client, Loaded: loaded})
	return nil
}

// connectNode makes a client of one node. The node need not be reachable yet: the client dials when it is used.
func (e *Engine) connectNode(ctx context.Context, o rueidis.ClientOption, addr string) (rueidis.Client, error) {
	e.suspects.watchKeys(&o, addr)
	o.InitAddress, o.ForceSingleClient, o.ShuffleInit = []string{addr}, true, false
	client, err := connect(ctx, o)
	if client != nil {
		return client, nil
	}
	return nil, err
}

// choosePubSub follows Redisson's rule: sharded channels if the first node that is asked has them.
func (o *Options) choosePubSub(ctx context.Context, node rueidis.Client) {
	if o.PubSub != PubSubAuto {
		return
	}
	switch sharded, known := redisconn.Sharded(ctx, node); {
	case sharded:
		o.PubSub = PubSubSharded
	case known:
		o.PubSub = PubSubPlain
	}
}

// refused reports whether the server itself refused, for a reason that does not pass.
func refused(err error) bool {
	words, said := rediserr.Said(err)
	return said && !strings.HasPrefix(words, "LOADING") || errors.Is(err, ErrRefused)
}

// clustered returns an error for a key of a kind that cannot be used in a cluster with it: all keys of a name must share a hash
// slot.
func clustered(key string, kind gate.Kind) error {
	if kind == gate.LatchKind && !scripts.LatchTogether(key) {
		return invalid("the name %s of a latch in a Redis Cluster: it must have no braces, for Redisson puts its channel's into braces once more", quote(key))
	}
	if !scripts.Together(key) {
		return invalid("the name %s in a Redis Cluster: its keys would lie in different hash slots; it must have no braces, or a hash tag, {like this}", quote(key))
	}
	return nil
}
