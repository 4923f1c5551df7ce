package dispatcher

import (
	"slices"

	"github.com/wheellock/wheellock/internal/gate"
)

// routes says which cells listen to a channel. Mostly it is one; but Redisson's names for channels let two
// names, "a" and "{a}", share one.
type routes map[string][]*gate.Cell

func (r routes) add(channel string, c *gate.Cell) {
	if !slices.Contains(r[channel], c) {
		r[channel] = append(r[channel], c)
	}
}

// remove takes a cell off a channel, and reports whether nobody listens to it now.
func (r routes) remove(channel string, c *gate.Cell) (silent bool) {
	left := slices.DeleteFunc(r[channel], func(other *gate.Cell) bool { return other == c })
	if len(left) > 0 {
		r[channel] = left
		return false
	}
	delete(r, channel)
	return true
}

// listen passes the machines' wishes on to the ear. A cell that joins others on a channel has it confirmed anew.
func (d *Dispatcher) listen() {
	for _, s := range d.fx.Subscriptions {
		if s.On {
			d.heard.add(s.Channel, s.Cell)
			d.nodes[0].ear.want(s.Channel, true)
		} else if d.heard.remove(s.Channel, s.Cell) {
			d.nodes[0].ear.want(s.Channel, false)
		}
	}
	clear(d.fx.Subscriptions)
	d.fx.Subscriptions = d.fx.Subscriptions[:0]
}

// message brings what was published to the gates of its channel.
func (d *Dispatcher) message(now gate.Time, l *letter) {
	for _, c := range d.heard[l.text] {
		if r, reads := c.Machine.(gate.Reader); reads {
			r.News(now, l.n, &d.fx)
		} else {
			c.Machine.Message(now, &d.fx)
		}
		d.stepped(c)
	}
}

// subscribed tells the gates of the letter's channels that they are heard now, or that the server refused.
func (d *Dispatcher) subscribed(now gate.Time, l *letter) {
	for _, channel := range l.ref.([]string) {
		for _, c := range d.heard[channel] {
			c.Machine.Subscribed(now, l.text, &d.fx)
			d.stepped(c)
		}
		if l.text != "" { // nothing will be heard there, and nobody will say that it is over
			delete(d.heard, channel)
		}
	}
}
