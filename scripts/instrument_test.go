package scripts_test

import (
	"regexp"
	"strings"

	"github.com/wheellock/wheellock/scripts"
)

// wrapped is a script whose commands go through Lua of a test first. filter is the body of a function of a command and
// its arguments, (name, ...), which answers the error by which it is refused, or nothing; state is declared before it, and
// whatever after does with reply comes after the script.
func wrapped(s scripts.Script, state, filter, after string) scripts.Script {
	text := `
local server = redis
` + state + `
local function filter(name, ...)
` + filter + `
end
local redis = setmetatable({
	call = function(...)
		local refused = filter(...)
		if refused then error(refused) end
		return server.call(...)
	end,
	pcall = function(...)
		local refused = filter(...)
		if refused then return { err = refused } end
		return server.pcall(...)
	end,
}, { __index = server })
local function script()
` + s.Text + `
end
local reply = script()
` + after + `
return reply
`
	return scripts.Script{Name: s.Name, Text: text}
}

// writes are the commands of the scripts that change something.
var writes = []string{
	"DECRBY", "DEL", "HDEL", "HSET", "INCRBY", "LPOP", "LPUSH", "LREM", "PEXPIRE", "RPUSH", "SET", "ZADD", "ZREM", "ZREMRANGEBYSCORE",
}

// reads are the others.
var reads = []string{
	"EXISTS", "GET", "HEXISTS", "HGET", "HGETALL", "HLEN", "HMGET", "LINDEX", "LLEN", "LPOS", "LRANGE", "PTTL", "PUBLISH", "PUBSUB", "SPUBLISH", "TIME", "TYPE",
	"ZCARD", "ZRANGE", "ZSCORE",
}

// runs finds a command in a script.
var runs = regexp.MustCompile(`\b(redis\.call|call|ask)\((?:l, )?'([A-Z]+)'`)

// luaSet is a Lua table with these as its keys.
func luaSet(names []string) string {
	return "{ ['" + strings.Join(names, "'] = true, ['") + "'] = true }"
}
