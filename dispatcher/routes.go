package dispatcher

import (
	"slices"

	"github.com/wheellock/wheellock/dispatcher/subscriber"
	"github.com/wheellock/wheellock/internal/gate"
)

// routes says which entries listen to a channel.
type routes map[string]route

// route is one channel: its entries, and the node at which the dispatcher listens to it, which serves their hash slot.
// Most channels have one entry; but Redisson's channel names let two names, "a" and "{a}", share one channel.
type route struct {
	entries []*gate.Entry
	node    *node // nil: nowhere, until it is known who serves the hash slot
	hops    uint8 // how often it was sent to another node since it was last heard
}

// tune listens at another node, or at the same node anew.
func (r *route) tune(channel string, to *node) {
	if r.node != to {
		r.leave(channel)
	}
	if to == nil {
		return
	}
	if r.node == nil {
		to.channels++
	}
	r.node = to
	to.hear(channel, true)
}

// leave stops listening.
func (r *route) leave(channel string) {
	if r.node != nil {
		r.node.hear(channel, false)
		r.node.channels--
		r.node = nil
	}
}

// listen gives a node its subscriber, which begins with the channels that wait for it.
func (n *node) listen() {
	cfg := &n.d.cfg
	n.subscriber = subscriber.New(subscriber.Config{
		Client: n.server.Client, Engine: cfg.UUID, Plain: cfg.Publish != "SPUBLISH", Sharded: cfg.Publish != "PUBLISH",
		Cluster: n.d.cluster != nil, Logger: cfg.Logger, LogArgs: n.where(), Owner: n,
	})
	for channel, r := range n.d.heard {
		if r.node == n {
			n.subscriber.Want(channel, true)
		}
	}
}

// hear listens to a channel, or does not any more.
func (n *node) hear(channel string, on bool) {
	if n.subscriber != nil {
		n.subscriber.Want(channel, on)
	}
}

// listen passes on to the subscribers what the machines want to hear. An entry that joins others on a channel has it confirmed anew.
func (d *Dispatcher) listen() {
	for _, s := range d.fx.Subscriptions {
		if s.On {
			d.tuneIn(s.Channel, s.Entry)
		} else {
			d.tuneOut(s.Channel, s.Entry)
		}
	}
	d.fx.Subscriptions = again(d.fx.Subscriptions)
}

func (d *Dispatcher) tuneIn(channel string, c *gate.Entry) {
	r := d.heard[channel]
	if !slices.Contains(r.entries, c) {
		r.entries = append(r.entries, c)
	}
	to := r.node
	if to == nil {
		to = d.home(c.Slot)
	}
	r.tune(channel, to)
	d.heard[channel] = r
}

func (d *Dispatcher) tuneOut(channel string, c *gate.Entry) {
	r, ok := d.heard[channel]
	if !ok {
		return
	}
	r.entries = slices.DeleteFunc(r.entries, func(other *gate.Entry) bool { return other == c })
	if len(r.entries) > 0 {
		d.heard[channel] = r
		return
	}
	r.leave(channel)
	delete(d.heard, channel)
}

// retune listens to every channel at the node that serves its hash slot now.
func (d *Dispatcher) retune() {
	for channel, r := range d.heard {
		if to := d.home(r.entries[0].Slot); r.node != to {
			r.hops = 0
			r.tune(channel, to)
			d.heard[channel] = r
		}
	}
}

// message brings what was published to the gates of its channel.
func (d *Dispatcher) message(now gate.Time, channel string, news gate.News) {
	for _, c := range d.heard[channel].entries {
		c.Machine.Message(now, news, &d.fx)
		d.stepped(c)
	}
}

// route finds the route of a channel that a node speaks of. False: the channel has moved on, or is not wanted any more;
// then what the node says has no meaning.
func (d *Dispatcher) route(n *node, channel string) (route, bool) {
	r, ok := d.heard[channel]
	return r, ok && r.node == n
}

// confirm tells the gates of a route that their channel is heard now. If the server refused, refusal is its message.
func (d *Dispatcher) confirm(now gate.Time, r route, refusal string) {
	for _, c := range r.entries {
		c.Machine.Subscribed(now, refusal, &d.fx)
		d.stepped(c)
	}
}
