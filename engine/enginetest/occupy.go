package enginetest

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/scripts"
)

// foreigner is the owner id of Occupy.
const foreigner = "00000000-0000-4000-8000-000000000000:1"

// What a client of Redisson runs to take a lock and to give it back.
const (
	take = `if redis.call('exists', KEYS[1]) == 1 then return redis.call('pttl', KEYS[1]) end
redis.call('hset', KEYS[1], ARGV[1], '1')
redis.call('pexpire', KEYS[1], ARGV[2])
return 'taken'`
	giveBack = `if redis.call('hdel', KEYS[1], ARGV[1]) == 1 then redis.call('publish', KEYS[2], '0') end`
)

// Occupy takes a lock as a program elsewhere would that is not in this test, such as one with Redisson: a Mutex, FencedMutex
// or SpinMutex. Nobody renews its lease. vacate unlocks it, which wakes waiters; it may be called twice, and does
// nothing when the lease is over. With a NameMapper, name is the mapped one.
//
// The error Is [engine.ErrHeld] if the name is taken already, and [engine.ErrInvalid] if it is empty or lease is under a
// millisecond.
func (s *Server) Occupy(name string, lease time.Duration) (vacate func(), err error) {
	if name == "" || lease < time.Millisecond {
		return nil, fmt.Errorf("%w: Occupy(%q, %v): want a name, and a lease of at least 1ms", engine.ErrInvalid, name, lease)
	}
	s.advance()
	switch reply := s.eval(take, []string{name}, foreigner, strconv.FormatInt(lease.Milliseconds(), 10)).(type) {
	case int:
		return nil, &engine.HeldError{Name: name, TTL: time.Duration(reply) * time.Millisecond}
	default:
		return func() {
			s.advance()
			s.eval(giveBack, []string{name, scripts.LockChannel(name)}, foreigner)
		}, nil
	}
}

// eval runs a script as nobody's client.
func (s *Server) eval(script string, keys []string, args ...string) (reply any) {
	var answer bytes.Buffer
	w := bufio.NewWriter(&answer)
	command := append([]string{"EVAL", script, strconv.Itoa(len(keys))}, keys...)
	s.redis.Server().Dispatch(server.NewPeer(w), append(command, args...))
	w.Flush()
	reply, _ = server.ParseReply(bufio.NewReader(&answer))
	return reply
}
