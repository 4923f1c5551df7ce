package chaos

import (
	"strconv"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// serverFaults befall Redis itself, for all clients at once.
var serverFaults = []fault{
	{onServer: true, name: "SCRIPT FLUSH", rules: "12 14", unnoticed: true, pause: 50 * time.Millisecond, strike: func(s *strike) bool {
		return s.server.Do("SCRIPT", "FLUSH").Err() == nil
	}},
	{onServer: true, name: "CLIENT KILL normal", rules: "4 8 11 12 17", unlock: brokenUnlock, try: brokenTry, strike: func(s *strike) bool {
		return killClients(s.server, "normal")
	}},
	{onServer: true, name: "CLIENT KILL pubsub", rules: "8 9 11", strike: func(s *strike) bool {
		return killClients(s.server, "pubsub")
	}},
	{onServer: true, name: "redis SIGSTOP", rules: "1 2 3 15 19", unlock: brokenUnlock, try: brokenTry, pause: time.Second, strike: func(s *strike) bool {
		s.server.Freeze()
		s.last(2 * s.lease)
		s.server.Thaw()
		return true
	}},
	{onServer: true, name: "DEBUG SLEEP", rules: "3 15 19", unlock: brokenUnlock, try: brokenTry, pause: time.Second, strike: func(s *strike) bool {
		seconds := strconv.FormatFloat(s.upTo(s.lease).Seconds(), 'f', 3, 64)
		return s.server.Do("DEBUG", "SLEEP", seconds).Err() == nil
	}},
	{onServer: true, name: "BUSY script", rules: "14 15", unlock: brokenUnlock | isRefused, try: brokenTry | isRefused, pause: time.Second, strike: func(s *strike) bool {
		ran := make(chan struct{})
		go func() { defer close(ran); say(s.server.Addr(), time.Hour, "EVAL", "while true do end", "0") }()
		s.last(300 * time.Millisecond)
		killed := false
		for ; !within(ran, 5*time.Millisecond); killed = true { // it may not even have begun
			// On a new connection, which needs no name. What waited for the end of a CLIENT PAUSE is not heard any more
			// once a script is busy: then another has to say it.
			say(s.server.Addr(), 100*time.Millisecond, "SCRIPT", "KILL")
		}
		return killed
	}},
	{onServer: true, name: "maxmemory", rules: "4 13", unlock: brokenUnlock | isRefused, lock: isRefused, try: brokenTry, strike: func(s *strike) bool {
		on := s.server.Do("CONFIG", "SET", "maxmemory", "1").Err() == nil
		s.last(200 * time.Millisecond)
		return s.server.Do("CONFIG", "SET", "maxmemory", "0").Err() == nil && on
	}},
	{onServer: true, name: "foreign key", rules: "6 13", lock: isForeign, strike: func(s *strike) bool {
		hit := false
		for range 10 { // a string is no lock; where a lock is, it stays away
			name := s.places[s.IntN(len(s.places))].Name
			hit = s.server.Do("SET", name, "foreign", "NX", "PX", strconv.Itoa(1+s.IntN(50))).Text == "OK" || hit
		}
		return hit
	}},
	{onServer: true, name: "READONLY", rules: "4 13", unlock: brokenUnlock | isRefused, try: brokenTry | isRefused, strike: func(s *strike) bool {
		on := s.server.Do("REPLICAOF", "127.0.0.1", "1").Err() == nil
		s.last(300 * time.Millisecond)
		return s.server.Do("REPLICAOF", "NO", "ONE").Err() == nil && on
	}},
	{onServer: true, name: "refused after a lost answer", rules: "2 4 13 22", unlock: brokenUnlock | isRefused, lock: isRefused, try: brokenTry | isRefused, strike: refuseAfterLoss},
	{onServer: true, name: "CLIENT PAUSE", rules: "3 11 15", unlock: brokenUnlock, try: brokenTry, strike: func(s *strike) bool {
		on := s.server.Do("CLIENT", "PAUSE", strconv.Itoa(1+s.IntN(400)), []string{"WRITE", "ALL"}[s.IntN(2)]).Err() == nil
		s.last(400 * time.Millisecond)
		return s.server.Do("CLIENT", "UNPAUSE").Err() == nil && on // this waits, too, where all are paused
	}},
	{onServer: true, name: "too many clients", rules: "15 16", unlock: brokenUnlock | isRefused, try: brokenTry | isRefused, strike: func(s *strike) bool {
		on := s.server.Do("CONFIG", "SET", "maxclients", "1").Err() == nil
		killClients(s.server, "normal")
		s.last(200 * time.Millisecond)
		return s.server.Do("CONFIG", "SET", "maxclients", "10000").Err() == nil && on
	}},
	{onServer: true, name: "a publisher", rules: "11 21 29", pause: 100 * time.Millisecond, strike: publish},
	{onServer: true, name: "redis kill -9, fsync always", rules: "3 4 12 21", unlock: brokenUnlock | isRefused, try: brokenTry | isRefused, pause: time.Second, strike: restart},
}

// dataFaults take keys away whose leases were not over, or may. With appendfsync everysec Redis answers before it
// writes, for up to two seconds, while an fsync is under way on a busy disk: kill -9 can lose that.
var dataFaults = []fault{
	{onServer: true, name: "redis kill -9, everysec", rules: "3 4 12 21", destroys: true, unlock: brokenUnlock | isRefused, try: brokenTry | isRefused, pause: time.Second, strike: restart},
	{onServer: true, name: "redis kill -9, no AOF", rules: "3 4 12 21", destroys: true, unlock: brokenUnlock | isRefused, try: brokenTry | isRefused, pause: time.Second, strike: restart},
	{onServer: true, name: "redis kill -9, hot locks", rules: "3 8 16", destroys: true, unlock: brokenUnlock | isRefused, try: brokenTry | isRefused, pause: 400 * time.Millisecond, strike: hotDeath},
	{onServer: true, name: "FLUSHALL", rules: "3 4 21", destroys: true, unlock: isLost, pause: time.Second, strike: func(s *strike) bool {
		return s.server.Do("FLUSHALL").Err() == nil
	}},
	{onServer: true, name: "DEL by an operator", rules: "3 4", destroys: true, unlock: isLost, strike: func(s *strike) bool {
		s.place = &s.places[s.IntN(len(s.places))]
		return s.server.Do("DEL", s.place.Name).Int == 1
	}},
}

func restart(s *strike) bool {
	s.server.Kill()
	s.last(300 * time.Millisecond)
	s.server.Restart()
	return true
}

// say sends Redis a command on a connection of its own, and returns when there is an answer, or after so long.
func say(addr string, within time.Duration, command ...string) {
	conn, err := resp.Dial("tcp", addr, "", "", within)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	conn.DoWithin(within, command...)
}

func killClients(s *redistest.Server, kind string) bool {
	reply := s.Do("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
	return reply.Err() == nil && reply.Int > 0
}

// clientFaults befall the processes that use the engine.
var clientFaults = []fault{
	{name: "client SIGSTOP", rules: "3 19 21 29", unlock: brokenUnlock, try: brokenTry, strike: func(s *strike) bool {
		return s.victim.freeze(s.upTo(3 * s.victim.Lease))
	}},
	{name: "client asleep over a deadline", rules: "2 3 19 24", unlock: brokenUnlock, try: brokenTry, strike: sleepOverDeadlines},
	{name: "client kill -9", rules: "1 7 23 27 28 29", pause: time.Second, strike: func(s *strike) bool {
		s.victim.kill()
		s.replace(s.victim)
		return true
	}},
	{name: "first in line killed", rules: "1 2 3 9 29", first: true, unlock: brokenUnlock, try: brokenTry, pause: 400 * time.Millisecond, strike: killFirst},
	{name: "first in line stopped", rules: "1 3 9 19 29", first: true, unlock: brokenUnlock, try: brokenTry, pause: 800 * time.Millisecond, strike: stopFirst},
	{name: "CPU starvation", rules: "15 18 19", unlock: brokenUnlock, try: brokenTry, pause: time.Second, strike: func(s *strike) bool {
		for end := now().plus(s.upTo(time.Second)); now() < end; { // it runs a sixth of the time
			if !s.victim.freeze(25 * time.Millisecond) {
				return false
			}
			time.Sleep(5 * time.Millisecond)
		}
		return true
	}},
	{name: "callers go away", rules: "5 10 16 17 20 22 24", unnoticed: true, strike: func(s *strike) bool {
		return true // the clients' habits
	}},
}
