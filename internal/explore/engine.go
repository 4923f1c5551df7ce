package explore

import (
	"fmt"
	"strconv"
	"time"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/wheel"
)

// engine is one process as far as its gates can tell: the loop with its links to Redis.
type engine struct {
	s       *state
	number  int
	uuid    string
	born    gate.Time // what its clock shows when the world begins
	cfg     *gate.Config
	encoder *dispatcher.Encoder
	fx      gate.Effects

	cells    []*gate.Cell            // by name; nil: idle
	heard    map[string][]*gate.Cell // by channel, as the loop knows it
	flights  []*flight               // commands on their way
	outbox   []gate.Command          // wait for the link
	wishes   []string                // channels to be subscribed to
	messages []message               // heard by the subscriber, not yet by the loop
	mail     []letter                // for a loop that stands still

	failed   age // when something last failed here that does not work again yet, for World.Patience; noAge: all works
	link     linkState
	earDown  bool
	earHeld  bool // it is not subscribed for now
	deaf     bool // messages do not arrive for now
	paused   bool
	inTurn   bool      // it stands between its reading of the clock and its mail
	pausedAt gate.Time // what it has read
	dead     bool      // it has closed, or crashed
	cutOff   bool      // when it died it could not reach Redis, and has left what was there
	crashed  bool      // so that nobody there believes anything
	closing  bool
	closeBy  gate.Time
	touched  bool   // somebody has called it
	called   int    // how often
	lossy    uint64 // tenures up to this number may have lost their keys behind everybody's back
}

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
	held   bool // it goes no further for now
	since  age  // when it was held up, or became a stray; noAge: neither
	answer int64
	late   int64 // of a stray: the true time from which on its notAfter is over
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

// letter is what a loop that stands still finds in its mailbox.
type letter struct {
	by   *caller
	what string
	do   func(now gate.Time)
}

// firstHour is what the clock of the first engine shows when a world begins, twice that the second's, and so on.
// The numbers of tenures begin after firstID: no other number is as large but for times.
const (
	firstHour  = 1000 * time.Hour
	firstID    = 10_000_000_000_000
	maxEngines = 4
	uuidLength = 36
)

func newEngine(s *state, number int) *engine {
	e := &engine{
		s: s, number: number, uuid: string(rune('a'+number)) + "0000000-0000-4000-8000-000000000000", born: time.Duration(number+1) * firstHour,
		cells: make([]*gate.Cell, s.w.Names), heard: make(map[string][]*gate.Cell), failed: noAge,
	}
	e.cfg = &gate.Config{
		Lease: lease, HandoffTime: s.w.Handoff, PollCap: pollCap, UUID: e.uuid, FairWaiterLease: waiterLease, RTT: roundTrip,
		Waits: noWaits, Stats: &gate.Stats{}, LastID: firstID,
	}
	e.encoder = dispatcher.NewEncoder(dispatcher.Config{UUID: e.uuid, Publish: "PUBLISH", Gate: e.cfg})
	e.learn()
	return e
}

// noWaits is never put into: the search itself tells callers that their time is over.
var noWaits = wheel.NewSlots[*gate.Waiter](1, nil)

func (e *engine) String() string { return string(rune('A' + e.number)) }

// now is the engine's own clock.
func (e *engine) now() gate.Time { return e.born + time.Duration(e.s.now) }

// truth is the true time at which its clock shows at.
func (e *engine) truth(at gate.Time) int64 {
	if at == gate.Never {
		return never
	}
	return int64(at - e.born)
}

// learn reads the server's clock, as a probe does.
func (e *engine) learn() { e.encoder.Learn(e.s.serverMicros()/1000, e.now()) }

func ownerField(uuid string, number uint64) string {
	return uuid + ":" + strconv.FormatUint(number, 10)
}

// cell finds the cell of a name, or makes one.
func (e *engine) cell(name int) *gate.Cell {
	if e.cells[name] == nil {
		e.cells[name] = gate.NewCell(nameOf(name), e.s.w.Kind, e.cfg)
	}
	return e.cells[name]
}

func nameOf(name int) string { return "n" + strconv.Itoa(name) }

// post brings a letter to the loop: at once, or when it goes on. by is whose letter it is; nil: the network's.
func (e *engine) post(by *caller, what string, do func(now gate.Time)) {
	if e.paused {
		e.mail = append(e.mail, letter{by, what, do})
		return
	}
	if e.s.log != nil && by != nil {
		what = by.String() + " " + what
	}
	e.turn(what, do)
}

// turn is one turn of the loop: alarms that are due, mail, what has come due meanwhile, waits that are over, and what the
// gates have asked for.
func (e *engine) turn(what string, mail func(now gate.Time)) {
	now := e.now()
	if e.s.log != nil {
		e.s.note("    %v: %s", e, what)
	}
	e.s.trace.reads(e, now)
	e.ringDue(now)
	if mail != nil {
		mail(now)
		e.s.trace.asks(e)
	}
	e.ringDue(now)
	e.timeOut(now)
	e.finish(now)
}

// finish ends a turn.
func (e *engine) finish(now gate.Time) {
	e.flush(now)
	live := 0
	for i, c := range e.cells {
		switch {
		case c == nil:
		case c.Machine.Idle():
			e.cells[i] = nil
		default:
			live++
		}
	}
	if e.closing && (live == 0 || now >= e.closeBy) {
		e.end()
	}
}

// ringDue wakes the gates whose alarms are due.
func (e *engine) ringDue(now gate.Time) {
	for _, c := range e.cells {
		if c != nil && c.Machine.NextAlarm() <= now {
			c.Machine.Wake(now, &e.fx)
			e.s.trace.asks(e)
			if at := c.Machine.NextAlarm(); at <= now {
				e.s.violate("no-spin", "%v: the alarm of %s is still due after it rang", e, c.Name)
			}
		}
	}
}

// timeOut tells the gates of the callers whose time is over.
func (e *engine) timeOut(now gate.Time) {
	for _, c := range e.s.callers {
		if c.e == e && c.waiter != nil && !c.settled && c.waiter.Until != 0 && c.waiter.Until <= now && c.waiter.Cell != nil {
			c.waiter.Cell.Machine.Timeout(now, c.waiter, &e.fx)
		}
	}
}

// works reports whether nothing has failed that must work again.
func (e *engine) works() bool {
	return e.link == linkUp && !e.earDown && !e.earHeld && !e.deaf && !e.paused
}

// due reports whether the loop has something to do although nothing arrives.
func (e *engine) due() bool { return e.nextAlarm() <= e.s.now }

// nextAlarm is the true time at which it has.
func (e *engine) nextAlarm() int64 {
	at := int64(never)
	if e.closing {
		at = e.truth(e.closeBy)
	}
	for _, c := range e.cells {
		if c != nil {
			at = min(at, e.truth(c.Machine.NextAlarm()))
		}
	}
	for _, c := range e.s.callers {
		if c.e == e && c.waiter != nil && !c.settled && c.waiter.Until != 0 && c.waiter.Cell != nil {
			at = min(at, e.truth(c.waiter.Until))
		}
	}
	return at
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
		if pass > mostPasses {
			e.s.violate("turns-end", "%v: commands that are answered with NotSent are asked for again without end", e)
		}
		e.bounce(now)
	}
}

// mostPasses is how often what is answered with NotSent may ask for something else: release, and what comes after it.
const mostPasses = 8

// collect moves commands to the outbox; false: none waits there.
func (e *engine) collect() bool {
	e.s.trace.collected(e)
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
		f := &flight{Command: c, by: e.number, since: noAge}
		text, keys, args := e.encoder.Encode(&f.Command, now)
		f.text, f.keys, f.args = script(text), append([]string(nil), keys...), append([]string(nil), args...)
		if e.s.log != nil {
			e.s.note("      %v sends %v %s", e, c.Op, describe(f))
		}
		e.flights = append(e.flights, f)
		e.s.trace.sent(e, f)
	}
	e.outbox = e.outbox[:0]
}

func describe(f *flight) string {
	return fmt.Sprintf("%s: tenure %d next %d n %d lease %v", f.Cell.Name, f.ID, f.Next, f.N, f.Lease)
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
		e.s.note("      %v hears of its %v of %s, tenure %d: %s %d", e, c.Op, c.Cell.Name, c.ID, resultNames[c.Result], c.Reply)
	}
	if millis, late := c.Reply.Late(); late && c.Result == gate.Answered {
		e.encoder.Learn(millis, e.now()) // the dispatcher reads its clock anew when answers have come
	}
	e.s.trace.hears(e, now, c)
	e.s.counted.hears(e, now, c)
	c.Cell.Machine.Answer(now, c, &e.fx)
	e.s.trace.asks(e)
}

var resultNames = [...]string{"answered", "not sent", "again", "denied", "unknown", "alone", "elsewhere"}

// subscribe notes what a gate wants to hear.
func (e *engine) subscribe(s gate.Subscription) {
	e.s.note("      %v wants to hear %s: %v", e, s.Channel, s.On)
	if s.On {
		e.heard[s.Channel] = append(e.heard[s.Channel], s.Cell)
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
	e.post(nil, "a channel is subscribed to", func(now gate.Time) { e.subscribed(now, channel) })
}

func (e *engine) subscribed(now gate.Time, channel string) {
	for _, c := range e.heard[channel] {
		c.Machine.Subscribed(now, "", &e.fx)
	}
}

// hear brings the oldest message to its gates.
func (e *engine) hear() {
	m := e.messages[0]
	e.messages = e.messages[1:]
	e.post(nil, "a message is heard", func(now gate.Time) {
		most, err := strconv.ParseInt(m.text, 10, 64)
		if err != nil {
			most = 1
		}
		for _, c := range e.heard[m.channel] {
			c.Machine.Message(now, gate.News{N: 1, Most: most}, &e.fx)
		}
	})
}

// each steps every gate.
func (e *engine) each(step func(gate.Machine)) {
	for _, c := range e.cells {
		if c != nil {
			step(c.Machine)
		}
	}
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
	return !e.earDown && !e.earHeld && len(e.wishes) > 0 || !e.deaf && len(e.messages) > 0
}
