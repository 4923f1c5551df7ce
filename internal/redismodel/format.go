package redismodel

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Functions of Lua that gopher-lua has otherwise than C.

// typeNames are the answers of type, made once: gopher-lua makes one for each call.
var typeNames = func() (names [int(lua.LTChannel) + 1]lua.LValue) {
	for i := range names {
		names[i] = lua.LString(lua.LValueType(i).String())
	}
	return names
}()

func luaType(l *lua.LState) int {
	l.Push(typeNames[l.CheckAny(1).Type()])
	return 1
}

// toNumber is tonumber, of decimal digits. gopher-lua's takes no exponent without a point.
func toNumber(l *lua.LState) int {
	switch v := l.CheckAny(1).(type) {
	case lua.LNumber:
		l.Push(v)
	case lua.LString:
		if f, read := luaNumber(string(v)); read {
			l.Push(lua.LNumber(f))
		} else {
			l.Push(lua.LNil)
		}
	default:
		l.Push(lua.LNil)
	}
	return 1
}

// toString is tostring. A number that is joined with ".." is still written by gopher-lua, in full where C takes 14 digits.
func toString(l *lua.LState) int {
	if n, is := l.CheckAny(1).(lua.LNumber); is {
		l.Push(lua.LString(formatG(float64(n), 14)))
	} else {
		l.Push(l.ToStringMeta(l.Get(1)))
	}
	return 1
}

// luaNumber reads a number as Lua does: as C does, with spaces round it.
func luaNumber(s string) (f float64, read bool) {
	s, _, _ = strings.Cut(s, "\x00")
	if n, is := shortInt(s); is {
		return float64(n), true
	}
	f, read, _ = strtod(strings.TrimRight(s, " \t\n\v\f\r"))
	return f, read
}

// shortInt reads what is nothing but up to 15 digits.
func shortInt(s string) (n int64, is bool) {
	if len(s) == 0 || len(s) > 15 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, true
}

// stringFormat is string.format, which is gopher-lua's but for the numbers of most calls.
func (in *Interpreter) stringFormat(l *lua.LState) int {
	if l.CheckString(1) == "%.0f" {
		l.Push(lua.LString(wholeNumber(float64(l.CheckNumber(2)))))
		return 1
	}
	return in.formats(l)
}

// wholeNumber is C's %.0f.
func wholeNumber(f float64) string {
	if isWhole(f, 1<<53) {
		return strconv.FormatInt(int64(f), 10)
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return formatG(f, 0)
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}
