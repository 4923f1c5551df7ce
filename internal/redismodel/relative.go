package redismodel

import (
	"encoding/binary"
	"math"
)

// AppendRelative appends what stands, without what has run out (which is deleted): keys, fields and values by text, the ms at which keys end
// counted from the clock, and so the scores of sorted sets that are ms since 1970. The order in which the fields of a hash came is no part of it.
func (s *Server) AppendRelative(b []byte, text func(b []byte, text string) []byte) []byte {
	s.sweep()
	now := s.millis()
	for i := range s.keys.items {
		it := &s.keys.items[i]
		b = text(b, it.key)
		b = append(b, byte(it.object.kind))
		if it.expires != 0 {
			b = binary.AppendVarint(b, it.expires-now+1)
		}
		if it.object.kind == aString {
			b = text(b, it.object.text)
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(it.object.parts)))
		for _, part := range s.canonical(it.object) {
			b = text(b, part.name)
			switch it.object.kind {
			case aHash:
				b = text(b, part.value)
			case aZset:
				score := part.score
				if score > 1e12 {
					score -= float64(now)
				}
				b = binary.BigEndian.AppendUint64(b, math.Float64bits(score))
			}
		}
	}
	return b
}
