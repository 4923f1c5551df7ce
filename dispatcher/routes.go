package dispatcher

import (
	"slices"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// routes maps each wanted channel to the entries that are subscribed to it, and to the node that serves it.
type routes struct {
	gates     *gates
	home      func(slot uint16) *node // the node that serves a hash slot now
	byChannel map[string]route        // the channels that machines want
	unrouted  bool                    // some channels have no node
}

// route is one channel: its entries, and the node at which the dispatcher listens to it, which serves their hash slot.
// Most channels have one entry; but Redisson's channel names let two names, "a" and "{a}", share one channel.
type route struct {
	entries []*gate.Entry
	node    *node // nil: none, until a survey says which node serves the hash slot
	hops    uint8 // how often it was sent to another node since its last confirmation
}

// subscribe subscribes at a node, which may be the same one again, and unsubscribes at the one before.
func (r *route) subscribe(channel string, to *node) {
	if r.node != to {
		r.unsubscribe(channel)
	}
	if to == nil {
		return
	}
	r.node = to
	to.subscribe(channel, true)
}

// unsubscribe unsubscribes at the node of the route, if it has one.
func (r *route) unsubscribe(channel string) {
	if r.node != nil {
		r.node.subscribe(channel, false)
		r.node = nil
	}
}

// applySubscriptions carries out the subscriptions that the machines asked for. An entry that joins others on a channel gets a confirmation of
// its own.
func (rs *routes) applySubscriptions() {
	for _, s := range rs.gates.fx.Subscriptions {
		if s.On {
			rs.subscribe(s.Channel, s.Entry)
		} else {
			rs.unsubscribe(s.Channel, s.Entry)
		}
	}
	rs.gates.fx.Subscriptions = again(rs.gates.fx.Subscriptions)
}

func (rs *routes) subscribe(channel string, e *gate.Entry) {
	r := rs.byChannel[channel]
	if !slices.Contains(r.entries, e) {
		r.entries = append(r.entries, e)
	}
	to := r.node
	if to == nil {
		to = rs.home(e.Slot)
	}
	r.subscribe(channel, to)
	rs.byChannel[channel] = r
}

func (rs *routes) unsubscribe(channel string, e *gate.Entry) {
	r, ok := rs.byChannel[channel]
	if !ok {
		return
	}
	r.entries = slices.DeleteFunc(r.entries, func(other *gate.Entry) bool { return other == e })
	if len(r.entries) > 0 {
		rs.byChannel[channel] = r
		return
	}
	r.unsubscribe(channel)
	delete(rs.byChannel, channel)
}

// resubscribe moves every channel to the node that serves its hash slot now.
func (rs *routes) resubscribe() {
	rs.unrouted = false
	for channel, r := range rs.byChannel {
		if to := rs.home(r.entries[0].Slot); r.node != to {
			r.hops = 0
			r.subscribe(channel, to)
			rs.byChannel[channel] = r
		}
	}
}

// subscribeAt subscribes, at a node that has just got its subscriber, to the channels that waited for that.
func (rs *routes) subscribeAt(n *node) {
	for channel, r := range rs.byChannel {
		if r.node == n {
			n.subscribe(channel, true)
		}
	}
}

// leadTo reports whether some channel is listened to at a node.
func (rs *routes) leadTo(n *node) bool {
	for _, r := range rs.byChannel {
		if r.node == n {
			return true
		}
	}
	return false
}

// passMessage passes messages to the machines of their channel.
func (rs *routes) passMessage(now gate.Time, channel string, news gate.News) {
	news.Channel = channel
	for _, e := range rs.byChannel[channel].entries {
		e.Machine.Message(now, news, &rs.gates.fx)
		rs.gates.stepped(e)
	}
}

// route returns the route of a channel. False: the channel has another node now, or is not wanted any more, and the caller
// ignores what node n sent about it.
func (rs *routes) route(n *node, channel string) (route, bool) {
	r, ok := rs.byChannel[channel]
	return r, ok && r.node == n
}

// confirm passes the confirmation of a subscription to the machines of a channel's route. If the server refused, refusal is its message.
func (rs *routes) confirm(now gate.Time, channel string, r route, refusal string) {
	for _, e := range r.entries {
		e.Machine.Subscribed(now, channel, refusal, &rs.gates.fx)
		rs.gates.stepped(e)
	}
}
