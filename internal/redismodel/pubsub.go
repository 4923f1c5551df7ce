package redismodel

import "strings"

func (s *Server) subscribers(channel string, sharded bool) int {
	if s.Subscribers == nil {
		return 0
	}
	return s.Subscribers(channel, sharded)
}

// publish is PUBLISH and SPUBLISH.
func publish(s *Server, args []string) Value {
	sharded := len(args[0]) == len("SPUBLISH")
	heard := s.subscribers(args[1], sharded)
	if s.Publish != nil {
		s.Publish(args[1], args[2], sharded)
	}
	return integer(heard)
}

// pubsub is PUBSUB NUMSUB and PUBSUB SHARDNUMSUB.
func pubsub(s *Server, args []string) Value {
	sharded := strings.EqualFold(args[1], "SHARDNUMSUB")
	if !sharded && !strings.EqualFold(args[1], "NUMSUB") {
		return s.unknown(args)
	}
	answer := Value{Kind: Array, Array: make([]Value, 0, 2*len(args)-4)}
	for _, channel := range args[2:] {
		answer.Array = append(answer.Array, text(channel), integer(s.subscribers(channel, sharded)))
	}
	return answer
}
