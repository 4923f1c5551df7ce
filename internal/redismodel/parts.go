package redismodel

import "slices"

// What values that have parts have in common: hashes, lists, sets and sorted sets.

// read finds a value of a type; nil when there is none, and wrong when another type stands there.
func (s *Server) read(key string, kind kind) (o *object, wrong bool) {
	o = s.find(key)
	return o, o != nil && o.kind != kind
}

// dropIfEmpty deletes a key whose last part has gone.
func (s *Server) dropIfEmpty(key string, o *object) {
	if len(o.parts) == 0 {
		s.drop(key)
	}
}

// index is where a part of that name is, -1: nowhere.
func (o *object) index(name string) int {
	for i := range o.parts {
		if o.parts[i].name == name {
			return i
		}
	}
	return -1
}

// size answers how many parts there are.
func (s *Server) size(key string, kind kind) Value {
	o, wrong := s.read(key, kind)
	switch {
	case wrong:
		return wrongType
	case o == nil:
		return integer(0)
	}
	return integer(len(o.parts))
}

// take removes parts by their names, and the key with the last, and answers how many they were.
func (s *Server) take(key string, kind kind, names []string) Value {
	o, wrong := s.read(key, kind)
	switch {
	case wrong:
		return wrongType
	case o == nil:
		return integer(0)
	}
	gone := 0
	for _, name := range names {
		i := o.index(name)
		if i < 0 {
			continue
		}
		o = s.have(key, kind)
		o.parts = slices.Delete(o.parts, i, i+1)
		gone++
	}
	s.dropIfEmpty(key, o)
	return integer(gone)
}

// names lists parts by their names.
func names(parts []element) Value {
	answer := Value{Kind: Array, Array: make([]Value, len(parts))}
	for i := range parts {
		answer.Array[i] = text(parts[i].name)
	}
	return answer
}
