package redismodel

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openLibrary gives scripts what ours use of what Redis gives them.
func (in *Interpreter) openLibrary() {
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		in.state.Push(in.state.NewFunction(open))
		in.state.Call(0, 0)
	}
	in.globals = in.state.G.Global
	in.globals.RawSetString("tonumber", in.function(toNumber))
	in.globals.RawSetString("tostring", in.function(toString))
	in.globals.RawSetString("type", in.function(luaType))
	texts := in.globals.RawGetString("string").(*lua.LTable)
	in.formats = texts.RawGetString("format").(*lua.LFunction).GFunction
	for name, f := range map[string]lua.LGFunction{"find": in.stringFind, "format": in.stringFormat, "gmatch": in.stringGmatch, "match": in.stringMatch} {
		texts.RawSetString(name, in.function(f))
	}
	in.openRedis()
	in.protect()
}

func (in *Interpreter) function(f lua.LGFunction) *lua.LFunction { return in.state.NewFunction(f) }

// openRedis gives scripts what ours use of Redis's own functions.
func (in *Interpreter) openRedis() {
	redis := in.state.NewTable()
	in.globals.RawSetString("redis", redis)
	redis.RawSetString("call", in.function(func(*lua.LState) int { return in.call(false) }))
	redis.RawSetString("pcall", in.function(func(*lua.LState) int { return in.call(true) }))
	redis.RawSetString("REDIS_VERSION_NUM", lua.LNumber(7<<16|15))
}

// protect lets no script make a global variable, nor read one that is not there.
func (in *Interpreter) protect() {
	guard := in.state.NewTable()
	guard.RawSetString("__index", in.function(func(l *lua.LState) int {
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", lua.LVAsString(l.Get(2)))
		return 0
	}))
	guard.RawSetString("__newindex", in.function(func(l *lua.LState) int {
		l.RaiseError("Attempt to modify a readonly table")
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
			in.words = append(in.words, argument(float64(word)))
		default:
			answer = failure("ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	switch {
	case answer.Kind == Err:
	case len(in.words) == 0:
		answer = failure("ERR Please specify at least one argument for this redis lib call")
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
