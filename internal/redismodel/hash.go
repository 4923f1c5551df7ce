package redismodel

import "strconv"

// put sets a field, and reports whether it is new.
func (o *object) put(field, value string) (fresh bool) {
	if i := o.index(field); i >= 0 {
		o.parts[i].value = value
		return false
	}
	o.parts = append(o.parts, element{name: field, value: value})
	return true
}

func hset(s *Server, args []string) Value {
	if len(args)%2 != 0 {
		return countError(args[0])
	}
	o := s.have(args[1], aHash)
	if o == nil {
		return wrongType
	}
	fresh := 0
	for i := 2; i < len(args); i += 2 {
		if o.put(args[i], args[i+1]) {
			fresh++
		}
	}
	return integer(fresh)
}

func hget(s *Server, args []string) Value {
	o, wrong := s.read(args[1], aHash)
	if wrong {
		return wrongType
	}
	return o.field(args[2])
}

// field is the value of a field; o may be nil.
func (o *object) field(name string) Value {
	if o != nil {
		if i := o.index(name); i >= 0 {
			return text(o.parts[i].value)
		}
	}
	return null
}

func hmget(s *Server, args []string) Value {
	o, wrong := s.read(args[1], aHash)
	if wrong {
		return wrongType
	}
	answer := Value{Kind: Array, Array: make([]Value, len(args)-2)}
	for i, name := range args[2:] {
		answer.Array[i] = o.field(name)
	}
	return answer
}

func hexists(s *Server, args []string) Value {
	o, wrong := s.read(args[1], aHash)
	if wrong {
		return wrongType
	}
	return boolean(o != nil && o.index(args[2]) >= 0)
}

func hlen(s *Server, args []string) Value { return s.size(args[1], aHash) }

func hgetall(s *Server, args []string) Value { return s.fields(args[1], true) }
func hkeys(s *Server, args []string) Value   { return s.fields(args[1], false) }

// fields lists a hash, in the order in which its fields came.
func (s *Server) fields(key string, values bool) Value {
	o, wrong := s.read(key, aHash)
	switch {
	case wrong:
		return wrongType
	case o == nil:
		return empty
	}
	answer := Value{Kind: Array, Array: make([]Value, 0, 2*len(o.parts))}
	for i := range o.parts {
		answer.Array = append(answer.Array, text(o.parts[i].name))
		if values {
			answer.Array = append(answer.Array, text(o.parts[i].value))
		}
	}
	return answer
}

func hdel(s *Server, args []string) Value { return s.take(args[1], aHash, args[2:]) }

func hincrby(s *Server, args []string) Value {
	by, read := parseInt(args[3])
	if !read {
		return notInteger
	}
	o, wrong := s.read(args[1], aHash)
	if wrong {
		return wrongType
	}
	n := int64(0)
	if old := o.field(args[2]); old.Kind == Str {
		if n, read = parseInt(old.Str); !read {
			return failure("ERR hash value is not an integer")
		}
	}
	if addOverflows(n, by) {
		return failure("ERR increment or decrement would overflow")
	}
	s.have(args[1], aHash).put(args[2], strconv.FormatInt(n+by, 10))
	return integer(n + by)
}
