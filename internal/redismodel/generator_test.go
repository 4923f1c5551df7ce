package redismodel

import (
	"math/rand/v2"
	"strings"
)

// generator makes random commands, on few keys and of few words, so that they meet.
type generator struct {
	*rand.Rand
	now int64 // µs, at the end of what it has made

	focus int // the type that most commands are about
}

func (g *generator) one(among ...string) string { return among[g.IntN(len(among))] }

func (g *generator) key() string    { return g.one("a", "b", "c", "d") }
func (g *generator) member() string { return g.one("x", "y", "z", "x", "y", "z", "", "1", "\x00\xff") }
func (g *generator) value() string {
	return g.one("x", "y", "", "0", "1", "5", "-3", "9223372036854775807", "-9223372036854775808", "007", "1.5", " 1")
}

// small is an integer, mostly: such as the place in a list.
func (g *generator) small() string {
	if g.IntN(12) == 0 {
		return g.one("", "x", "1.0", "+1", "01", "-0", " 1", "9223372036854775807", "9223372036854775808", "-9223372036854775809")
	}
	return g.one("0", "1", "2", "3", "5", "-1", "-2", "-3", "10")
}

// score is a number, mostly. Of others versions of Redis write other digits, or read them in some commands only.
func (g *generator) score() string {
	if g.IntN(10) == 0 {
		return g.one("", "x", "nan", "1 ", "1e400", "1e-400", "1_0", "--1", "1e", "infinit")
	}
	return g.one("0", "1", "2", "3", "-1", "1.5", "-0.25", "1e3", "1700000000123", "1700000000123456", "inf", "-inf", "+inf", "Infinity", "+1", ".5", "-0", "3.0e0")
}

// bound is one of a range of scores.
func (g *generator) bound() string {
	return g.one("", "", "(") + g.one(g.score(), "-inf", "+inf", "0", "1", "2", "")
}

// duration is how long a key is to last, in units of so many ms: for a while, or not at all.
func (g *generator) duration() string {
	if g.IntN(8) == 0 {
		return g.one("0", "-1", "-5000", "x", "", "1.5", "9223372036854775807", "9223372036854775", "9223370336854775807", "-9223372036854775808", "+5")
	}
	return g.one("1", "2", "10", "1000", "1500", "10000", "3600000", "5", "499", "500", "501", "1499")
}

// some repeats what make gives, from least to most times.
func (g *generator) some(least, most int, make func() []string) (all []string) {
	for range least + g.IntN(most-least+1) {
		all = append(all, make()...)
	}
	return all
}

// maybe gives words now and then.
func (g *generator) maybe(words ...string) []string {
	if g.IntN(3) == 0 {
		return words
	}
	return nil
}

func join(parts ...any) (words []string) {
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			words = append(words, part)
		case []string:
			words = append(words, part...)
		}
	}
	return words
}

// makers make one command each, by the type it is about. Those of all types are tried alike.
var makers = [][]func(g *generator) []string{
	{ // strings
		func(g *generator) []string { return join("SET", g.key(), g.value()) },
		func(g *generator) []string {
			return join("SET", g.key(), g.value(), g.maybe(g.one("NX", "nx")), g.maybe("PX", g.duration()), g.maybe(g.one("NX", "oops")))
		},
		func(g *generator) []string { return join("SET", g.key(), g.value(), "PX", g.duration()) },
		func(g *generator) []string { return join("GET", g.key()) },
		func(g *generator) []string { return join("INCR", g.key()) },
		func(g *generator) []string {
			return join(g.one("INCRBY", "DECRBY"), g.key(), g.one(g.small(), g.value()))
		},
	},
	{ // keys
		func(g *generator) []string {
			return join(g.one("PTTL", "PEXPIRETIME", "TYPE"), g.key())
		},
		func(g *generator) []string { return join("PTTL", g.key()) },
		func(g *generator) []string {
			return join(g.one("DEL", "EXISTS"), g.some(1, 3, func() []string { return []string{g.key()} }))
		},
		func(g *generator) []string {
			return join("PEXPIRE", g.key(), g.duration(), g.some(0, 2, func() []string { return g.maybe(g.one("GT", "gt", "oops")) }))
		},
		func(g *generator) []string { return join("PEXPIRE", g.key(), g.duration()) },
		func(g *generator) []string {
			return join("PEXPIRE", g.key(), g.one("1000", "1001"), g.maybe("GT"))
		},
		func(g *generator) []string { return join("PEXPIRE", g.key(), g.one("1000", "1001"), "GT") },
		func(g *generator) []string { return join("PERSIST", g.key()) },
		func(g *generator) []string { return join(g.one("TIME", "TIME", "PING")) },
		func(g *generator) []string { return join("PING", g.value()) },
		func(g *generator) []string { return join("PUBLISH", "nobody", g.value()) },
		func(g *generator) []string { return join("SPUBLISH", "nobody", g.value()) },
		func(g *generator) []string {
			return join("PUBSUB", g.one("NUMSUB", "SHARDNUMSUB", "numsub", "oops"), g.some(0, 2, func() []string { return []string{"nobody"} }))
		},
		func(g *generator) []string {
			return join(g.one("NOSUCH", "get ", ""), g.some(0, 2, func() []string { return []string{g.member()} }))
		},
	},
	{ // hashes
		func(g *generator) []string {
			return join("HSET", g.key(), g.some(1, 2, func() []string { return []string{g.member(), g.value()} }))
		},
		func(g *generator) []string {
			return join("HSET", g.key(), g.some(1, 3, func() []string { return []string{g.member(), g.value()} }))
		},
		func(g *generator) []string {
			return join("HDEL", g.key(), g.some(1, 3, func() []string { return []string{g.member()} }))
		},
		func(g *generator) []string {
			return join("HMGET", g.key(), g.some(1, 3, func() []string { return []string{g.member()} }))
		},
		func(g *generator) []string { return join(g.one("HGET", "HEXISTS"), g.key(), g.member()) },
		func(g *generator) []string { return join(g.one("HGETALL", "HLEN", "HKEYS"), g.key()) },
		func(g *generator) []string { return join("HINCRBY", g.key(), g.member(), g.one(g.small(), g.value())) },
	},
	{ // lists
		func(g *generator) []string {
			return join(g.one("LPUSH", "RPUSH"), g.key(), g.some(1, 4, func() []string { return []string{g.member()} }))
		},
		func(g *generator) []string {
			return join(g.one("LPUSH", "RPUSH"), g.key(), g.some(1, 4, func() []string { return []string{g.member()} }))
		},
		func(g *generator) []string { return join("LPOP", g.key()) },
		func(g *generator) []string { return join(g.one("LLEN"), g.key()) },
		func(g *generator) []string { return join("LINDEX", g.key(), g.small()) },
		func(g *generator) []string { return join("LRANGE", g.key(), g.small(), g.small()) },
		func(g *generator) []string { return join("LREM", g.key(), g.small(), g.member()) },
		func(g *generator) []string { return join("LPOS", g.key(), g.member()) },
	},
	{ // sorted sets
		func(g *generator) []string {
			return join("ZADD", g.key(), g.some(1, 3, func() []string { return []string{g.score(), g.member()} }))
		},
		func(g *generator) []string {
			return join("ZADD", g.key(), g.maybe(g.one("XX", "xx")), g.maybe("INCR"),
				g.some(1, 2, func() []string { return []string{g.score(), g.member()} }))
		},
		func(g *generator) []string {
			return join("ZADD", g.key(), g.maybe("XX"), g.maybe("INCR"), g.one("0", "-0", "1", "2", "-1"), g.member())
		},
		func(g *generator) []string {
			return join("ZREM", g.key(), g.some(1, 3, func() []string { return []string{g.member()} }))
		},
		func(g *generator) []string { return join("ZSCORE", g.key(), g.member()) },
		func(g *generator) []string { return join("ZCARD", g.key()) },
		func(g *generator) []string { return join("ZCOUNT", g.key(), g.bound(), g.bound()) },
		func(g *generator) []string {
			return join("ZRANGE", g.key(), g.small(), g.small(), g.maybe("WITHSCORES"))
		},
		func(g *generator) []string {
			return join("ZRANGE", g.key(), g.bound(), g.bound(), g.one("BYSCORE", "byscore"), g.maybe("WITHSCORES"), g.some(0, 1, func() []string { return g.maybe("oops") }))
		},
		func(g *generator) []string { return join("ZREMRANGEBYSCORE", g.key(), g.bound(), g.bound()) },
		func(g *generator) []string {
			return join("ZRANGE", g.key(), g.one("(0", "(1", "(2", "0", "1", "2"), g.one("(1", "(2", "(3", "1", "2", "3"), "BYSCORE")
		},
	},
	{ // sets
		func(g *generator) []string {
			return join("SADD", g.key(), g.some(1, 3, func() []string { return []string{g.member()} }))
		},
		func(g *generator) []string { return join("SMEMBERS", g.key()) },
	},
}

// The scripts in which a duel wraps a command: one tells exactly what a script gets, one lets an error end
// it, one returns what it gets, one gives numbers as such.
const (
	describing = `local function show(v)
	if type(v) == 'table' and v.err then return 'error ' .. string.match(v.err, '^%u*') end
	if type(v) == 'table' and v.ok then return 'status ' .. v.ok end
	if type(v) == 'table' then
		local items = {}
		for i, item in ipairs(v) do items[i] = show(item) end
		return 'list of ' .. #v .. ': ' .. table.concat(items, ', ')
	end
	if type(v) == 'number' then return string.format('number %.17g', v) end
	return type(v) .. ' ' .. tostring(v)
end
return show(redis.pcall(unpack(ARGV)))`
	raising   = `return redis.call(unpack(ARGV))`
	returning = `return redis.pcall(unpack(ARGV))`
	counting  = `for i, word in ipairs(ARGV) do
	local n = tonumber(word)
	if n and n ~= 0 and math.abs(n) < 2^52 then ARGV[i] = n end -- of others versions of Redis write other digits
end
return redis.pcall(unpack(ARGV))`
)

// command makes one. Now and then a word of it is missing or is one too many; now and then a script runs it.
func (g *generator) command() []string {
	kind := makers[g.IntN(len(makers))]
	if g.IntN(2) == 0 {
		kind = makers[g.focus]
	}
	command := kind[g.IntN(len(kind))](g)
	switch g.IntN(60) {
	case 0:
		if !strings.HasSuffix(command[0], "POP") { // which takes a count, and the model does not
			command = append(command, g.member())
		}
	case 1:
		command = command[:len(command)-1]
	case 2:
		command[0] = strings.ToLower(command[0])
	}
	if len(command) == 0 {
		command = []string{"PING"}
	}
	if g.IntN(3) == 0 && !strings.EqualFold(command[0], "SMEMBERS") {
		script := g.one(describing, returning, raising, counting)
		return append([]string{"EVAL", script, "0"}, command...)
	}
	return command
}

// sequence makes some twenty commands, what they end with being what stands.
func (g *generator) sequence() (steps []step) {
	ill := ""
	g.focus = g.IntN(len(makers))
	for range 15 + g.IntN(11) {
		passes := int64(0)
		switch g.IntN(12) {
		case 0:
			passes = g.Int64N(3_000_000)
		case 1:
			passes = g.Int64N(4000)
		}
		g.now += passes
		command := g.command()
		switch n := g.IntN(150); {
		case n == 0 && ill == "":
			ill = g.one("NOREPLICAS", "OOM", "MISCONF", "READONLY")
			command = refusals[ill].begin
		case n < 30 && ill != "":
			command, ill = refusals[ill].end, ""
		}
		steps = append(steps, step{passes, command})
	}
	if ill != "" {
		steps = append(steps, step{0, refusals[ill].end})
	}
	for _, key := range []string{"a", "b", "c", "d"} {
		for _, command := range [][]string{{"TYPE"}, {"PTTL"}, {"GET"}, {"HGETALL"}, {"LRANGE", "0", "-1"}, {"SMEMBERS"}, {"ZRANGE", "0", "-1", "WITHSCORES"}} {
			steps = append(steps, step{0, append([]string{command[0], key}, command[1:]...)})
		}
	}
	return append(steps, step{0, []string{"DBSIZE"}}, step{0, []string{"FLUSHALL"}})
}
