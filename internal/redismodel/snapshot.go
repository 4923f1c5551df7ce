package redismodel

import (
	"slices"
	"strings"
)

// Snapshot is all that a Server knows at a moment: its keys, its clock, and what it refuses. It is valid for ever, on any Server.
type Snapshot struct {
	items   []item
	micros  int64
	refusal refusal
}

// Snapshot keeps the state. What has run out is deleted first.
func (s *Server) Snapshot() Snapshot {
	s.sweep()
	s.keys.freeze()
	return Snapshot{s.keys.items, s.Micros, s.refusal}
}

// Restore goes back to a state; callbacks stay.
func (s *Server) Restore(was Snapshot) {
	s.keys.items, s.Micros, s.refusal = was.items, was.micros, was.refusal
	s.keys.freeze()
}

// Keys lists the keys, in order.
func (s *Server) Keys() []string {
	s.sweep()
	keys := make([]string, len(s.keys.items))
	for i := range keys {
		keys[i] = s.keys.items[i].key
	}
	return keys
}

// canonical is the parts of a value in an order of their own: that of their names where the type has none.
func (s *Server) canonical(o *object) []element {
	if o.kind != aHash && o.kind != aSet || len(o.parts) < 2 {
		return o.parts
	}
	s.scratch = append(s.scratch[:0], o.parts...)
	slices.SortFunc(s.scratch, func(a, b element) int { return strings.Compare(a.name, b.name) })
	return s.scratch
}
