package redismodel

import (
	"encoding/binary"
	"math"
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

// Restore goes back to a state; callbacks and Version stay.
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

// AppendState appends what stands: keys, values and the ms that they have left, without what has run out (which is deleted), and
// without the clock. Equal states give equal bytes, others do not; the order in which the fields of a hash came is no part of it.
func (s *Server) AppendState(b []byte) []byte {
	s.sweep()
	for i := range s.keys.items {
		it := &s.keys.items[i]
		b = appendText(b, it.key)
		b = append(b, byte(it.object.kind))
		b = binary.AppendVarint(b, it.expires)
		if it.object.kind == aString {
			b = appendText(b, it.object.text)
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(it.object.parts)))
		for _, part := range s.canonical(it.object) {
			b = appendText(b, part.name)
			switch it.object.kind {
			case aHash:
				b = appendText(b, part.value)
			case aZset:
				b = binary.BigEndian.AppendUint64(b, math.Float64bits(part.score))
			}
		}
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
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
