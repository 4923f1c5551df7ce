package redismodel

import (
	"math"
	"strings"
)

func expire(s *Server, args []string) Value    { return s.expireAt(args, 1000, s.millis()) }
func pexpire(s *Server, args []string) Value   { return s.expireAt(args, 1, s.millis()) }
func expireat(s *Server, args []string) Value  { return s.expireAt(args, 1000, 0) }
func pexpireat(s *Server, args []string) Value { return s.expireAt(args, 1, 0) }

// expireAt is EXPIRE and its like: key, time, [NX | XX | GT | LT ...], in units of so many ms from a time on.
func (s *Server) expireAt(args []string, unit, from int64) Value {
	var nx, xx, gt, lt bool
	for _, option := range args[3:] {
		switch strings.ToUpper(option) {
		case "NX":
			nx = true
		case "XX":
			xx = true
		case "GT":
			gt = true
		case "LT":
			lt = true
		default:
			return failure("ERR Unsupported option " + untilZero(option))
		}
	}
	switch {
	case nx && (xx || gt || lt):
		return failure("ERR NX and XX, GT or LT options at the same time are not compatible")
	case gt && lt:
		return failure("ERR GT and LT options at the same time are not compatible")
	}
	when, read := parseInt(args[2])
	if !read {
		return notInteger
	}
	if when > math.MaxInt64/unit || when < math.MinInt64/unit || addOverflows(when*unit, from) {
		return s.invalidExpire(strings.ToLower(args[0]))
	}
	when = when*unit + from
	at, found := s.at(args[1])
	if !found {
		return integer(0)
	}
	now := s.keys.items[at].expires
	if nx && now != 0 || xx && now == 0 || gt && (now == 0 || when <= now) || lt && now != 0 && when >= now {
		return integer(0)
	}
	if when <= s.millis() {
		s.keys.remove(at)
		return integer(1)
	}
	s.keys.write()
	s.keys.items[at].expires = when
	return integer(1)
}

func persist(s *Server, args []string) Value {
	at, found := s.at(args[1])
	if !found || s.keys.items[at].expires == 0 {
		return integer(0)
	}
	s.keys.write()
	s.keys.items[at].expires = 0
	return integer(1)
}

// ends is when a key ends, in ms; -1: never; -2: there is none.
func (s *Server) ends(key string) int64 {
	at, found := s.at(key)
	switch {
	case !found:
		return -2
	case s.keys.items[at].expires == 0:
		return -1
	}
	return s.keys.items[at].expires
}

func pttl(s *Server, args []string) Value {
	ends := s.ends(args[1])
	if ends < 0 {
		return integer(ends)
	}
	return integer(max(0, ends-s.millis()))
}

func ttl(s *Server, args []string) Value {
	answer := pttl(s, args)
	if answer.Int > 0 {
		answer.Int = (answer.Int + 500) / 1000
	}
	return answer
}

func pexpiretime(s *Server, args []string) Value { return integer(s.ends(args[1])) }

func expiretime(s *Server, args []string) Value {
	ends := s.ends(args[1])
	if ends < 0 {
		return integer(ends)
	}
	return integer((ends + 500) / 1000)
}
