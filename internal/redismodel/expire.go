package redismodel

import "strings"

// pexpire is PEXPIRE key ms [GT].
func pexpire(s *Server, args []string) Value {
	for _, option := range args[3:] {
		if !strings.EqualFold(option, "GT") {
			return failure("ERR Unsupported option " + option)
		}
	}
	when, read := parseInt(args[2])
	if !read {
		return notInteger
	}
	if addOverflows(when, s.millis()) {
		return invalidExpire("pexpire")
	}
	when += s.millis()
	at, found := s.at(args[1])
	if !found {
		return integer(0)
	}
	if now := s.keys.items[at].expires; len(args) > 3 && (now == 0 || when <= now) {
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

func pexpiretime(s *Server, args []string) Value { return integer(s.ends(args[1])) }
