package redismodel

import (
	"slices"
	"strings"
)

// lpush is LPUSH and RPUSH.
func lpush(s *Server, args []string) Value {
	o := s.have(args[1], aList)
	if o == nil {
		return wrongType
	}
	for _, member := range args[2:] {
		if strings.EqualFold(args[0], "LPUSH") {
			o.parts = slices.Insert(o.parts, 0, element{name: member})
		} else {
			o.parts = append(o.parts, element{name: member})
		}
	}
	return integer(len(o.parts))
}

func lpop(s *Server, args []string) Value {
	o, wrong := s.read(args[1], aList)
	switch {
	case wrong:
		return wrongType
	case o == nil:
		return null
	}
	o = s.have(args[1], aList)
	gone := text(o.parts[0].name)
	o.parts = slices.Delete(o.parts, 0, 1)
	s.dropIfEmpty(args[1], o)
	return gone
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

func lrem(s *Server, args []string) Value {
	count, read := parseInt(args[2])
	if !read {
		return notInteger
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

// lpos is LPOS key element.
func lpos(s *Server, args []string) Value {
	if len(args) > 3 {
		return syntaxError
	}
	o, wrong := s.read(args[1], aList)
	switch {
	case wrong:
		return wrongType
	case o == nil || o.index(args[2]) < 0:
		return null
	}
	return integer(o.index(args[2]))
}
