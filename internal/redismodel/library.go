package redismodel

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// removed are functions of Lua that a script of Redis does not have.
var removed = []string{"dofile", "getfenv", "loadfile", "module", "newproxy", "print", "require", "setfenv", "_printregs"}

// openLibrary gives scripts what Redis gives them. Of its extra libraries there is none: the scripts use none.
func (in *Interpreter) openLibrary() {
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		in.state.Push(in.state.NewFunction(open))
		in.state.Call(0, 0)
	}
	in.globals = in.state.G.Global
	for _, name := range removed {
		in.globals.RawSetString(name, lua.LNil)
	}
	in.globals.RawSetString("tonumber", in.function(toNumber))
	in.globals.RawSetString("tostring", in.function(toString))
	in.globals.RawSetString("type", in.function(luaType))
	texts := in.globals.RawGetString("string").(*lua.LTable)
	for name, f := range map[string]lua.LGFunction{"find": in.stringFind, "format": stringFormat, "gmatch": in.stringGmatch, "match": in.stringMatch} {
		texts.RawSetString(name, in.function(f))
	}
	in.openRedis()
	in.protect()
}

func (in *Interpreter) function(f lua.LGFunction) *lua.LFunction { return in.state.NewFunction(f) }

func (in *Interpreter) openRedis() {
	in.redis = in.state.NewTable()
	in.globals.RawSetString("redis", in.redis)
	for name, f := range map[string]lua.LGFunction{
		"call":               func(*lua.LState) int { return in.call(false) },
		"pcall":              func(*lua.LState) int { return in.call(true) },
		"error_reply":        in.errorReply,
		"status_reply":       func(l *lua.LState) int { l.Push(in.named("ok", l.CheckString(1))); return 1 },
		"sha1hex":            sha1hex,
		"log":                func(*lua.LState) int { return 0 },
		"replicate_commands": func(l *lua.LState) int { l.Push(lua.LTrue); return 1 },
	} {
		in.redis.RawSetString(name, in.function(f))
	}
	for level, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		in.redis.RawSetString(name, lua.LNumber(level))
	}
}

// tellVersion tells scripts what the server's version is: since 7.0 they can know.
func (in *Interpreter) tellVersion(v *version) {
	text, number := lua.LValue(lua.LString(v.full())), lua.LValue(lua.LNumber(v.number))
	if v.major < 7 {
		text, number = lua.LNil, lua.LNil
	}
	in.redis.RawSetString("REDIS_VERSION", text)
	in.redis.RawSetString("REDIS_VERSION_NUM", number)
}

// protect lets no script make a global variable, nor read one that is not there.
func (in *Interpreter) protect() {
	guard := in.state.NewTable()
	guard.RawSetString("__index", in.function(func(l *lua.LState) int {
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", lua.LVAsString(l.Get(2)))
		return 0
	}))
	guard.RawSetString("__newindex", in.function(func(l *lua.LState) int {
		if in.server.since(7, 0) {
			l.RaiseError("Attempt to modify a readonly table")
		}
		l.RaiseError("Script attempted to create global variable '%s'", lua.LVAsString(l.Get(2)))
		return 0
	}))
	in.globals.Metatable = guard
}

// call is redis.call and redis.pcall.
func (in *Interpreter) call(protected bool) int {
	l := in.state
	in.words = in.words[:0]
	var answer Value
	for i, n := 1, l.GetTop(); i <= n && answer.Kind != Err; i++ {
		switch word := l.Get(i).(type) {
		case lua.LString:
			in.words = append(in.words, string(word))
		case lua.LNumber:
			in.words = append(in.words, in.server.argument(float64(word)))
		default:
			answer = in.misuse("Lua redis lib command arguments must be strings or integers", "Lua redis() command arguments must be strings or integers")
		}
	}
	switch {
	case answer.Kind == Err:
	case len(in.words) == 0:
		answer = in.misuse("Please specify at least one argument for this redis lib call", "Please specify at least one argument for redis.call()")
	default:
		answer = in.server.run(in.words)
	}
	if answer.Kind != Err || protected {
		l.Push(in.toLua(answer))
		return 1
	}
	raised := in.named("err", answer.Str)
	_, line, _ := strings.Cut(l.Where(1), ":")
	raised.RawSetString("line", lua.LString(strings.TrimRight(line, ": ")))
	l.Error(raised, 0)
	return 0
}

// misuse is the error of a call that never became a command: in the words of Redis 7, and of those before.
func (in *Interpreter) misuse(words, before string) Value {
	if in.server.since(7, 0) {
		return failure("ERR " + words)
	}
	return failure("@user_script: 1: " + before)
}

// errorReply is redis.error_reply: since 7.0 a text of one word gets a code in front.
func (in *Interpreter) errorReply(l *lua.LState) int {
	words := l.CheckString(1)
	if in.server.since(7, 0) {
		words = strings.TrimPrefix(words, "-")
		if !strings.Contains(words, " ") {
			words = "ERR " + words
		}
	}
	l.Push(in.named("err", words))
	return 1
}

func sha1hex(l *lua.LState) int {
	sum := sha1.Sum([]byte(l.CheckString(1)))
	l.Push(lua.LString(hex.EncodeToString(sum[:])))
	return 1
}
