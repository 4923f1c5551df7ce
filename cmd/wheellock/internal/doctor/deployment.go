package doctor

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/dispatcher/respguard"
	"github.com/wheellock/wheellock/dispatcher/topology"
	"github.com/wheellock/wheellock/engine"
)

// deployment is the Redis that a URL names: a server, the master and the replicas that sentinels name, or the nodes of a cluster.
// It lives for one examination.
type deployment struct {
	*settings
	ctx    context.Context
	opts   engine.Options
	client rueidis.Client // as the engine's: it follows sentinels and knows the cluster; nil: there is none
	served *topology.Map  // of a cluster; nil: not a cluster
	nodes  []*node
}

// connect finds the servers. Its findings say why it did not.
func (d *deployment) connect() []Finding {
	client, served, err := topology.Reach(d.ctx, d.opts.Redis, func(_ context.Context, o rueidis.ClientOption) (rueidis.Client, error) { return dial(o) })
	if err == nil {
		d.client, d.served = client, served
		ctx, stop := context.WithTimeout(d.ctx, askTime)
		defer stop()
		if masters, is := topology.AtSentinel(ctx, client); is {
			return named("connection", found(Error, "this is a Sentinel, and no server", "No lock can be taken.",
				"add ?master_set=NAME to the URL (it knows "+strings.Join(masters, ", ")+")"))
		}
		err = d.find()
	}
	if err == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(d.ctx, askTime)
	defer stop()
	if e, said := engine.Open(ctx, d.opts); said == nil {
		e.Close()
	} else {
		err = said // the engine knows what to do about it
	}
	return named("connection", found(Error, redisflags.Explain(err), "No lock can be taken."))
}

// dial makes a client. As the engine's, it sends nothing twice, and no server can end the process.
func dial(o rueidis.ClientOption) (rueidis.Client, error) {
	o.ClientName = "wheellock-doctor"
	o.DisableCache, o.DisableRetry = true, true
	o.PipelineMultiplex, o.BlockingPipeline = -1, -1
	o.Dialer.Timeout, o.ConnWriteTimeout = askTime, askTime
	respguard.Guard(&o)
	client, err := rueidis.NewClient(o)
	if o.ForceSingleClient && client != nil { // it dials again when it is used
		return client, nil
	}
	return client, err
}

// dialNode makes a client of one server, which need not be reachable.
func (d *deployment) dialNode(addr string) (rueidis.Client, error) {
	o := d.opts.Redis
	o.InitAddress, o.Sentinel, o.ForceSingleClient = []string{addr}, rueidis.SentinelOption{}, true
	return dial(o)
}

// dialSentinel makes a client of a sentinel, which need not be reachable.
func (d *deployment) dialSentinel(addr string) (rueidis.Client, error) {
	s := d.opts.Redis.Sentinel
	return dial(rueidis.ClientOption{
		InitAddress: []string{addr}, ForceSingleClient: true,
		Username: s.Username, Password: s.Password, TLSConfig: s.TLSConfig, Dialer: s.Dialer,
	})
}

// find finds the servers.
func (d *deployment) find() error {
	var replicas []string
	switch d.client.Mode() {
	case rueidis.ClientModeCluster:
		masters := d.served.Masters()
		for addr := range d.client.Nodes() {
			if !slices.Contains(masters, addr) {
				replicas = append(replicas, addr)
			}
		}
		return d.add(masters, replicas)
	case rueidis.ClientModeSentinel:
		for _, addr := range d.opts.Redis.InitAddress {
			if replicas = d.replicasBy(addr); replicas != nil {
				break
			}
		}
		return d.add([]string{topology.MasterOf(d.client)}, replicas)
	}
	return d.add(d.opts.Redis.InitAddress[:1], nil)
}

// replicasBy are the addresses of the replicas that a sentinel knows; none if it does not answer, which the check of the sentinels
// finds.
func (d *deployment) replicasBy(addr string) (addrs []string) {
	sentinel, err := d.dialSentinel(addr)
	if err != nil {
		return nil
	}
	defer sentinel.Close()
	replicas, _ := d.ask(sentinel, "SENTINEL", "REPLICAS", d.opts.Redis.Sentinel.MasterSet).ToArray()
	for _, r := range replicas {
		fields, _ := r.AsStrMap()
		addrs = append(addrs, net.JoinHostPort(fields["ip"], fields["port"]))
	}
	return addrs
}

// add adds servers, each with a client of its own.
func (d *deployment) add(masters, replicas []string) error {
	slices.Sort(replicas)
	for i, addr := range slices.Concat(masters, replicas) {
		client, err := d.dialNode(addr)
		if err != nil {
			return err
		}
		d.nodes = append(d.nodes, &node{deployment: d, addr: addr, client: client, replica: i >= len(masters)})
	}
	return nil
}

func (d *deployment) close() {
	for _, n := range d.nodes {
		n.client.Close()
	}
	if d.client != nil {
		d.client.Close()
	}
}

// isCluster reports whether hash slots are served by several nodes that are known.
func (d *deployment) isCluster() bool { return d.served != nil }

// String says what the deployment is and where.
func (d *deployment) String() string {
	where := strings.Join(d.opts.Redis.InitAddress, ", ")
	switch {
	case len(d.nodes) == 0:
		return where
	case d.isCluster():
		return fmt.Sprintf("a Redis Cluster of %d nodes, asked at %s", len(d.nodes), where)
	case d.opts.Redis.Sentinel.MasterSet != "":
		return fmt.Sprintf("master %s and %s, by the sentinels at %s", d.opts.Redis.Sentinel.MasterSet, cli.Plural(int64(len(d.nodes)-1), "replica", "replicas"), where)
	}
	return "a single server at " + where
}
