package redismodel

import (
	"math"
	"slices"
	"strings"
)

// earlier orders the members of a sorted set.
func earlier(a, b element) int {
	switch {
	case a.score < b.score:
		return -1
	case a.score > b.score:
		return 1
	}
	return strings.Compare(a.name, b.name)
}

// setScore sets the score of a member, and keeps the order. A small set knows no negative zero.
func setScore(o *object, member string, score float64) {
	if score == 0 {
		score = 0
	}
	if i := o.index(member); i >= 0 {
		o.parts = slices.Delete(o.parts, i, i+1)
	}
	part := element{name: member, score: score}
	at, _ := slices.BinarySearchFunc(o.parts, part, earlier)
	o.parts = slices.Insert(o.parts, at, part)
}

// zadd is ZADD key [XX] [INCR] score member ...
func zadd(s *Server, args []string) Value {
	xx, incr := false, false
	pairs := args[2:]
	for ; len(pairs) > 0; pairs = pairs[1:] {
		if strings.EqualFold(pairs[0], "XX") {
			xx = true
		} else if strings.EqualFold(pairs[0], "INCR") {
			incr = true
		} else {
			break
		}
	}
	switch {
	case len(pairs) == 0 || len(pairs)%2 != 0:
		return syntaxError
	case incr && len(pairs) > 2:
		return failure("ERR INCR option supports a single increment-element pair")
	}
	for i := 0; i < len(pairs); i += 2 {
		if _, read := parseFloat(pairs[i]); !read {
			return notFloat
		}
	}
	o, wrong := s.read(args[1], aZset)
	if wrong {
		return wrongType
	}
	added, last := 0, null
	for i := 0; i < len(pairs); i += 2 {
		score, _ := parseFloat(pairs[i])
		member, at := pairs[i+1], -1
		if o != nil {
			at = o.index(member)
		}
		switch {
		case at < 0 && xx:
			continue
		case at < 0:
			added++
		case incr:
			if score += o.parts[at].score; math.IsNaN(score) {
				return failure("ERR resulting score is not a number (NaN)")
			}
		}
		if at < 0 || score != o.parts[at].score {
			o = s.have(args[1], aZset)
			setScore(o, member, score)
		}
		last = text(formatFloat(score))
	}
	if incr {
		return last
	}
	return integer(added)
}

func zcard(s *Server, args []string) Value { return s.size(args[1], aZset) }
func zrem(s *Server, args []string) Value  { return s.take(args[1], aZset, args[2:]) }

func zscore(s *Server, args []string) Value {
	o, wrong := s.read(args[1], aZset)
	if wrong {
		return wrongType
	}
	if o != nil {
		if i := o.index(args[2]); i >= 0 {
			return text(formatFloat(o.parts[i].score))
		}
	}
	return null
}
