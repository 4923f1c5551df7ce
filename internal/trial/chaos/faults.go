package chaos

import (
	"math/rand/v2"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
)

// fault is one thing that can go wrong. Its strike begins it, lets it last, and ends it.
type fault struct {
	name  string
	rules string // the invariants that it tests, by their numbers in docs/RELIABILITY.md
	// strike breaks something and mends it again. False: there was nothing to break.
	strike func(*strike) bool
	// Allowed are errors that a caller may get because of it: of a call that asks once, of any call, of an unlock
	// or an extension. Everybody may always be told that a lock is held, that waiting is over, and what he did
	// himself.
	try, lock, unlock classes
	// destroys says that keys are gone afterwards, though their leases were not over.
	destroys bool
	// unnoticed: nobody may have to wait because of it.
	unnoticed bool
	// onServer: it befalls all clients at once.
	onServer bool
	// first: it befalls a client that stands first in a line (fleet.go), and not any one.
	first bool
	// pause is that between two strikes, at most; 0: 300ms.
	pause time.Duration
}

// victim draws a client that it is to befall. nil: there is none now.
func (f *fault) victim(ph *phase, random *rand.Rand) *process {
	if f.first {
		return ph.firstInLine(random)
	}
	return ph.anyone(random)
}

// strike is one blow.
type strike struct {
	*phase
	*rand.Rand
	victim *process // nil: all
	place  *place   // the only name that was struck; nil: all
	down   span     // Redis was gone; 0: it was not
	back   instant  // it answered again
	costs  map[string]time.Duration
	wrong  string
}

// upTo is a time up to d, and not 0.
func (s *strike) upTo(d time.Duration) time.Duration { return 1 + time.Duration(s.Int64N(int64(d))) }

// last waits for a time up to d.
func (s *strike) last(d time.Duration) { time.Sleep(s.upTo(d)) }

// A broken link may leave a call that asks once without an answer, or unsent; and a hold without renewal.
const (
	brokenTry    = isNotSent | isUncertain
	brokenUnlock = isLost | isUncertain
)

// linkFaults break what lies between one client and Redis.
var linkFaults = []fault{
	{name: "latency", rules: "2 8 9 19", unlock: brokenUnlock, try: brokenTry, strike: func(s *strike) bool {
		s.victim.proxy.Latency(redistest.Both, s.upTo(100*time.Millisecond), 0)
		s.last(500 * time.Millisecond)
		s.victim.proxy.Latency(redistest.Both, 0, 0)
		return true
	}},
	{name: "jitter", rules: "2 11", unlock: brokenUnlock, try: brokenTry, strike: func(s *strike) bool {
		s.victim.proxy.Latency(redistest.Both, 10*time.Millisecond, 10*time.Millisecond)
		s.last(500 * time.Millisecond)
		s.victim.proxy.Latency(redistest.Both, 0, 0)
		return true
	}},
	{name: "10 kB/s", rules: "15 16", unlock: brokenUnlock, try: brokenTry, strike: func(s *strike) bool {
		s.victim.proxy.Bandwidth(redistest.Both, 10_000)
		s.last(500 * time.Millisecond)
		s.victim.proxy.Bandwidth(redistest.Both, 0)
		return true
	}},
	{name: "slow close", rules: "11 12", unlock: brokenUnlock, try: brokenTry, strike: func(s *strike) bool {
		s.victim.proxy.SlowClose(redistest.Both, s.upTo(500*time.Millisecond))
		s.victim.proxy.HalfClose(redistest.ServerToClient)
		s.last(500 * time.Millisecond)
		s.victim.proxy.SlowClose(redistest.Both, 0)
		return true
	}},
	{name: "messages lost", rules: "9 11 29", strike: func(s *strike) bool {
		before := s.victim.proxy.Stats().LostMessages
		s.victim.proxy.LoseMessages([]float64{0.1, 0.5, 1}[s.IntN(3)])
		s.last(500 * time.Millisecond)
		s.victim.proxy.LoseMessages(0)
		return s.victim.proxy.Stats().LostMessages > before
	}},
	{name: "reset", rules: "4 8 11 12 17", unlock: brokenUnlock, try: brokenTry, strike: func(s *strike) bool {
		return s.victim.proxy.Cut() > 0
	}},
	{name: "reset at a byte", rules: "4 11 12 13", unlock: brokenUnlock, try: brokenTry, strike: func(s *strike) bool {
		before := s.victim.proxy.Stats().Cut
		s.victim.proxy.Cut()
		for range 5 { // each new connection lives for so many bytes
			s.victim.proxy.CutAfter([]redistest.Direction{redistest.ClientToServer, redistest.ServerToClient}[s.IntN(2)], s.Int64N(60_000))
			s.last(100 * time.Millisecond)
			s.victim.proxy.CutAfter(redistest.Both, -1)
		}
		s.victim.proxy.Cut() // those that still have a budget
		return s.victim.proxy.Stats().Cut > before+2
	}},
	{name: "half-close", rules: "4 11 12", unlock: brokenUnlock, try: brokenTry, strike: func(s *strike) bool {
		s.victim.proxy.HalfClose([]redistest.Direction{redistest.ClientToServer, redistest.ServerToClient}[s.IntN(2)])
		return true
	}},
	{name: "connections refused", rules: "15 16", unlock: brokenUnlock, try: brokenTry, strike: func(s *strike) bool {
		s.victim.proxy.RefuseNew(true)
		s.victim.proxy.Cut()
		s.last(300 * time.Millisecond)
		s.victim.proxy.RefuseNew(false)
		return true
	}},
	{name: "answer swallowed", rules: "2 4 12 22 23 28 29", unlock: brokenUnlock, try: brokenTry, strike: func(s *strike) bool {
		before := s.victim.proxy.Stats().Swallowed
		s.victim.proxy.SwallowReply(redistest.Swallow{Match: redistest.Command("EVALSHA"), Nth: 1 + s.IntN(20), Times: 1 + s.IntN(5)})
		s.last(500 * time.Millisecond)
		s.victim.proxy.SwallowNothing()
		return s.victim.proxy.Stats().Swallowed > before
	}},
	{name: "bytes nobody asked for", rules: "4 12 13 14", unlock: brokenUnlock | isRefused, lock: isRefused, try: brokenTry | isRefused, strike: sayUnasked},
	blackHole("black hole, in", redistest.ServerToClient),
	blackHole("black hole, out", redistest.ClientToServer),
	blackHole("black hole, both", redistest.Both),
	{name: "lost by a firewall", rules: "3 15", unlock: brokenUnlock, try: brokenTry, strike: func(s *strike) bool {
		s.victim.proxy.Drop(redistest.Both, true)
		s.last(50 * time.Millisecond)
		s.victim.proxy.Drop(redistest.Both, false)
		s.last(s.victim.Lease)
		return s.victim.proxy.CutHoled() > 0
	}},
	{name: "late delivery", rules: "2 4 12", unlock: brokenUnlock, try: brokenTry, strike: func(s *strike) bool {
		before := s.victim.proxy.Stats().LateRequests
		s.victim.proxy.HoldRequests(redistest.UntilReleased)
		time.Sleep(s.victim.Lease) // the engine has given the connection up by then
		s.victim.proxy.HoldRequests(0)
		s.last(time.Second)
		s.victim.proxy.Release()
		time.Sleep(20 * time.Millisecond)
		return s.victim.proxy.Stats().LateRequests > before
	}},
}

// blackHole is a partition of one client, shorter or longer than its leases.
func blackHole(name string, dir redistest.Direction) fault {
	return fault{name: name, rules: "1 2 3 15 19", unlock: brokenUnlock, try: brokenTry, strike: func(s *strike) bool {
		s.victim.proxy.BlackHole(dir, true)
		s.last(2 * s.victim.Lease)
		s.victim.proxy.BlackHole(dir, false)
		return true
	}}
}
