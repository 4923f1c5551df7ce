package redismodel

import (
	"math"
	"strconv"

	lua "github.com/yuin/gopher-lua"
)

// list is texts as a table.
func (in *Interpreter) list(items []string) *lua.LTable {
	table := in.state.CreateTable(len(items), 0)
	for _, item := range items {
		table.Append(lua.LString(item))
	}
	return table
}

// few are the small integers, made once.
var few = func() (values [64]lua.LValue) {
	for i := range values {
		values[i] = lua.LNumber(i - 2)
	}
	return values
}()

func luaInt(n int64) lua.LValue {
	if n >= -2 && n < int64(len(few))-2 {
		return few[n+2]
	}
	return lua.LNumber(n)
}

// toLua is an answer as a script gets it.
func (in *Interpreter) toLua(v Value) lua.LValue {
	switch v.Kind {
	case Int:
		return luaInt(v.Int)
	case Str:
		return lua.LString(v.Str)
	case Nil:
		return lua.LFalse
	case Status:
		return in.named("ok", v.Str)
	case Err:
		return in.named("err", v.Str)
	}
	table := in.state.CreateTable(len(v.Array), 0)
	for i := range v.Array {
		table.Append(in.toLua(v.Array[i]))
	}
	return table
}

// named is a table of one field.
func (in *Interpreter) named(name, text string) *lua.LTable {
	table := in.state.CreateTable(0, 1)
	table.RawSetString(name, lua.LString(text))
	return table
}

// fromLua is what a client gets of what a script returns: numbers lose their fraction, and a list ends before the first nil.
func (in *Interpreter) fromLua(v lua.LValue) Value {
	switch v := v.(type) {
	case lua.LString:
		return text(string(v))
	case lua.LNumber:
		return integer(truncate(float64(v)))
	case lua.LBool:
		if v {
			return integer(1)
		}
	case *lua.LTable:
		return in.fromTable(v)
	}
	return null
}

func (in *Interpreter) fromTable(table *lua.LTable) Value {
	if words, is := table.RawGetString("err").(lua.LString); is {
		return failure(oneLine(string(words)))
	}
	if words, is := table.RawGetString("ok").(lua.LString); is {
		return Value{Kind: Status, Str: oneLine(string(words))}
	}
	answer := Value{Kind: Array}
	for i := 1; ; i++ {
		item := table.RawGetInt(i)
		if item == lua.LNil {
			return answer
		}
		answer.Array = append(answer.Array, in.fromLua(item))
	}
}

// truncate is C's conversion on amd64, where what does not fit is the least integer.
func truncate(f float64) int64 {
	if f >= -(1<<63) && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}

// argument is a number as an argument of a command.
func argument(f float64) string {
	if math.IsNaN(f) {
		return formatG(f, 17)
	}
	return formatFloat(f)
}

// formatG is C's %g with so many digits.
func formatG(f float64, digits int) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f) && math.Signbit(f):
		return "-nan"
	case math.IsNaN(f):
		return "nan"
	}
	return strconv.FormatFloat(f, 'g', digits, 64)
}
