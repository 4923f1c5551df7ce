package explore

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/internal/redismodel"
	"github.com/wheellock/wheellock/scripts"
)

const (
	recoverSteps = 3000 // moves until everything must be at rest; more for a spin lock, whose waiters poll
	recoverTime  = 120e9
)

// recover lets everything that failed work again, has every holder unlock, and plays until nothing is left to happen. Then
// nobody may be stranded, and nothing may be left of anybody.
func (s *state) recover() {
	s.note("now everything works, and every holder unlocks")
	s.refusing = faults
	s.strays = nil
	for _, e := range s.engines {
		e.subscriptionHeld, e.deaf = false, false
		for _, f := range e.flights {
			f.held = false
		}
	}
	ends := s.now + recoverTime
	most := recoverSteps
	if s.w.Kind == gate.SpinKind || s.w.Kind == gate.SimpleKind {
		most *= 100
	}
	for step := 0; ; step++ {
		if step > most || s.now > ends {
			s.violate("comes-to-rest", "after %d steps and %d s something still happens", step, (s.now-ends)/1e9+recoverTime/1e9)
		}
		if s.settle() {
			s.check()
			continue
		}
		s.checkAwake()
		s.checkPermitLines()
		if ends-s.now < recoverTime/2 {
			s.sendHome()
		}
		at := int64(never)
		for _, e := range s.engines {
			if !e.dead {
				at = min(at, e.nextAlarm())
			}
		}
		if at == never {
			break
		}
		s.pass(at)
		s.check()
	}
	s.pass(s.now + int64(2*lease)) // what engines that died have left runs out
	s.checkRest()
}

// longestSleep is how long a waiter may sleep beside a free lock: the longest pause after a refusal, and a little more.
const longestSleep = int64(1100 * time.Millisecond)

// checkAwake: where everything works and nothing is on its way, nobody sleeps for long beside a lock that is free. Not so in the queue
// of a fair lock: channels that are confirmed at one time lead to one question, and here no time passes between two turns.
func (s *state) checkAwake() {
	if s.w.Kind > gate.SpinKind && s.w.Kind != gate.RWKind && s.w.Kind != gate.SimpleKind || s.destroyed || s.unheard {
		return
	}
	if s.lined() {
		for name := range s.w.Names {
			s.checkWaitersOf(name)
		}
		return
	}
	for _, c := range s.callers {
		if !c.waitsForRedis() || s.do("EXISTS", nameOf(c.name)).Int == 1 {
			continue
		}
		if at := c.e.truth(c.waiter.Entry.Machine.NextAlarm()); at-s.now > longestSleep {
			s.violate("nobody-sleeps-beside-a-free-lock", "%v waits, %s is free, and it asks in %v", c, nameOf(c.name), time.Duration(at-s.now))
		}
	}
}

// settle makes one thing happen that does not take time. False: there is none.
func (s *state) settle() bool {
	for _, c := range s.callers {
		if c.hasHold() && !c.e.dead {
			s.countAnew()
			c.unlock()
			return true
		}
	}
	for _, e := range s.engines {
		if e.dead {
			continue
		}
		n := int8(e.number)
		var m Move
		switch {
		case e.paused:
			m.do = resume
		case e.link != linkUp:
			m.do = mend
		case e.subscriptionDown:
			m.do = mendSubscription
		case e.due():
			m.do = ring
		case len(e.wishes) > 0:
			m.do = confirm
		case len(e.messages) > 0:
			m.do = hear
		case len(e.flights) > 0 && e.flights[0].ran:
			m.do = arrive
		case len(e.flights) > 0:
			m.do = run
		default:
			continue
		}
		m.engine = n
		s.apply(m)
		return true
	}
	return false
}

// checkRest is what must be true when nothing happens any more.
func (s *state) checkRest() {
	for _, c := range s.callers {
		switch {
		case c.e.crashed:
		case c.waiter != nil && !c.settled:
			s.violate("nobody-is-stranded", "%v was never answered", c)
		case c.release != nil && !c.release.settled:
			s.violate("nobody-is-stranded", "the %s of %v was never answered", c.release.what, c)
		}
	}
	for _, e := range s.engines {
		for _, c := range e.cells {
			if c != nil && !e.dead {
				s.violate("nothing-is-left", "%v still has a machine for %s", e, c.Name)
			}
		}
		for channel := range s.subscribers[e.number] {
			s.violate("nothing-is-left", "%v still listens to %s", e, channel)
		}
	}
	for _, key := range s.server.Keys() {
		if !s.mayStand(key) {
			s.violate("nothing-is-left", "the key %s still stands", key)
		}
	}
	s.counted.checkRecovered(s)
}

// mayStand: counters and fencing tokens stand for ever; receipts end by themselves.
func (s *state) mayStand(key string) bool {
	if s.w.Count > 0 && slices.ContainsFunc([]int{0, 1, 2}, func(n int) bool { return key == nameOf(n) }) {
		return true
	}
	if s.w.Kind == gate.PermitKind && key == scripts.PermitsKey(nameOf(0)) { // what has run out stands until somebody asks
		return true
	}
	if s.w.Kind == gate.FairKind && s.onlyDeadStand(key) {
		return true
	}
	if (s.lined() || s.w.Kind <= gate.FencedKind || s.hasPermitLine()) && s.onlyDeadInLine(key) {
		return true
	}
	return strings.HasPrefix(key, "redisson_lock_token:") || strings.Contains(key, ":wheellock:receipt:")
}

// sendHome ends the waits of those for whom there is nothing: what they wait for may never come.
func (s *state) sendHome() {
	if s.w.Kind != gate.SemaphoreKind && s.w.Kind != gate.LatchKind {
		return
	}
	for _, c := range s.callers {
		if c.waits() && !c.e.dead && s.servable(c) {
			s.violate("nobody-is-stranded", "%v waits, and could be served", c)
		}
	}
	for _, c := range slices.Backward(s.callers) {
		if c.waits() && !c.e.dead {
			c.drop()
		}
	}
}

// servable reports whether what a caller waits for is there.
func (s *state) servable(c *caller) bool {
	left, _ := strconv.ParseInt(s.do("GET", nameOf(c.name)).Str, 10, 64)
	if s.w.Kind == gate.LatchKind {
		return left == 0
	}
	return left >= c.kept.n && s.waiting(c.e, c.name) != nil && s.firstWaiting(c)
}

func (s *state) firstWaiting(c *caller) bool {
	for _, other := range s.callers[:c.number] {
		if other.e == c.e && other.name == c.name && other.waits() {
			return false
		}
	}
	return true
}

// onlyDeadInLine reports whether a key is a line in which only places of engines stand that crashed or were cut off, or that came back with
// older data, or that nobody knows of after a copy of a command or in an open slot, or that could not be given up, or none: the next release takes them out, and the line
// ends by itself.
func (s *state) onlyDeadInLine(key string) bool {
	for name := range s.w.Names {
		if key != scripts.LineKey(nameOf(name)) {
			continue
		}
		return !slices.ContainsFunc(s.do("ZRANGE", key, "0", "-1").Array, func(place redismodel.Value) bool {
			return slices.ContainsFunc(s.engines, func(e *engine) bool {
				return !e.cutOff && !s.destroyed && !s.surprised && !s.leftBehind && strings.HasPrefix(place.Str, e.uuid)
			})
		})
	}
	return false
}

// onlyDeadClaim reports whether a key has claims of dead engines alone, and ends by itself with the longest of them.
func (s *state) onlyDeadClaim(key string) bool {
	living := slices.ContainsFunc(s.do("HKEYS", key).Array, func(uuid redismodel.Value) bool {
		return slices.ContainsFunc(s.engines, func(e *engine) bool { return !e.cutOff && !s.destroyed && uuid.Str == e.uuid })
	})
	left := s.do("PTTL", key).Int
	return !living && left > 0 && left <= claimTime.Milliseconds()
}

// onlyDeadStand reports whether a key is of a fair queue in which only waiters of engines stand that crashed or were cut off, or
// places that came back with older data: the next caller removes them. Of an empty queue nothing stands.
func (s *state) onlyDeadStand(key string) bool {
	for name := range s.w.Names {
		if key == scripts.ClaimsKey(nameOf(name)) {
			return s.onlyDeadClaim(key)
		}
		queue := scripts.FairQueue(nameOf(name))
		if key != queue && key != scripts.FairDeadlines(nameOf(name)) && key != scripts.FairAlive(nameOf(name)) {
			continue
		}
		standing := s.do("LRANGE", queue, "0", "-1").Array
		if len(standing) == 0 && !s.destroyed {
			return false
		}
		return !slices.ContainsFunc(standing, func(owner redismodel.Value) bool {
			return slices.ContainsFunc(s.engines, func(e *engine) bool {
				return !e.cutOff && !s.destroyed && strings.HasPrefix(owner.Str, e.uuid)
			})
		})
	}
	return false
}
