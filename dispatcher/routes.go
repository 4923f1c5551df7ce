package dispatcher

import (
	"slices"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// routes says which entries listen to a channel.
type routes struct {
	gates    *gates
	home     func(slot uint16) *node // the node that serves a hash slot now
	heard    map[string]route        // by channel
	unrouted bool                    // some channels have no node
}

// route is one channel: its entries, and the node at which the dispatcher listens to it, which serves their hash slot.
// Most channels have one entry; but Redisson's channel names let two names, "a" and "{a}", share one channel.
type route struct {
	entries []*gate.Entry
	node    *node // nil: nowhere, until it is known which node serves the hash slot
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

// listen passes on to the subscribers what the machines want to hear. An entry that joins others on a channel has it confirmed anew.
func (rs *routes) listen() {
	for _, s := range rs.gates.fx.Subscriptions {
		if s.On {
			rs.tuneIn(s.Channel, s.Entry)
		} else {
			rs.tuneOut(s.Channel, s.Entry)
		}
	}
	rs.gates.fx.Subscriptions = again(rs.gates.fx.Subscriptions)
}

func (rs *routes) tuneIn(channel string, e *gate.Entry) {
	r := rs.heard[channel]
	if !slices.Contains(r.entries, e) {
		r.entries = append(r.entries, e)
	}
	to := r.node
	if to == nil {
		to = rs.home(e.Slot)
	}
	r.tune(channel, to)
	rs.heard[channel] = r
}

func (rs *routes) tuneOut(channel string, e *gate.Entry) {
	r, ok := rs.heard[channel]
	if !ok {
		return
	}
	r.entries = slices.DeleteFunc(r.entries, func(other *gate.Entry) bool { return other == e })
	if len(r.entries) > 0 {
		rs.heard[channel] = r
		return
	}
	r.leave(channel)
	delete(rs.heard, channel)
}

// retune listens to every channel at the node that serves its hash slot now.
func (rs *routes) retune() {
	rs.unrouted = false
	for channel, r := range rs.heard {
		if to := rs.home(r.entries[0].Slot); r.node != to {
			r.hops = 0
			r.tune(channel, to)
			rs.heard[channel] = r
		}
	}
}

// startAt has a node listen to the channels that wait for its subscriber, which it has just got.
func (rs *routes) startAt(n *node) {
	for channel, r := range rs.heard {
		if r.node == n {
			n.hear(channel, true)
		}
	}
}

// message brings what was published to the gates of its channel.
func (rs *routes) message(now gate.Time, channel string, news gate.News) {
	for _, e := range rs.heard[channel].entries {
		e.Machine.Message(now, news, &rs.gates.fx)
		rs.gates.stepped(e)
	}
}

// route finds the route of a channel that a node speaks of. False: the channel has moved on, or is not wanted any more;
// then what the node says has no meaning.
func (rs *routes) route(n *node, channel string) (route, bool) {
	r, ok := rs.heard[channel]
	return r, ok && r.node == n
}

// confirm tells the gates of a route that their channel is heard now. If the server refused, refusal is its message.
func (rs *routes) confirm(now gate.Time, r route, refusal string) {
	for _, e := range r.entries {
		e.Machine.Subscribed(now, refusal, &rs.gates.fx)
		rs.gates.stepped(e)
	}
}
