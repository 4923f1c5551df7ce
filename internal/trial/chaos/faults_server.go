package chaos

import (
	"time"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// serverFaults befall Redis itself, for all clients at once.
var serverFaults = []fault{
	{onServer: true, name: "SCRIPT FLUSH", unnoticed: true, pause: 50 * time.Millisecond, strike: func(s *strike) bool {
		return s.server.Do("SCRIPT", "FLUSH").Err() == nil
	}},
	{onServer: true, name: "CLIENT KILL normal", strike: func(s *strike) bool { return s.killClients("normal") }},
	{onServer: true, name: "CLIENT KILL pubsub", strike: func(s *strike) bool { return s.killClients("pubsub") }},
	{onServer: true, name: "redis SIGSTOP", pause: time.Second, strike: func(s *strike) bool {
		s.server.Freeze()
		s.last(2 * s.lease)
		s.server.Thaw()
		return true
	}},
	{onServer: true, name: "BUSY script", pause: time.Second, strike: func(s *strike) bool {
		ran := make(chan struct{})
		go func() { defer close(ran); say(s.server.Addr(), time.Hour, "EVAL", "while true do end", "0") }()
		s.last(300 * time.Millisecond)
		killed := false
		for ; !within(ran, 5*time.Millisecond); killed = true { // it may not even have begun
			say(s.server.Addr(), 100*time.Millisecond, "SCRIPT", "KILL") // on a new connection, which needs no name
		}
		return killed
	}},
	{onServer: true, name: "redis kill -9, fsync always", pause: time.Second, strike: restart},
}

// dataFaults take keys away whose leases were not over, or may.
var dataFaults = []fault{
	{onServer: true, name: "redis kill -9, no AOF", destroys: true, pause: time.Second, strike: restart},
	{onServer: true, name: "redis kill -9, hot locks", destroys: true, pause: 400 * time.Millisecond, strike: hotDeath},
	{onServer: true, name: "FLUSHALL", destroys: true, pause: time.Second, strike: func(s *strike) bool {
		return s.server.Do("FLUSHALL").Err() == nil
	}},
	{onServer: true, name: "DEL by an operator", destroys: true, strike: func(s *strike) bool {
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

func (s *strike) killClients(kind string) bool {
	reply := s.server.Do("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
	return reply.Err() == nil && reply.Int > 0
}
