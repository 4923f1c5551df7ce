package gate

import (
	"math/rand/v2"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// conditions are the faults of a world, drawn from its seed.
type conditions struct {
	latency   time.Duration // one way, at most
	faults    float64       // how likely something becomes of a command that should not
	breaks    float64       // how likely, for each event, a connection for messages breaks
	freezes   float64       // how likely, for each event, a process stops for a while
	losses    float64       // how likely, for each event, the key is lost
	strict    bool          // nothing goes wrong, so nobody may wait for a free name
	strangers bool          // a client that is not ours takes part
	alone     float64       // how likely too few replicas have what a command did
}

func drawConditions(r *rand.Rand) conditions {
	w := conditions{latency: pick(r, time.Millisecond, 3*time.Millisecond, 20*time.Millisecond), strangers: r.IntN(3) == 0}
	switch r.IntN(4) {
	case 0:
		w.strict = true
	case 1:
		w.faults = pick(r, 0.02, 0.1, 0.3)
	case 2:
		w.faults, w.breaks, w.freezes = 0.05, 0.01, 0.01
	case 3:
		w.faults, w.breaks, w.freezes, w.losses = pick(r, 0, 0.1), 0.005, 0.005, 0.01
	}
	return w
}

func pick[T any](r *rand.Rand, among ...T) T { return among[r.IntN(len(among))] }

// storm plays a world under its conditions: it is the network, the loops and the users.
type storm struct {
	*world
	conditions
	rand  *rand.Rand
	lines timeline
	sites []*site
	over  bool // nothing goes wrong any more, and nobody comes
	ends  time.Duration
	freed map[string]time.Duration // since when a name is free that somebody waits for
}

// site is a process with what the storm knows about it.
type site struct {
	*process
	thawsAt        time.Duration
	wakesAt        time.Duration // when the next alarm is planned for; Never: none
	linkDown       bool          // commands come back at once
	linkWait       bool          // the link broke just now: commands wait
	subscriberDown bool          // the connection for messages is being made again
	sending        map[*inFlightCommand]bool
	mail           int // messages planned to be heard
	asking         int // wishes planned to come true
	closed         bool
}

func (s *storm) chance(p float64) bool { return p > 0 && !s.over && s.rand.Float64() < p }

// upTo is a random time.
func (s *storm) upTo(d time.Duration) time.Duration {
	return time.Duration(s.rand.Int64N(int64(d) + 1))
}

func (s *storm) after(d time.Duration, do func()) { s.lines.plan(s.now+d, do) }

// at plans something that happens to a process: later, when it is frozen. Its loop looks at the clock first.
func (s *storm) at(p *site, d time.Duration, do func()) {
	s.after(d, func() {
		if p.thawsAt > s.now {
			s.at(p, p.thawsAt-s.now, do)
			return
		}
		if s.rand.IntN(10) > 0 {
			p.ring()
		}
		do()
	})
}

// run plays until nothing happens any more.
func (s *storm) run() {
	for {
		e, any := s.lines.next()
		if !any {
			return
		}
		if e.at > s.ends+settleTime {
			s.broken("it does not come to rest")
		}
		s.passTo(max(e.at, s.now))
		e.do()
		s.checkStrict()
		for _, p := range s.sites {
			s.serve(p)
		}
		s.misfortune()
	}
}

// serve plans what follows from what a process has just asked for.
func (s *storm) serve(p *site) {
	for turns := 0; p.linkDown && len(p.outbox) > 0; turns++ {
		if turns > 20 {
			s.broken("questions that leave at once for as long as the link is down")
		}
		p.outbox[0].notSent()
	}
	for _, c := range p.outbox {
		if !p.linkWait && !p.sending[c] {
			p.sending[c] = true
			s.at(p, s.upTo(200*time.Microsecond), func() { s.send(p, c) })
		}
	}
	for ; p.mail < len(p.messages); p.mail++ {
		s.at(p, s.upTo(s.latency), func() {
			switch {
			case p.mail == 0: // the connection broke
			case s.chance(s.faults / 4): // a node of a cluster does not get every message
				p.mail--
				p.messages = p.messages[1:]
			default:
				p.mail--
				p.listen()
			}
		})
	}
	for ; p.asking < len(p.wishes); p.asking++ {
		s.at(p, s.upTo(s.latency), func() { s.subscribe(p) })
	}
	for _, c := range s.granted {
		s.use(c)
	}
	s.granted = s.granted[:0]
	s.alarm(p)
}

// alarm plans the process's next alarm, a little late.
func (s *storm) alarm(p *site) {
	at := Never
	for _, name := range p.names() {
		at = min(at, p.real(p.entries[name].Machine.NextAlarm()))
	}
	if at == Never || p.wakesAt == at {
		return
	}
	p.wakesAt = at
	late := s.upTo(200 * time.Microsecond)
	if s.chance(0.05) {
		late = s.upTo(30 * time.Millisecond)
	}
	s.at(p, max(at-s.now, 0)+late, func() {
		p.wakesAt = Never
		p.ring()
	})
}

// send decides what becomes of a command.
func (s *storm) send(p *site, c *inFlightCommand) {
	if c.left || p.linkWait || p.linkDown {
		p.sending[c] = false
		return
	}
	c.send()
	there, back := s.upTo(s.latency), s.upTo(s.latency)
	if !s.chance(s.faults) {
		s.after(there, func() {
			if p.sending[c] {
				c.run()
			}
		})
		answer := c.answer
		if s.chance(s.alone) {
			answer = c.alone
		}
		s.at(p, there+back, func() { s.settle(p, c, func() { p.cfg.RTT = p.now() - c.Sent; answer() }) })
		return
	}
	switch s.rand.IntN(8) {
	case 0: // it never arrives
		s.at(p, there+back, func() { s.breakLink(p) })
	case 1: // its answer never arrives
		s.after(there, c.run)
		s.at(p, there+back, func() { s.breakLink(p) })
	case 2: // it arrives after everybody gave it up
		s.after(there+back+s.upTo(4*time.Second), c.run)
		s.at(p, there+back, func() { s.breakLink(p) })
	case 3:
		s.at(p, there+back, func() { s.settle(p, c, c.again) })
	case 4:
		s.at(p, there+back, func() { s.settle(p, c, c.denied) })
	case 5: // slow
		s.after(there+s.upTo(500*time.Millisecond), c.run)
		s.at(p, there+back+500*time.Millisecond, func() { s.settle(p, c, c.answer) })
	default:
		fault := pick(s.rand, scripts.ReadOnly, scripts.OutOfMem, scripts.NoPerm, scripts.Other)
		s.at(p, there+back, func() { s.settle(p, c, func() { c.fail(fault) }) })
	}
}

// settle brings an answer, unless the connection has broken under it.
func (s *storm) settle(p *site, c *inFlightCommand, answer func()) {
	if p.sending[c] {
		delete(p.sending, c)
		answer()
	}
}

// breakLink loses all that is on its way. The link is there again soon, or stays down for a while.
func (s *storm) breakLink(p *site) {
	for _, c := range append([]*inFlightCommand(nil), p.outbox...) {
		delete(p.sending, c)
		if c.left {
			c.lose()
		}
	}
	p.linkWait = true
	s.at(p, s.upTo(10*time.Millisecond), func() {
		if s.chance(0.5) {
			p.linkWait, p.linkDown = false, true
			s.at(p, s.upTo(3*time.Second), func() { s.mend(p) })
			return
		}
		s.mend(p)
	})
}

func (s *storm) mend(p *site) {
	p.linkWait, p.linkDown = false, false
	p.linkUp()
}

// subscribe makes the oldest wish of a process come true, or keeps it for when there is a connection again.
func (s *storm) subscribe(p *site) {
	if p.asking == 0 { // its connection was closed for good
		return
	}
	if p.subscriberDown {
		s.at(p, s.latency+time.Millisecond, func() { s.subscribe(p) })
		return
	}
	p.asking--
	if w := p.wishes[0]; w.on && s.chance(s.faults/10) {
		p.wishes = p.wishes[1:]
		s.redis.unsubscribe(w.channel, p.process)
		p.subscribed(w.channel, "NOPERM no permissions to access a channel")
		return
	}
	p.subscribe()
}

// misfortune is what befalls a world besides its commands.
func (s *storm) misfortune() {
	if len(s.sites) == 0 {
		return
	}
	p := s.sites[s.rand.IntN(len(s.sites))]
	if s.chance(s.freezes) {
		p.thawsAt = s.now + s.upTo(2*time.Second)
		s.note("%s is frozen until %v", p.uuid, p.thawsAt)
	}
	if s.chance(s.breaks) && !p.subscriberDown {
		s.breakSubscriber(p)
	}
	if s.chance(s.losses) {
		s.lose(p)
	}
}

// breakSubscriber loses the connection for messages and all that was on it; it is made again.
func (s *storm) breakSubscriber(p *site) {
	s.note("%s loses its connection for messages", p.uuid)
	for _, channel := range sortedKeys(s.redis.listeners) {
		s.redis.unsubscribe(channel, p.process)
	}
	p.messages, p.mail, p.subscriberDown = nil, 0, true
	s.at(p, s.upTo(50*time.Millisecond), func() {
		if p.ended {
			return
		}
		p.subscriberDown = false
		for _, channel := range sortedKeys(p.heard) {
			s.redis.subscribe(channel, p.process)
			p.subscribed(channel, "")
		}
	})
}

// lose is somebody deleting the key; some tell by a message, some processes hear of it otherwise.
func (s *storm) lose(p *site) {
	s.note("the key of %s is lost", stock)
	s.redis.do("DEL", stock)
	switch s.rand.IntN(3) {
	case 0:
		s.redis.do("PUBLISH", stockChannel, "0")
	case 1:
		s.at(p, s.upTo(s.latency), p.suspect)
	}
}
