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

func readBounds(low, high string) (b bounds, read bool) {
	b.min, b.withoutMin, read = readBound(low)
	if !read {
		return b, false
	}
	b.max, b.withoutMax, read = readBound(high)
	return b, read
}

// readBound takes nothing for 0, as C does.
func readBound(bound string) (score float64, without, read bool) {
	bound, without = strings.CutPrefix(bound, "(")
	if bound == "" {
		return 0, without, true
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

// zrange is ZRANGE key start stop [BYSCORE] [WITHSCORES].
func zrange(s *Server, args []string) Value {
	byScore, withScores := false, false
	for _, option := range args[4:] {
		switch {
		case strings.EqualFold(option, "WITHSCORES"):
			withScores = true
		case strings.EqualFold(option, "BYSCORE"):
			byScore = true
		default:
			return syntaxError
		}
	}
	pick, bad := picker(args[2], args[3], byScore)
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
	if !withScores {
		return names(some)
	}
	answer := Value{Kind: Array, Array: make([]Value, 0, 2*len(some))}
	for _, part := range some {
		answer.Array = append(answer.Array, text(part.name), text(formatFloat(part.score)))
	}
	return answer
}

// picker reads the ends of a range, by place or by score, and gives what finds it in a sorted set.
func picker(first, last string, byScore bool) (pick func([]element) (from, to int), bad Value) {
	if byScore {
		b, read := readBounds(first, last)
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
	return func(parts []element) (from, to int) { return between(low, high, len(parts)) }, Value{}
}

func zcount(s *Server, args []string) Value {
	b, read := readBounds(args[2], args[3])
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
	b, read := readBounds(args[2], args[3])
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
