package gate

import (
	"slices"
	"strconv"
	"time"

	"github.com/wheellock/wheellock/wheel"
)

// process is one engine's loop as far as machines can tell: it owns their Config, keeps the entries that are not
// idle, carries commands and hears messages. Its clock has an offset of its own and runs up to 1 % off.
type process struct {
	world *world
	uuid  string
	ppm   int64 // how much faster than real time its clock runs
	born  Time  // what its clock showed when the world began
	cfg   *Config

	encoder  Encoder
	entries  map[string]*Entry  // by name
	heard    map[string]*Entry  // who listens to a channel, as the loop knows it
	spare    []*Entry           // idle entries, to be used again
	outbox   []*inFlightCommand // commands that were asked for and not answered yet
	wishes   []wish             // subscriptions that were asked for and not made yet
	messages []published        // heard by the connection, not yet by the machines
	callers  []*caller
	released map[uint64]bool // tenures whose release was asked for
	ended    bool            // its connections are closed
	seen     tally
	given    map[string]uint64 // the tenure that a caller was granted last
	fx       Effects           // what the machine that is stepped has asked for so far
}

type wish struct {
	channel string
	on      bool
}

// newProcess opens an engine with small numbers: a watchdog lease of a second.
func (w *world) newProcess(uuid string) *process {
	p := &process{
		world: w, uuid: uuid, born: time.Hour,
		cfg: &Config{
			UUID: uuid, LeaseTime: time.Second, HandoffTime: 10 * time.Millisecond, PollCap: 2 * time.Second, FairWaiterLease: fairWaiterLease,
			Waits: wheel.NewSlots[*Waiter](1024, nil), Stats: &Stats{}, Codes: plainCodes{}, Doubts: true,
		},
		entries: make(map[string]*Entry), heard: make(map[string]*Entry), released: make(map[uint64]bool), given: make(map[string]uint64),
	}
	p.encoder = NewEncoder(uuid, p.cfg.FairWaiterLease)
	w.procs = append(w.procs, p)
	return p
}

// now is the process's own clock; real says when it will show a time.
func (p *process) now() Time { return p.born + p.world.now + p.skew(p.world.now) }

func (p *process) skew(d time.Duration) time.Duration { return d * time.Duration(p.ppm) / 1_000_000 }

func (p *process) real(local Time) time.Duration {
	if local == Never {
		return Never
	}
	at := (local - p.born) / time.Duration(1_000_000+p.ppm) * 1_000_000 // rounded down, coarsely
	for p.born+at+p.skew(at) < local {
		at += max((local-p.born-at-p.skew(at))*98/100, 1)
	}
	return at
}

func (p *process) names() []string {
	names := make([]string, 0, len(p.entries))
	for name := range p.entries {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// entry finds the entry of a name, or makes one, of old material where there is some.
func (p *process) entry(name string) *Entry {
	if c := p.entries[name]; c != nil {
		return c
	}
	var c *Entry
	if last := len(p.spare) - 1; last >= 0 {
		c, p.spare = p.spare[last], p.spare[:last]
		c.Reuse(name, p.cfg)
	} else {
		c = NewEntry(name, p.world.kind, p.cfg)
	}
	p.entries[name] = c
	return c
}

// step is one event for a machine: everything that happens to machines happens here.
func (p *process) step(c *Entry, event func(m Machine, now Time, fx *Effects), format string, args ...any) {
	p.world.note(p.uuid+" "+format, args...)
	p.fx = Effects{}
	event(c.Machine, p.now(), &p.fx)
	p.collect(&p.fx)
	if p.entries[c.Name] == c && c.Machine.Idle() {
		delete(p.entries, c.Name)
		p.spare = append(p.spare, c)
	}
	p.world.check()
}

// collect takes what a machine asked for.
func (p *process) collect(fx *Effects) {
	for _, commands := range fx.Commands {
		for _, c := range commands {
			p.world.note("%s   asks for %v %d of %s, %+v, lease %v", p.uuid, c.Op, c.ID, c.Entry.Name, c.Args, c.LeaseTime)
			p.checkCommand(&c)
			p.seen.sent(&c)
			p.outbox = append(p.outbox, &inFlightCommand{Command: c, from: p})
		}
	}
	for _, s := range fx.Subscriptions {
		p.world.note("%s   subscription to %s: %v", p.uuid, s.Channel, s.On)
		delete(p.heard, s.Channel)
		if s.On {
			p.heard[s.Channel] = s.Entry
		}
		p.wishes = append(p.wishes, wish{s.Channel, s.On})
	}
}

// wake is the alarm of one machine. It must get somewhere.
func (p *process) wake(c *Entry) {
	p.step(c, func(m Machine, now Time, fx *Effects) { m.Wake(now, fx) }, "is woken for %s", c.Name)
	if p.entries[c.Name] == c && c.Machine.NextAlarm() <= p.now() {
		p.world.broken("an alarm that is due is still due after Wake: the loop would spin")
	}
}

// ring is the loop before it reads mail: alarms, then waits that are over.
func (p *process) ring() {
	for _, name := range p.names() {
		if c := p.entries[name]; c != nil && c.Machine.NextAlarm() <= p.now() {
			p.wake(c)
		}
	}
	for w := range p.cfg.Waits.Due(wheel.Floor(p.now(), waitTick)) {
		c := w.Entry
		p.step(c, func(m Machine, now Time, fx *Effects) { m.EndWait(now, w, TimedOut, fx) }, "gives up %s: its wait is over", w.By)
	}
}

const (
	// waitTick is the tick of the waits' slots.
	waitTick = 10 * time.Millisecond
	// fairWaiterLease is how long Redis keeps the waiters of a fair lock whose engine says nothing.
	fairWaiterLease = 600 * time.Millisecond
)

// published is a message.
type published struct{ channel, text string }

// hear implements hearer: the connection has a message, the machine not yet.
func (p *process) hear(channel, message string) {
	p.messages = append(p.messages, published{channel, message})
}

// listen brings the oldest message to its machine.
func (p *process) listen() {
	said := p.messages[0]
	p.messages = p.messages[1:]
	if c := p.heard[said.channel]; c != nil {
		news := News{Channel: said.channel}
		number, _ := strconv.ParseInt(said.text, 10, 64)
		news.Add(number)
		p.step(c, func(m Machine, now Time, fx *Effects) { m.Message(now, news, fx) }, "hears %s on %s", said.text, said.channel)
	}
}

// subscribe makes the oldest wish come true and, for a subscription, tells the machine.
func (p *process) subscribe() {
	w := p.wishes[0]
	p.wishes = p.wishes[1:]
	if !w.on {
		p.world.redis.unsubscribe(w.channel, p)
		return
	}
	p.world.redis.subscribe(w.channel, p)
	p.subscribed(w.channel, "")
}

func (p *process) subscribed(channel, refusal string) {
	if c := p.heard[channel]; c != nil {
		p.step(c, func(m Machine, now Time, fx *Effects) { m.Subscribed(now, channel, refusal, fx) }, "subscribed to %s %s", channel, refusal)
	}
	if refusal != "" {
		delete(p.heard, channel)
	}
}
