package gate

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// newStorm makes the world of a seed: one to three processes, their clocks, and whoever comes.
func newStorm(seed uint64, kind Kind, broken func(rule string)) *storm {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &storm{world: bareWorld(), conditions: drawConditions(r), rand: r, freed: make(map[string]time.Duration)}
	s.kind = kind
	if replicas := rand.New(rand.NewPCG(seed, 2)); replicas.IntN(3) == 0 { // on dice of their own: other seeds play as they did
		s.replica, s.alone, s.strict = make(map[string]lockKey), pick(replicas, 0.05, 0.3), false
	}
	s.world.broken = broken
	s.world.lossy, s.world.orderly = s.losses > 0, s.strict
	s.ends = s.now + pick(r, 300*time.Millisecond, time.Second, 3*time.Second)
	lease := pick(r, 100*time.Millisecond, 300*time.Millisecond, time.Second, 10*time.Second)
	gifts := rand.New(rand.NewPCG(seed, 3)).IntN(3) == 0 && s.replica == nil // messages give locks to those with a long lease
	if gifts {
		lease = max(lease, 3*time.Second)
	}
	for _, uuid := range []string{"A-0-80-0-0", "B-0-80-0-0", "C-0-80-0-0"}[:1+r.IntN(3)] { // as engines have them
		p := s.newProcess(uuid)
		p.ppm = int64(r.IntN(20_001)) - 10_000
		p.born = time.Second + s.upTo(time.Hour)
		p.cfg.Lease = lease
		p.cfg.HandoffTime = pick(r, 0, 10*time.Millisecond, 50*time.Millisecond)
		p.cfg.PollCap = pick(r, 200*time.Millisecond, 2*time.Second)
		p.cfg.MaxHold = pick(r, 0, 0, 300*time.Millisecond)
		if gifts { // nobody takes the message of one engine for that of another
			secret := int64(len(s.sites)+1) << 53
			p.cfg.Code = func(n uint64) int64 { return secret | int64(n>>63)<<52 | int64(n<<1>>1) }
		}
		site := &site{process: p, wakesAt: Never, sending: make(map[*inFlightCommand]bool)}
		s.sites = append(s.sites, site)
		for range 1 + r.IntN(12) {
			s.at(site, s.upTo(s.ends-s.now), func() { s.come(site) })
		}
		if r.IntN(5) == 0 {
			s.at(site, s.upTo(s.ends-s.now), func() { s.retire(site) })
		}
	}
	if s.strangers {
		s.after(s.upTo(100*time.Millisecond), s.stranger)
	}
	s.after(s.ends-s.now, s.clear)
	s.note("%+v, kind %d", s.conditions, kind)
	return s
}

// come is a caller who wants the lock.
func (s *storm) come(p *site) {
	if p.closed || s.over {
		return
	}
	var want wants
	if s.rand.IntN(5) < 2 {
		want.owner = 1 + s.rand.Uint64N(2)
	}
	want.try = s.rand.IntN(5) == 0
	switch s.rand.IntN(6) {
	case 0, 1:
		want.lease = 10*time.Millisecond + s.upTo(400*time.Millisecond).Truncate(time.Millisecond)
		if s.strict { // no lease may run out
			want.lease += 200 * time.Millisecond
		}
	case 2:
		want.watch = p.cfg.Lease + 100*time.Millisecond
	}
	if !want.try && s.rand.IntN(3) == 0 {
		want.wait = time.Millisecond + s.upTo(500*time.Millisecond)
	}
	c := p.ask(stock, want)
	if want.wait != 0 {
		s.at(p, want.wait+2*waitTick, p.ring)
	}
	if s.rand.IntN(5) == 0 {
		s.at(p, s.upTo(100*time.Millisecond), func() { s.leave(c) })
	}
	if s.chance(0.03) {
		s.at(p, s.upTo(3*s.latency), func() { s.force(p) })
	}
	if s.rand.IntN(4) == 0 { // many come at once
		s.at(p, s.upTo(time.Millisecond), func() { s.come(p) })
	}
}

// leave is a caller going away; its process hears of it a little later.
func (s *storm) leave(c *caller) {
	if c.n%2 == 0 {
		c.stay()
	} else {
		c.leave()
	}
	if c.gone || c.stays {
		s.at(s.siteOf(c), s.upTo(time.Millisecond), c.abandon)
	}
}

func (s *storm) siteOf(c *caller) *site {
	i := slices.IndexFunc(s.sites, func(p *site) bool { return p.process == c.from })
	return s.sites[i]
}

// use is what a caller does with its hold.
func (s *storm) use(c *caller) {
	p := s.siteOf(c)
	hold := s.upTo(20 * time.Millisecond)
	if s.chance(0.1) && (c.hold.watch || !s.strict) {
		hold = s.upTo(3 * p.cfg.Lease)
	}
	if !c.hold.watch {
		if s.chance(0.1) && !s.strict { // the release may come after the key has run out, and then wakes nobody
			return // it leaves its hold to its lease
		}
		if s.rand.IntN(4) == 0 {
			s.at(p, s.upTo(hold), func() {
				if c.holds() {
					c.extend(10*time.Millisecond + s.upTo(time.Second).Truncate(time.Millisecond))
				}
			})
		}
	}
	s.at(p, hold, func() {
		if c.stop() {
			s.at(p, s.upTo(time.Millisecond), c.unlockHeard)
		}
	})
}

// force is a ForceUnlock by p of whoever has the name: its own, in a world where everybody may rely on its hold.
func (s *storm) force(p *site) {
	owner := s.redis.owner(stock)
	if !p.closed && owner != "" && (s.lossy || owner[0] == p.uuid[0]) {
		p.force(stock)
	}
}

// retire is an engine that is drained, or closed.
func (s *storm) retire(p *site) {
	if p.closed || s.over {
		return
	}
	p.closed = true
	p.drain()
	s.at(p, s.upTo(200*time.Millisecond), func() {
		p.process.close()
		s.at(p, LateWindow+time.Second, func() { // the loop waits no longer, and the connection closes
			for _, channel := range sortedKeys(s.redis.listeners) {
				s.redis.unsubscribe(channel, p.process)
			}
			p.wishes, p.messages, p.asking, p.mail, p.ended = nil, nil, 0, 0, true
		})
	})
}

// stranger is a client that is not ours: it takes the name when it finds it free, and comes again.
func (s *storm) stranger() {
	if s.over {
		return
	}
	lease := 20*time.Millisecond + s.upTo(300*time.Millisecond)
	if s.redis.take(stock, "java:1", lease) {
		s.note("a stranger has %s for %v", stock, lease)
		s.after(s.upTo(lease*5/4), func() {
			s.redis.free(stock, "java:1")
			s.note("the stranger goes")
		})
	}
	s.after(time.Millisecond+s.upTo(300*time.Millisecond), s.stranger)
}

// clear is the end of all misfortune.
func (s *storm) clear() {
	s.over = true
	for _, p := range s.sites {
		p.thawsAt = min(p.thawsAt, s.now)
	}
	s.note("from here on all goes well")
}

// checkStrict: where nothing goes wrong, a name that is free, or was given to an engine, finds who waits for it within a few round trips.
func (s *storm) checkStrict() {
	waiting, owner := false, s.redis.owner(stock)
	held := owner == "java:1"
	for _, p := range s.sites {
		for _, c := range p.callers {
			waiting = waiting || !c.answered && !c.gone
			held = held || c.holds() && owner == ownerOf(p.uuid, c.hold.Tenure)
		}
	}
	if !s.strict || !waiting || held {
		delete(s.freed, stock)
		return
	}
	since, free := s.freed[stock]
	if !free {
		s.freed[stock] = s.now
	} else if limit := longestSpin + 60*s.latency + pollWindow; s.now-since > limit {
		s.broken("somebody waits for a name that has been free for " + (s.now - since).String())
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
