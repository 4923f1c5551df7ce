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

func mget(s *Server, args []string) Value {
	answer := Value{Kind: Array, Array: make([]Value, len(args)-1)}
	for i, key := range args[1:] {
		if value, there, wrong := s.str(key); there && !wrong {
			answer.Array[i] = text(value)
		}
	}
	return answer
}

func getdel(s *Server, args []string) Value {
	answer := get(s, args)
	if answer.Kind == Str {
		s.drop(args[1])
	}
	return answer
}

func getset(s *Server, args []string) Value {
	answer := get(s, args)
	if answer.Kind != Err {
		s.set(args[1], args[2], 0)
	}
	return answer
}

func strlen(s *Server, args []string) Value {
	value, _, wrong := s.str(args[1])
	if wrong {
		return wrongType
	}
	return integer(len(value))
}

func appendString(s *Server, args []string) Value {
	o := s.have(args[1], aString)
	if o == nil {
		return wrongType
	}
	o.text += args[2]
	return integer(len(o.text))
}

// setOptions are those of SET.
type setOptions struct {
	nx, xx, giveOld, keep bool
	unit, amount          string // of EX and its like
}

func (s *Server) readSetOptions(words []string) (how setOptions, read bool) {
	for i := 0; i < len(words); i++ {
		option := strings.ToUpper(words[i])
		switch {
		case option == "NX" && !how.xx && (!how.giveOld || s.since(7, 0)):
			how.nx = true
		case option == "XX" && !how.nx:
			how.xx = true
		case option == "GET" && (!how.nx || s.since(7, 0)):
			how.giveOld = true
		case option == "KEEPTTL" && how.unit == "":
			how.keep = true
		case (option == "EX" || option == "PX" || option == "EXAT" || option == "PXAT") && how.unit == "" && !how.keep && i+1 < len(words):
			i++
			how.unit, how.amount = option, words[i]
		default:
			return how, false
		}
	}
	return how, true
}

// set is SET key value [NX | XX] [GET] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL].
func set(s *Server, args []string) Value {
	how, read := s.readSetOptions(args[3:])
	if !read {
		return syntaxError
	}
	var expires int64
	if how.unit != "" {
		var bad Value
		if expires, bad = s.end("set", how.unit, how.amount); bad.Kind == Err {
			return bad
		}
	}
	answer := ok
	if how.giveOld {
		if answer = get(s, args[:2]); answer.Kind == Err {
			return answer
		}
	}
	at, found := s.at(args[1])
	if how.nx && found || how.xx && !found {
		if how.giveOld {
			return answer
		}
		return null
	}
	if how.keep && found {
		expires = s.keys.items[at].expires
	}
	s.set(args[1], args[2], expires)
	return answer
}

// end reads when a key is to end: what SET and its like take.
func (s *Server) end(command, unit, amount string) (expires int64, bad Value) {
	n, read := parseInt(amount)
	if !read {
		return 0, notInteger
	}
	invalid := s.invalidExpire(command)
	if n <= 0 {
		return 0, invalid
	}
	if !strings.HasPrefix(unit, "P") {
		if n > math.MaxInt64/1000 {
			return 0, invalid
		}
		n *= 1000
	}
	if !strings.HasSuffix(unit, "AT") {
		if addOverflows(n, s.millis()) {
			return 0, invalid
		}
		n += s.millis()
	}
	return n, Value{}
}

// invalidExpire is the answer to a time at which no key can end.
func (s *Server) invalidExpire(command string) Value {
	if s.since(7, 0) {
		return failure("ERR invalid expire time in '" + command + "' command")
	}
	return failure("ERR invalid expire time in " + command)
}

func setex(s *Server, args []string) Value {
	return s.setUntil("setex", "EX", args)
}

func psetex(s *Server, args []string) Value {
	return s.setUntil("psetex", "PX", args)
}

func (s *Server) setUntil(command, unit string, args []string) Value {
	expires, bad := s.end(command, unit, args[2])
	if bad.Kind == Err {
		return bad
	}
	s.set(args[1], args[3], expires)
	return ok
}

func setnx(s *Server, args []string) Value {
	_, found := s.at(args[1])
	if !found {
		s.set(args[1], args[2], 0)
	}
	return boolean(!found)
}

func incr(s *Server, args []string) Value { return s.add(args[1], 1) }
func decr(s *Server, args []string) Value { return s.add(args[1], -1) }

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
	case by == math.MinInt64 && s.since(7, 0):
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
