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

// setScore sets the score of a member, and keeps the order. Since Redis 7.0 a small set knows no negative zero.
func (s *Server) setScore(o *object, member string, score float64) {
	if score == 0 && s.since(7, 0) {
		score = 0
	}
	if i := o.index(member); i >= 0 {
		o.parts = slices.Delete(o.parts, i, i+1)
	}
	part := element{name: member, score: score}
	at, _ := slices.BinarySearchFunc(o.parts, part, earlier)
	o.parts = slices.Insert(o.parts, at, part)
}

// scoreOptions are those of ZADD.
type scoreOptions struct{ nx, xx, gt, lt, ch, incr bool }

// zadd is ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member ...
func zadd(s *Server, args []string) Value {
	var how scoreOptions
	rest := args[2:]
	for ; len(rest) > 0; rest = rest[1:] {
		if option := how.option(rest[0]); option == nil {
			break
		} else {
			*option = true
		}
	}
	switch {
	case len(rest) == 0 || len(rest)%2 != 0:
		return syntaxError
	case how.nx && how.xx:
		return failure("ERR XX and NX options at the same time are not compatible")
	case how.gt && how.nx || how.lt && how.nx || how.gt && how.lt:
		return failure("ERR GT, LT, and/or NX options at the same time are not compatible")
	case how.incr && len(rest) > 2:
		return failure("ERR INCR option supports a single increment-element pair")
	}
	return s.scores(args[1], how, rest)
}

func (how *scoreOptions) option(word string) *bool {
	switch len(word) {
	case 2, 4:
	default:
		return nil
	}
	switch strings.ToUpper(word) {
	case "NX":
		return &how.nx
	case "XX":
		return &how.xx
	case "GT":
		return &how.gt
	case "LT":
		return &how.lt
	case "CH":
		return &how.ch
	case "INCR":
		return &how.incr
	}
	return nil
}

func zincrby(s *Server, args []string) Value {
	return s.scores(args[1], scoreOptions{incr: true}, args[2:])
}

// scores sets the scores of members, in pairs.
func (s *Server) scores(key string, how scoreOptions, pairs []string) Value {
	for i := 0; i < len(pairs); i += 2 {
		if _, read := parseFloat(pairs[i]); !read {
			return notFloat
		}
	}
	o, wrong := s.read(key, aZset)
	if wrong {
		return wrongType
	}
	added, updated := 0, 0
	last := null
	for i := 0; i < len(pairs); i += 2 {
		score, _ := parseFloat(pairs[i])
		member, at := pairs[i+1], -1
		if o != nil {
			at = o.index(member)
		}
		last = null
		if at < 0 {
			if how.xx {
				continue
			}
			o = s.have(key, aZset)
			s.setScore(o, member, score)
			added++
			last = text(s.formatFloat(score))
			continue
		}
		was := o.parts[at].score
		if how.nx {
			continue
		}
		if how.incr {
			if score += was; math.IsNaN(score) {
				return failure("ERR resulting score is not a number (NaN)")
			}
		}
		if how.lt && score >= was || how.gt && score <= was {
			continue
		}
		if score != was {
			o = s.have(key, aZset)
			s.setScore(o, member, score)
			updated++
		}
		last = text(s.formatFloat(score))
	}
	switch {
	case how.incr:
		return last
	case how.ch:
		return integer(added + updated)
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
			return text(s.formatFloat(o.parts[i].score))
		}
	}
	return null
}
