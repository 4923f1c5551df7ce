package redismodel

import "strconv"

// Commands about keys of any type, and about the server.

func del(s *Server, args []string) Value {
	n := 0
	for _, key := range args[1:] {
		if s.drop(key) {
			n++
		}
	}
	return integer(n)
}

func exists(s *Server, args []string) Value {
	n := 0
	for _, key := range args[1:] {
		if s.find(key) != nil {
			n++
		}
	}
	return integer(n)
}

func typeOf(s *Server, args []string) Value {
	o := s.find(args[1])
	if o == nil {
		return Value{Kind: Status, Str: "none"}
	}
	return Value{Kind: Status, Str: kindNames[o.kind]}
}

func dbsize(s *Server, _ []string) Value { return integer(len(s.Keys())) }

func flushall(s *Server, _ []string) Value {
	s.keys.items, s.keys.mine = nil, true
	return ok
}

// clock is TIME.
func clock(s *Server, _ []string) Value {
	return texts([]string{strconv.FormatInt(s.Micros/1_000_000, 10), strconv.FormatInt(s.Micros%1_000_000, 10)})
}

func ping(_ *Server, args []string) Value {
	switch len(args) {
	case 1:
		return Value{Kind: Status, Str: "PONG"}
	case 2:
		return text(args[1])
	}
	return countError("ping")
}
