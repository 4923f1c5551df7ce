package redismodel

// Sets are here for the sake of keys of another type: a script must tell what stands in its way.

func sadd(s *Server, args []string) Value {
	o := s.have(args[1], aSet)
	if o == nil {
		return wrongType
	}
	fresh := 0
	for _, member := range args[2:] {
		if o.put(member, "") {
			fresh++
		}
	}
	return integer(fresh)
}

// smembers lists them in the order in which they came; that of Redis is another.
func smembers(s *Server, args []string) Value {
	o, wrong := s.read(args[1], aSet)
	switch {
	case wrong:
		return wrongType
	case o == nil:
		return empty
	}
	return names(o.parts)
}
