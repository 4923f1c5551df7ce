package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/rueidis"
)

// ErrUnserved is the error of a cluster that is not formed yet, as far as its nodes that were asked know.
var ErrUnserved = errors.New("no node of the cluster serves a hash slot yet")

// askTime is the time limit for asking one node of a cluster for its map.
const askTime = 2 * time.Second

// announced is the error of a node at an address that nobody has named: the cluster announces it.
type announced struct {
	error
	addr string
}

func (a *announced) Unwrap() error { return a.error }

// At returns the error of the node at addr, for Announced.
func At(addr string, named []string, err error) error {
	if slices.Contains(named, addr) {
		return err
	}
	return &announced{err, addr}
}

// Announced returns the address of the node that an error is about, if nobody has named it, but the cluster has; else it is empty.
func Announced(err error) string {
	if a := (*announced)(nil); errors.As(err, &a) {
		return a.addr
	}
	return ""
}

// Reach makes a client by connect, and asks for the map if that is a client of a cluster; nil: it is not. Of several addresses some may be of
// nodes that serve no hash slot yet, do not tell, or know only a part, and the client asks any that answers first. So if it does not learn
// of all hash slots, each is asked alone, and the client is of the one that knows most.
func Reach(ctx context.Context, o rueidis.ClientOption, connect func(context.Context, rueidis.ClientOption) (rueidis.Client, error)) (rueidis.Client, *Map, error) {
	client, m, err := reachOne(ctx, o, connect)
	known := errors.Is(err, ErrUnserved) || errors.As(err, new(*rueidis.RedisError)) || m != nil && m.Unserved() > 0
	if !known || len(o.InitAddress) == 1 || o.ForceSingleClient || o.Sentinel.MasterSet != "" {
		return client, m, err
	}
	seeds := o.InitAddress
	for i, seed := range seeds {
		o.InitAddress = seeds[i : i+1 : i+1]
		other, known, why := reachOne(ctx, o, connect)
		switch {
		case known != nil && (m == nil || known.Unserved() < m.Unserved()):
			client, other, m, err = other, client, known, nil
		case why != nil && m == nil:
			err = fmt.Errorf("%w; %s: %w", err, seed, why)
		}
		if other != nil { // or it is no node of a cluster, as the error of all addresses says
			other.Close()
		}
	}
	return client, m, err
}

// reachOne is Reach without asking each address alone. A client that was not told of any node asks the one to which it is connected.
func reachOne(ctx context.Context, o rueidis.ClientOption, connect func(context.Context, rueidis.ClientOption) (rueidis.Client, error)) (rueidis.Client, *Map, error) {
	client, err := connect(ctx, o)
	if err != nil || client.Mode() != rueidis.ClientModeCluster {
		return client, nil, err
	}
	nodes := client.Nodes()
	if len(nodes) == 0 && len(o.InitAddress) == 1 {
		nodes = map[string]rueidis.Client{o.InitAddress[0]: client}
	}
	err = ErrUnserved
	for addr, node := range nodes {
		asking, cancel := context.WithTimeout(ctx, askTime)
		m, why := Ask(asking, node, addr)
		cancel()
		if why == nil {
			return client, m, nil
		}
		err = At(addr, o.InitAddress, why)
	}
	client.Close()
	return nil, nil, err
}
