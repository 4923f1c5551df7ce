package explore

import (
	"strconv"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/wire"
	"github.com/wheellock/wheellock/wheel"
)

// engine is one process as far as its gates can tell: the loop with its links to Redis.
type engine struct {
	s       *state
	number  int
	uuid    string
	outside bool      // it knows no lines
	born    gate.Time // what its clock shows when the world begins
	cfg     *gate.Config
	encoder *wire.Encoder
	wide    *wideWriter
	fx      gate.Effects

	cells    []*gate.Entry            // by name; nil: idle
	released [][]uint64               // by name: the tenures whose release was asked for, as long as a machine knows the name
	heard    map[string][]*gate.Entry // by channel, as the loop knows it
	flights  []*flight                // commands on their way
	outbox   []gate.Command           // wait for the link
	wishes   []string                 // channels to be subscribed to
	messages []message                // heard by the subscriber, not yet by the loop
	mail     []delayed                // for a loop that stands still

	failed           age // when something last failed here that does not work again yet, for World.Patience; noAge: all works
	link             linkState
	subscriptionDown bool
	subscriptionHeld bool // it is not subscribed for now
	deaf             bool // messages do not arrive for now
	paused           bool
	inTurn           bool      // it stands between its reading of the clock and its mail
	pausedAt         gate.Time // what it has read
	dead             bool      // it has closed, or crashed
	cutOff           bool      // when it died it could not reach Redis, and has left what was there
	crashed          bool      // so that nobody there believes anything
	closing          bool
	closeBy          gate.Time
	touched          bool     // somebody has called it
	called           int      // how often
	lossy            uint64   // tenures up to this number may have lost their keys behind everybody's back
	forced           []uint64 // those that somebody else forces off, or takes the place of
	doubt            doubt    // about its last call without owner

	unpaid map[string]int // by name: commands without messages, since something else than messages and answers came; only where there is a publisher

	granting gate.Time      // from when on a least time counts that is granted now: when the command left whose answer its gate handles, or a message is heard; 0: neither
	apart    map[string]int // by name: how many of its commands in a row have met keys apart
}

// delayed is what a loop that stands still finds in its mailbox.
type delayed struct {
	by   *caller
	what string
	do   func(now gate.Time)
}

// firstHour is what the clock of the first engine shows when a world begins, twice that the second's, and so on.
// The numbers of tenures begin after firstID, as those of an engine's second dispatcher do: no other number is as large but for
// times, and Lua does not show all their digits by itself.
const (
	firstHour  = 1000 * time.Hour
	firstID    = 1 << 47
	maxEngines = len(initials)
	uuidLength = 36
)

// initials are the first digits of the engines' UUIDs.
const initials = "abcdef89"

func newEngine(s *state, number int) *engine {
	outside, version := number >= s.w.Engines-s.w.Outsiders, "8"
	if outside {
		version = "4"
	}
	e := &engine{
		s: s, number: number, outside: outside, uuid: initials[number:number+1] + "0000000-0000-" + version + "000-8000-000000000000", born: time.Duration(number+1) * firstHour,
		cells: make([]*gate.Entry, s.w.Names), released: make([][]uint64, s.w.Names), heard: make(map[string][]*gate.Entry), apart: make(map[string]int), unpaid: make(map[string]int), failed: noAge,
	}
	e.cfg = &gate.Config{
		LeaseTime: lease, HandoffTime: s.w.Handoff, PollCap: pollCap, UUID: e.uuid, FairWaiterLease: waiterLease, RTT: roundTrip,
		Waits: noWaits, Stats: &gate.Stats{}, LastID: firstID, Codes: codes(number), Doubts: number >= s.w.Given,
	}
	settings := wire.Settings{UUID: e.uuid, Publish: "PUBLISH", FairWaiterLease: waiterLease}
	e.encoder, e.wide = wire.NewEncoder(settings), newWideWriter(settings)
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
func (e *engine) learn() { e.learnMillis(e.s.serverMicros() / 1000) }

func (e *engine) learnMillis(millis int64) {
	e.encoder.Learn(millis, e.now())
	e.wide.clock.Learn(millis, e.now())
}

// ownerField is the owner of a tenure of this engine in Redis. The salt of simple locks is empty.
func (e *engine) ownerField(number uint64) string {
	return string(e.s.w.Kind.AppendOwner(nil, e.uuid, "", number))
}

// cell finds the cell of a name, or makes one.
func (e *engine) cell(name int) *gate.Entry {
	if e.cells[name] == nil {
		e.cells[name] = gate.NewEntry(nameOf(name), e.s.w.Kind, e.cfg)
	}
	return e.cells[name]
}

func nameOf(name int) string { return "n" + strconv.Itoa(name) }

// post hands an event to the loop: at once, or when the loop goes on. by caused the event; nil: the network did.
func (e *engine) post(by *caller, what string, do func(now gate.Time)) {
	if e.paused {
		e.mail = append(e.mail, delayed{by, what, do})
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
	e.ringDue(now)
	if mail != nil {
		mail(now)
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
			e.cells[i], e.released[i] = nil, nil
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
			if at := c.Machine.NextAlarm(); at <= now {
				e.s.violate("no-spin", "%v: the alarm of %s is still due after it rang", e, c.Name)
			}
		}
	}
}

// timeOut tells the gates of the callers whose time is over.
func (e *engine) timeOut(now gate.Time) {
	for _, c := range e.s.callers {
		if c.e == e && c.waiter != nil && !c.settled && c.waiter.Until != 0 && c.waiter.Until <= now && c.waiter.Entry != nil {
			c.waiter.Entry.Machine.EndWait(now, c.waiter, gate.TimedOut, &e.fx)
		}
	}
}

// works reports whether nothing has failed that must work again.
func (e *engine) works() bool {
	return e.link == linkUp && !e.subscriptionDown && !e.subscriptionHeld && !e.deaf && !e.paused
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
		if c.e == e && c.waiter != nil && !c.settled && c.waiter.Until != 0 && c.waiter.Entry != nil {
			at = min(at, e.truth(c.waiter.Until))
		}
	}
	return at
}

// each steps every gate.
func (e *engine) each(step func(gate.Machine)) {
	for _, c := range e.cells {
		if c != nil {
			step(c.Machine)
		}
	}
}
