package redismodel

import (
	"math"
	"slices"
	"strings"
)

// lpush is LPUSH, RPUSH, LPUSHX and RPUSHX.
func lpush(s *Server, args []string) Value {
	name := strings.ToUpper(args[0])
	if strings.HasSuffix(name, "X") {
		if o, wrong := s.read(args[1], aList); wrong {
			return wrongType
		} else if o == nil {
			return integer(0)
		}
	}
	o := s.have(args[1], aList)
	if o == nil {
		return wrongType
	}
	for _, member := range args[2:] {
		if name[0] == 'L' {
			o.parts = slices.Insert(o.parts, 0, element{name: member})
		} else {
			o.parts = append(o.parts, element{name: member})
		}
	}
	return integer(len(o.parts))
}

// lpop is LPOP and RPOP key [count].
func lpop(s *Server, args []string) Value {
	count, many := int64(1), len(args) == 3
	if many && !s.since(6, 2) || len(args) > 3 {
		return countError(args[0])
	}
	if many {
		var read bool
		if count, read = parseInt(args[2]); !read || count < 0 {
			return failure("ERR value is out of range, must be positive")
		}
	}
	o, wrong := s.read(args[1], aList)
	switch {
	case wrong:
		return wrongType
	case o == nil:
		return null
	case count == 0:
		return empty
	}
	o = s.have(args[1], aList)
	n := int(min(count, int64(len(o.parts))))
	var gone []element
	if strings.EqualFold(args[0], "LPOP") {
		gone = slices.Clone(o.parts[:n])
		o.parts = slices.Delete(o.parts, 0, n)
	} else {
		gone = slices.Clone(o.parts[len(o.parts)-n:])
		slices.Reverse(gone)
		o.parts = o.parts[:len(o.parts)-n]
	}
	s.dropIfEmpty(args[1], o)
	if !many {
		return text(gone[0].name)
	}
	return names(gone)
}

func llen(s *Server, args []string) Value { return s.size(args[1], aList) }

func lindex(s *Server, args []string) Value {
	o, wrong := s.read(args[1], aList)
	switch {
	case wrong:
		return wrongType
	case o == nil:
		return null
	}
	at, read := parseInt(args[2])
	if !read {
		return notInteger
	}
	if at < 0 {
		at += int64(len(o.parts))
	}
	if at < 0 || at >= int64(len(o.parts)) {
		return null
	}
	return text(o.parts[at].name)
}

// between turns the ends of a range, of which those below 0 count from the end, into those of a slice of so many.
func between(first, last int64, size int) (from, to int) {
	n := int64(size)
	if first < 0 {
		first = max(0, first+n)
	}
	if last < 0 {
		last += n
	}
	last = min(last, n-1)
	if first > last || first >= n {
		return 0, 0
	}
	return int(first), int(last) + 1
}

func lrange(s *Server, args []string) Value {
	first, read := parseInt(args[2])
	last, read2 := parseInt(args[3])
	if !read || !read2 {
		return notInteger
	}
	o, wrong := s.read(args[1], aList)
	switch {
	case wrong:
		return wrongType
	case o == nil:
		return empty
	}
	from, to := between(first, last, len(o.parts))
	return names(o.parts[from:to])
}

// beyond is since 7.2 the answer to a number that has no negative.
var beyond = failure("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807")

func lrem(s *Server, args []string) Value {
	count, read := parseInt(args[2])
	switch {
	case !read:
		return notInteger
	case count == math.MinInt64 && s.since(7, 2):
		return beyond
	}
	o, wrong := s.read(args[1], aList)
	switch {
	case wrong:
		return wrongType
	case o == nil || o.index(args[3]) < 0:
		return integer(0)
	}
	o = s.have(args[1], aList)
	backwards := count < 0
	if backwards {
		count = -count
		slices.Reverse(o.parts)
	}
	gone := int64(0)
	o.parts = slices.DeleteFunc(o.parts, func(part element) bool {
		if part.name != args[3] || count != 0 && gone == count {
			return false
		}
		gone++
		return true
	})
	if backwards {
		slices.Reverse(o.parts)
	}
	s.dropIfEmpty(args[1], o)
	return integer(gone)
}

// lpos is LPOS key element [RANK rank] [COUNT count] [MAXLEN length].
func lpos(s *Server, args []string) Value {
	rank, count, most := int64(1), int64(-1), int64(0)
	for i := 3; i < len(args); i += 2 {
		if i == len(args)-1 {
			return syntaxError
		}
		var bad Value
		switch strings.ToUpper(args[i]) {
		case "RANK":
			var read bool
			rank, read = parseInt(args[i+1])
			switch {
			case !read:
				bad = notInteger
			case rank == 0:
				bad = s.rankZero()
			case rank == math.MinInt64 && s.since(7, 2):
				bad = beyond
			}
		case "COUNT":
			count, bad = notNegative("COUNT", args[i+1])
		case "MAXLEN":
			most, bad = notNegative("MAXLEN", args[i+1])
		default:
			bad = syntaxError
		}
		if bad.Kind == Err {
			return bad
		}
	}
	o, wrong := s.read(args[1], aList)
	if wrong {
		return wrongType
	}
	var found []Value
	if o != nil {
		found = o.places(args[2], rank, count, most)
	}
	switch {
	case count >= 0:
		return Value{Kind: Array, Array: found}
	case len(found) == 0:
		return null
	}
	return found[0]
}

func (s *Server) rankZero() Value {
	if !s.since(7, 0) {
		return failure("ERR RANK can't be zero: use 1 to start from the first match, 2 from the second, ...")
	}
	return failure("ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... " +
		"or use negative to start from the end of the list")
}

func notNegative(what, given string) (n int64, bad Value) {
	n, read := parseInt(given)
	if !read || n < 0 {
		return 0, failure("ERR " + what + " can't be negative")
	}
	return n, Value{}
}

// places are where a member is in a list: from the rank-th on, count of them (0: all, -1: one), looking at most members at most.
func (o *object) places(member string, rank, count, most int64) (found []Value) {
	skip := max(rank, -rank) - 1
	if rank == math.MinInt64 { // which before 7.2 is its own negative, and below any count
		skip = 0
	}
	for step := range o.parts {
		if most > 0 && int64(step) >= most {
			break
		}
		at := step
		if rank < 0 {
			at = len(o.parts) - 1 - step
		}
		if o.parts[at].name != member {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		found = append(found, integer(at))
		if count < 0 || count > 0 && int64(len(found)) == count {
			break
		}
	}
	return found
}
