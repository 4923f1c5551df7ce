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

// rangeOptions are those of ZRANGE and ZRANGEBYSCORE.
type rangeOptions struct {
	byScore, reversed, withScores bool
	offset, count                 int64 // of LIMIT
}

// readRangeOptions reads them; old: those of ZRANGEBYSCORE.
func (s *Server) readRangeOptions(words []string, old bool) (how rangeOptions, bad Value) {
	how = rangeOptions{byScore: old, count: -1}
	for i := 0; i < len(words); i++ {
		switch option := strings.ToUpper(words[i]); {
		case option == "WITHSCORES":
			how.withScores = true
		case option == "LIMIT" && i+2 < len(words):
			var read, read2 bool
			how.offset, read = parseInt(words[i+1])
			how.count, read2 = parseInt(words[i+2])
			if !read || !read2 {
				return how, notInteger
			}
			i += 2
		case option == "REV" && !old && s.since(6, 2):
			how.reversed = true
		case option == "BYSCORE" && !old && s.since(6, 2):
			how.byScore = true
		default:
			return how, syntaxError
		}
	}
	if !how.byScore && how.count != -1 {
		return how, failure("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")
	}
	return how, Value{}
}

// zrange is ZRANGE key start stop [BYSCORE] [REV] [LIMIT offset count] [WITHSCORES].
func zrange(s *Server, args []string) Value { return s.zrange(args, false) }

// zrangebyscore is ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count].
func zrangebyscore(s *Server, args []string) Value { return s.zrange(args, true) }

func (s *Server) zrange(args []string, old bool) Value {
	how, bad := s.readRangeOptions(args[4:], old)
	if bad.Kind == Err {
		return bad
	}
	pick, bad := s.picker(args[2], args[3], how)
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
	if how.reversed {
		some = slices.Clone(some)
		slices.Reverse(some)
	}
	if how.byScore {
		some = limit(some, how.offset, how.count)
	}
	if !how.withScores {
		return names(some)
	}
	answer := Value{Kind: Array, Array: make([]Value, 0, 2*len(some))}
	for _, part := range some {
		answer.Array = append(answer.Array, text(part.name), text(s.formatFloat(part.score)))
	}
	return answer
}

// picker reads the ends of a range, by place or by score, and gives what finds it in a sorted set.
func (s *Server) picker(first, last string, how rangeOptions) (pick func([]element) (from, to int), bad Value) {
	if how.byScore {
		if how.reversed {
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
		if how.reversed {
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
