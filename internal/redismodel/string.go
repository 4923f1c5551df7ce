package redismodel

import (
	"math"
	"strconv"
	"strings"
)

// str finds a string; "" and false when there is none, and wrong when another type stands there.
func (s *Server) str(key string) (value string, there, wrong bool) {
	o := s.find(key)
	if o == nil {
		return "", false, false
	}
	return o.text, true, o.kind != aString
}

func get(s *Server, args []string) Value {
	value, there, wrong := s.str(args[1])
	switch {
	case wrong:
		return wrongType
	case !there:
		return null
	}
	return text(value)
}

// set is SET key value [NX] [PX ms].
func set(s *Server, args []string) Value {
	nx, lasts := false, []string(nil)
	for words := args[3:]; len(words) > 0; words = words[1:] {
		switch option := strings.ToUpper(words[0]); {
		case option == "NX":
			nx = true
		case option == "PX" && lasts == nil && len(words) > 1:
			lasts, words = words[1:2], words[1:]
		default:
			return syntaxError
		}
	}
	expires := int64(0)
	if lasts != nil {
		n, read := parseInt(lasts[0])
		switch {
		case !read:
			return notInteger
		case n <= 0 || addOverflows(n, s.millis()):
			return invalidExpire("set")
		}
		expires = n + s.millis()
	}
	if _, found := s.at(args[1]); nx && found {
		return null
	}
	s.set(args[1], args[2], expires)
	return ok
}

// invalidExpire is the answer to a time at which no key can end.
func invalidExpire(command string) Value {
	return failure("ERR invalid expire time in '" + command + "' command")
}

func incr(s *Server, args []string) Value { return s.add(args[1], 1) }
func incrby(s *Server, args []string) Value {
	by, read := parseInt(args[2])
	if !read {
		return notInteger
	}
	return s.add(args[1], by)
}

func decrby(s *Server, args []string) Value {
	by, read := parseInt(args[2])
	switch {
	case !read:
		return notInteger
	case by == math.MinInt64:
		return failure("ERR decrement would overflow")
	}
	return s.add(args[1], -by)
}

// add adds to the number under a key, which keeps its TTL.
func (s *Server) add(key string, by int64) Value {
	value, there, wrong := s.str(key)
	if wrong {
		return wrongType
	}
	n, read := parseInt(value)
	switch {
	case there && !read:
		return notInteger
	case addOverflows(n, by):
		return failure("ERR increment or decrement would overflow")
	}
	s.have(key, aString).text = strconv.FormatInt(n+by, 10)
	return integer(n + by)
}
