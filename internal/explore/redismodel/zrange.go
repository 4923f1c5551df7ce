package redismodel

import (
	"math"
	"slices"
	"strings"
)

// bounds is a range of scores.
type bounds struct {
	min, max               float64
	withoutMin, withoutMax bool // "(" before it
}

func (s *Server) readBounds(low, high string) (b bounds, read bool) {
	b.min, b.withoutMin, read = s.readBound(low)
	if !read {
		return b, false
	}
	b.max, b.withoutMax, read = s.readBound(high)
	return b, read
}

// readBound takes nothing for 0, as C does. Redis 8 reads neither spaces nor hexadecimal numbers there.
func (s *Server) readBound(bound string) (score float64, without, read bool) {
	bound, without = strings.CutPrefix(bound, "(")
	if bound == "" {
		return 0, without, true
	}
	if s.since(8, 0) && (isSpace(bound[0]) || strings.ContainsAny(bound, "xX")) {
		return 0, false, false
	}
	score, read, _ = strtod(bound)
	return score, without, read && !math.IsNaN(score)
}

// within is the part of a sorted set that is in the bounds.
func (b bounds) within(parts []element) (from, to int) {
	for from < len(parts) && (parts[from].score < b.min || b.withoutMin && parts[from].score == b.min) {
		from++
	}
	to = from
	for to < len(parts) && (parts[to].score < b.max || !b.withoutMax && parts[to].score == b.max) {
		to++
	}
	return from, to
}

var notBound = failure("ERR min or max is not a float")

// zrange is ZRANGE key start stop [BYSCORE] [REV] [LIMIT offset count] [WITHSCORES].
func zrange(s *Server, args []string) Value { return s.zrange(args, false) }

// zrangebyscore is ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count].
func zrangebyscore(s *Server, args []string) Value { return s.zrange(args, true) }

func (s *Server) zrange(args []string, byScore bool) Value {
	old := byScore
	var reversed, withScores, limited bool
	offset, count := int64(0), int64(-1)
	for i := 4; i < len(args); i++ {
		switch option := strings.ToUpper(args[i]); {
		case option == "WITHSCORES":
			withScores = true
		case option == "LIMIT" && i+2 < len(args):
			var read, read2 bool
			offset, read = parseInt(args[i+1])
			count, read2 = parseInt(args[i+2])
			if !read || !read2 {
				return notInteger
			}
			limited = true
			i += 2
		case option == "REV" && !old && s.since(6, 2):
			reversed = true
		case option == "BYSCORE" && !old && s.since(6, 2):
			byScore = true
		default:
			return syntaxError
		}
	}
	if limited && !byScore && count != -1 {
		return failure("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")
	}
	pick, bad := s.picker(args[2], args[3], byScore, reversed)
	if bad.Kind == Err {
		return bad
	}
	o, wrong := s.read(args[1], aZset)
	switch {
	case wrong:
		return wrongType
	case o == nil:
		return empty
	}
	from, to := pick(o.parts)
	some := o.parts[from:to]
	if reversed {
		some = slices.Clone(some)
		slices.Reverse(some)
	}
	if byScore {
		some = limit(some, offset, count)
	}
	if !withScores {
		return names(some)
	}
	answer := Value{Kind: Array, Array: make([]Value, 0, 2*len(some))}
	for _, part := range some {
		answer.Array = append(answer.Array, text(part.name), text(s.formatFloat(part.score)))
	}
	return answer
}

// picker reads the ends of a range, by place or by score, and gives what finds it in a sorted set.
func (s *Server) picker(first, last string, byScore, reversed bool) (pick func([]element) (from, to int), bad Value) {
	if byScore {
		if reversed {
			first, last = last, first
		}
		b, read := s.readBounds(first, last)
		if !read {
			return nil, notBound
		}
		return b.within, Value{}
	}
	low, read := parseInt(first)
	high, read2 := parseInt(last)
	if !read || !read2 {
		return nil, notInteger
	}
	return func(parts []element) (from, to int) {
		from, to = between(low, high, len(parts))
		if reversed {
			return len(parts) - to, len(parts) - from
		}
		return from, to
	}, Value{}
}

// limit leaves out the first and keeps so many; below 0: none, and all.
func limit(some []element, offset, count int64) []element {
	if offset < 0 || offset >= int64(len(some)) {
		return nil
	}
	some = some[offset:]
	if count >= 0 && count < int64(len(some)) {
		some = some[:count]
	}
	return some
}

func zcount(s *Server, args []string) Value {
	b, read := s.readBounds(args[2], args[3])
	if !read {
		return notBound
	}
	o, wrong := s.read(args[1], aZset)
	switch {
	case wrong:
		return wrongType
	case o == nil:
		return integer(0)
	}
	from, to := b.within(o.parts)
	return integer(to - from)
}

func zremrangebyscore(s *Server, args []string) Value {
	b, read := s.readBounds(args[2], args[3])
	if !read {
		return notBound
	}
	o, wrong := s.read(args[1], aZset)
	switch {
	case wrong:
		return wrongType
	case o == nil:
		return integer(0)
	}
	from, to := b.within(o.parts)
	if from < to {
		o = s.have(args[1], aZset)
		o.parts = slices.Delete(o.parts, from, to)
		s.dropIfEmpty(args[1], o)
	}
	return integer(to - from)
}
