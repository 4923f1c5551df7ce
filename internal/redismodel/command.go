package redismodel

import "strings"

// command is one of Redis.
type command struct {
	name  string // in lower case
	arity int    // words with the name; -n: n at least
	// writes: a server that refuses writes refuses it. grows: so does one at maxmemory.
	writes, grows bool
	run           func(s *Server, args []string) Value // args[0] is the name
}

// commands are those of the model, by their names in capitals.
var commands = func() map[string]*command {
	const reads, writes, grows = 0, 1, 2
	table := make(map[string]*command)
	add := func(name string, arity, does int, run func(s *Server, args []string) Value) {
		table[name] = &command{name: strings.ToLower(name), arity: arity, writes: does > 0, grows: does == grows, run: run}
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
	add("PEXPIRE", -3, writes, pexpire)
	add("PEXPIRETIME", 2, reads, pexpiretime)
	add("PING", -1, reads, ping)
	add("PTTL", 2, reads, pttl)
	add("PUBLISH", 3, reads, publish)
	add("PUBSUB", -2, reads, pubsub)
	add("RPUSH", -3, grows, lpush)
	add("SADD", -3, grows, sadd)
	add("SET", -3, grows, set)
	add("SMEMBERS", 2, reads, smembers)
	add("SPUBLISH", 3, reads, publish)
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

// run runs one command, of a client or of a script.
func (s *Server) run(args []string) Value {
	c := commands[args[0]]
	if c == nil {
		if c = commands[strings.ToUpper(args[0])]; c == nil {
			return s.unknown(args)
		}
	}
	if len(args) != c.arity && (c.arity > 0 || len(args) < -c.arity) {
		return countError(c.name)
	}
	if words := s.refused(c, args); words != "" {
		return failure(words)
	}
	return c.run(s, args)
}

// unknown is the answer to a command that there is not: a script tells it by its words.
func (s *Server) unknown(args []string) Value {
	if s.inScript {
		return failure("ERR Unknown Redis command called from script")
	}
	return failure("ERR unknown command '" + args[0] + "'")
}

// countError is the answer to a command with too few or too many words.
func countError(name string) Value {
	return failure("ERR wrong number of arguments for '" + strings.ToLower(name) + "' command")
}
