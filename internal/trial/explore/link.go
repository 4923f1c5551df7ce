package explore

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

type linkState uint8

const (
	linkUp linkState = iota
	linkBroken
	linkDown
)

// flight is a command on its way to Redis and back.
type flight struct {
	gate.Command
	encoded
	by     int // the engine
	ran    bool
	copied bool // it has run before
	apart  bool // its keys were at two nodes: it is to try again
	alone  bool // a wide call has refused it: it goes in none again
	told   bool // a wide call has its result
	held   bool // it goes no further for now
	since  age  // when it was held up, or became a stray; noAge: neither
	answer int64
	late   int64 // of a stray: the true time from which on its notAfter is over
}

// decode gives the command its answer.
func (f *flight) decode(e *engine) {
	if f.told {
		return
	}
	if f.apart {
		e.s.checkWayOut(f)
		f.Command.Result, f.Command.ServerMessage = gate.Again, "TRYAGAIN Multiple keys request during rehashing of slot"
		return
	}
	delete(e.apart, f.Entry.Name)
	e.encoder.Decode(&f.Command, f.answer)
}

// leavesLine encodes a command anew, as the connection does whose call has met keys apart: without the line.
func (e *engine) leavesLine(f *flight) {
	if !f.Lined() {
		return
	}
	again := f.Command
	text, keys, args := e.encoder.Encode(&again, true, again.Sent)
	f.text, f.keys, f.args = script(text), append([]string(nil), keys...), append([]string(nil), args...)
}

// severalKeys reports whether a command has them. The same key twice is one.
func (c *encoded) severalKeys() bool {
	return slices.ContainsFunc(c.keys, func(key string) bool { return key != c.keys[0] })
}

// encoded is how a command is written.
type encoded struct {
	text       script
	keys, args []string
}

type script string

// message is what was published on a channel.
type message struct {
	channel string
	text    string
}

// flush takes what the gates have asked for.
func (e *engine) flush(now gate.Time) {
	for _, s := range e.fx.Subscriptions {
		e.subscribe(s)
	}
	e.fx.Subscriptions = e.fx.Subscriptions[:0]
	for pass := 0; e.collect(); pass++ {
		if e.link == linkUp {
			e.send(now)
			return
		}
		if e.link == linkBroken {
			return
		}
		if pass > mostPasses+e.called {
			e.s.violate("turns-end", "%v: commands that are answered with NotSent are asked for again without end", e)
		}
		e.bounce(now)
	}
}

// mostPasses is how often what is answered with NotSent may ask for something else: release, and what comes after it. Each call may ask
// for one thing more, as those that force an owner off.
const mostPasses = 8

// collect moves commands to the outbox; false: none waits there.
func (e *engine) collect() bool {
	for op := range e.fx.Commands {
		for i := range e.fx.Commands[op] {
			c := &e.fx.Commands[op][i]
			e.s.checkCommand(e, c)
			e.outbox = append(e.outbox, *c)
		}
		e.fx.Commands[op] = e.fx.Commands[op][:0]
	}
	return len(e.outbox) > 0
}

// send writes what waits.
func (e *engine) send(now gate.Time) {
	for _, c := range e.outbox {
		e.sends(c.Entry.Name)
		f := &flight{Command: c, by: e.number, since: noAge}
		text, keys, args := e.encoder.Encode(&f.Command, e.outside && c.Lined(), now)
		f.text, f.keys, f.args = script(text), append([]string(nil), keys...), append([]string(nil), args...)
		if e.s.log != nil {
			e.s.note("      %v sends %v %s", e, c.Op, describe(f))
		}
		e.flights = append(e.flights, f)
	}
	e.outbox = e.outbox[:0]
}

func describe(f *flight) string {
	return fmt.Sprintf("%s: tenure %d lease %v %+v", f.Entry.Name, f.ID, f.LeaseTime, f.Args)
}

// bounce answers what waits while there is no connection.
func (e *engine) bounce(now gate.Time) {
	all := e.outbox
	e.outbox = nil
	for i := range all {
		c := &all[i]
		c.Sent, c.Result, c.Reply = now, gate.NotSent, 0
		e.answer(now, c)
	}
}

// answer brings an answer to its gate.
func (e *engine) answer(now gate.Time, c *gate.Command) {
	if e.s.log != nil {
		e.s.note("      %v hears of its %v of %s, tenure %d: %s %d", e, c.Op, c.Entry.Name, c.ID, resultNames[c.Result], c.Reply)
	}
	if millis, late := c.Reply.Late(); late && c.Result == gate.Answered {
		e.learnMillis(millis) // the dispatcher reads its clock anew when answers have come
	}
	e.s.counted.hears(e, now, c)
	e.s.hearsOfPlaces(c)
	e.granting = c.Sent
	c.Entry.Machine.Answer(now, c, &e.fx)
	e.granting = 0
}

var resultNames = [...]string{"answered", "not sent", "again", "denied", "unknown", "alone", "elsewhere"}

// subscribe notes what a gate wants to hear.
func (e *engine) subscribe(s gate.SubscriptionChange) {
	e.s.note("      %v wants to hear %s: %v", e, s.Channel, s.On)
	if s.On {
		e.heard[s.Channel] = append(e.heard[s.Channel], s.Entry)
		e.wishes = append(e.wishes, s.Channel)
		return
	}
	delete(e.heard, s.Channel)
	delete(e.s.subscribers[e.number], s.Channel)
	kept := e.wishes[:0]
	for _, w := range e.wishes {
		if w != s.Channel {
			kept = append(kept, w)
		}
	}
	e.wishes = kept
}

// confirm makes the oldest wish come true.
func (e *engine) confirm() {
	channel := e.wishes[0]
	e.wishes = e.wishes[1:]
	e.s.subscribers[e.number][channel] = true
	e.s.meets(channel)
	e.post(nil, "a channel is subscribed to", func(now gate.Time) { e.subscribed(now, channel) })
}

func (e *engine) subscribed(now gate.Time, channel string) {
	for _, c := range e.heard[channel] {
		c.Machine.Subscribed(now, channel, "", &e.fx)
	}
}

// hear brings the oldest message to its gates.
func (e *engine) hear() {
	channel, said := e.messages[0].channel, ""
	news := gate.News{Channel: channel}
	heard := e.takeNews()
	for _, m := range heard {
		most, err := strconv.ParseInt(m.text, 10, 64)
		if err != nil {
			most = 1
		}
		news.Add(most)
		said += " " + m.text
	}
	e.pays(channel, news)
	e.post(nil, "heard:"+said, func(now gate.Time) {
		e.granting = now
		granted := e.s.grants(e)
		for _, c := range e.heard[channel] {
			c.Machine.Message(now, news, &e.fx)
		}
		e.s.checkGiven(e, heard, granted)
		e.granting = 0
	})
}

// takeNews takes the oldest message; where there is a publisher, all that wait on its channel.
func (e *engine) takeNews() (taken []message) {
	channel := e.messages[0].channel
	e.messages = slices.DeleteFunc(e.messages, func(m message) bool {
		takes := m.channel == channel && (len(taken) == 0 || e.s.w.MostPublished > 0)
		if takes {
			taken = append(taken, m)
		}
		return takes
	})
	return taken
}

// pending reports whether something is on its way to or from an engine that runs and is connected.
func (e *engine) pending() bool {
	if e.dead || e.paused {
		return false
	}
	for _, f := range e.flights {
		if !f.held {
			return true
		}
	}
	return !e.subscriptionDown && !e.subscriptionHeld && len(e.wishes) > 0 || !e.deaf && len(e.messages) > 0
}
