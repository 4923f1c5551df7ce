package redismodel

import (
	"fmt"
	"strings"
)

// command is one of Redis.
type command struct {
	name   string // in lower case
	arity  int    // words with the name; -n: n at least
	arity6 int    // before 7.0, where that was another
	// writes: a server that refuses writes refuses it. grows: so does one at maxmemory.
	writes, grows bool
	major, minor  int                                  // since which version; 0: since long
	run           func(s *Server, args []string) Value // args[0] is the name
}

// commands are those of the model, by their names in capitals.
var commands = func() map[string]*command {
	const reads, writes, grows = 0, 1, 2
	table := make(map[string]*command)
	add := func(name string, arity, does int, run func(s *Server, args []string) Value) *command {
		c := &command{name: strings.ToLower(name), arity: arity, writes: does > 0, grows: does == grows, run: run}
		table[name] = c
		return c
	}
	add("DBSIZE", 1, reads, dbsize)
	add("DECRBY", 3, grows, decrby)
	add("DEL", -2, writes, del)
	add("EXISTS", -2, reads, exists)
	add("FLUSHALL", -1, writes, flushall)
	add("GET", 2, reads, get)
	add("HDEL", -3, writes, hdel)
	add("HEXISTS", 3, reads, hexists)
	add("HGET", 3, reads, hget)
	add("HGETALL", 2, reads, hgetall)
	add("HINCRBY", 4, grows, hincrby)
	add("HKEYS", 2, reads, hkeys)
	add("HLEN", 2, reads, hlen)
	add("HMGET", -3, reads, hmget)
	add("HSET", -4, grows, hset)
	add("INCR", 2, grows, incr)
	add("INCRBY", 3, grows, incrby)
	add("LINDEX", 3, reads, lindex)
	add("LLEN", 2, reads, llen)
	add("LPOP", 2, writes, lpop)
	add("LPOS", -3, reads, lpos)
	add("LPUSH", -3, grows, lpush)
	add("LRANGE", 4, reads, lrange)
	add("LREM", 4, writes, lrem)
	add("PERSIST", 2, writes, persist)
	add("PEXPIRE", -3, writes, pexpire).arity6 = 3
	add("PEXPIRETIME", 2, reads, pexpiretime).major = 7
	add("PING", -1, reads, ping)
	add("PTTL", 2, reads, pttl)
	add("PUBLISH", 3, reads, publish)
	add("PUBSUB", -2, reads, pubsub)
	add("RPOP", 2, writes, lpop)
	add("RPUSH", -3, grows, lpush)
	add("SADD", -3, grows, sadd)
	add("SET", -3, grows, set)
	add("SMEMBERS", 2, reads, smembers)
	add("SPUBLISH", 3, reads, publish).major = 7
	add("TIME", 1, reads, clock)
	add("TYPE", 2, reads, typeOf)
	add("ZADD", -4, grows, zadd)
	add("ZCARD", 2, reads, zcard)
	add("ZCOUNT", 4, reads, zcount)
	add("ZRANGE", -4, reads, zrange)
	add("ZREM", -3, writes, zrem)
	add("ZREMRANGEBYSCORE", 4, writes, zremrangebyscore)
	add("ZSCORE", 3, reads, zscore)
	return table
}()

// run runs one command, of a client or of a script: their words for what cannot be run differ.
func (s *Server) run(args []string) Value {
	c := commands[args[0]]
	if c == nil {
		if c = commands[strings.ToUpper(args[0])]; c == nil {
			return s.unknown(args)
		}
	}
	if c.major != 0 && !s.since(c.major, c.minor) {
		return s.unknown(args)
	}
	arity := c.arity
	if c.arity6 != 0 && !s.since(7, 0) {
		arity = c.arity6
	}
	if len(args) != arity && (arity > 0 || len(args) < -arity) {
		return s.wrongCount(c.name)
	}
	if words := s.refused(c, args); words != "" {
		if s.inScript && !s.since(7, 0) {
			words = "@user_script: 1: -" + words + "\r\n"
		}
		return failure(words)
	}
	return c.run(s, args)
}

// unknown is the answer to a command that there is not.
func (s *Server) unknown(args []string) Value {
	switch {
	case s.inScript && s.since(7, 0):
		return failure("ERR Unknown Redis command called from script")
	case s.inScript:
		return failure("@user_script: 1: Unknown Redis command called from Lua script")
	}
	open, shut := "'", "'"
	if !s.since(7, 0) {
		open, shut = "`", "`"
	}
	var given strings.Builder
	for _, arg := range args[1:] {
		fmt.Fprintf(&given, "%s%s%s%s", open, untilZero(arg), shut, map[bool]string{true: " ", false: ", "}[s.since(7, 0)])
	}
	return failure("ERR unknown command " + open + untilZero(args[0]) + shut + ", with args beginning with: " + given.String())
}

// untilZero is what C sees of a text.
func untilZero(text string) string {
	text, _, _ = strings.Cut(text, "\x00")
	return text
}

// wrongCount is the answer to a command with too few or too many words.
func (s *Server) wrongCount(name string) Value {
	switch {
	case s.inScript && s.since(7, 0):
		return failure("ERR Wrong number of args calling Redis command from script")
	case s.inScript:
		return failure("@user_script: 1: Wrong number of args calling Redis command From Lua script")
	}
	return countError(name)
}

// countError is how a command itself says that its words are too few or too many.
func countError(name string) Value {
	return failure("ERR wrong number of arguments for '" + strings.ToLower(name) + "' command")
}
