package dispatcher

import (
	"slices"

	"github.com/wheellock/wheellock/internal/gate"
)

// routes says which entries listen to a channel.
type routes map[string]route

// route is one channel: its entries, and the node at which it is listened to, which is the one that serves their hash
// slot. Mostly it is one entry; but Redisson's names for channels let two names, "a" and "{a}", share one.
type route struct {
	entries []*gate.Entry
	node    *node // nil: nowhere, until it is known who serves the hash slot
	hops    uint8 // how often it was sent to another node since it was last heard
}

// tune listens at another node, or at the same one anew.
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

// listen passes the machines' wishes on to the subscribers. An entry that joins others on a channel has it confirmed anew.
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

// retune listens to every channel where its hash slot is served now.
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

// subscribed tells the gates of the event's channels that they are heard now, or that the server refused. What a
// node says of a channel that has moved on is of no meaning any more.
func (d *Dispatcher) subscribed(now gate.Time, l *event) {
	for _, channel := range l.ref.([]string) {
		r, ok := d.heard[channel]
		if !ok || r.node == nil || r.node.id != l.n {
			continue
		}
		for _, c := range r.entries {
			c.Machine.Subscribed(now, l.text, &d.fx)
			d.stepped(c)
		}
		if l.text != "" { // nothing will be heard there, and nobody will say that it is over
			r.node.channels--
			delete(d.heard, channel)
		} else if r.hops > 0 {
			r.hops = 0
			d.heard[channel] = r
		}
	}
}
