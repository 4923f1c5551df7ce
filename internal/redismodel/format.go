package redismodel

import (
	"fmt"
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

// toNumber is tonumber. gopher-lua's takes no exponent without a point.
func toNumber(l *lua.LState) int {
	switch v := l.CheckAny(1).(type) {
	case lua.LNumber:
		l.Push(v)
	case lua.LString:
		if base := l.OptInt(2, 10); base != 10 {
			n, err := strconv.ParseUint(strings.ToLower(strings.TrimSpace(string(v))), base, 64)
			if err != nil {
				l.Push(lua.LNil)
			} else {
				l.Push(lua.LNumber(n))
			}
			return 1
		}
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
	s = untilZero(s)
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

// stringFormat is string.format: gopher-lua's is Go's, which has other words for what is no number.
func stringFormat(l *lua.LState) int {
	layout := l.CheckString(1)
	if layout == "%.0f" {
		l.Push(lua.LString(wholeNumber(float64(l.CheckNumber(2)))))
		return 1
	}
	var b strings.Builder
	arg := 1
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' {
			b.WriteByte(layout[i])
			continue
		}
		from := i
		for i++; i < len(layout) && strings.IndexByte("-+ #0123456789.", layout[i]) >= 0; i++ {
		}
		if i == len(layout) {
			l.RaiseError("invalid option '%%' to 'format'")
		}
		if layout[i] == '%' {
			b.WriteByte('%')
			continue
		}
		arg++
		b.WriteString(formatOne(l, layout[from:i], layout[i], arg))
	}
	l.Push(lua.LString(b.String()))
	return 1
}

// formatOne formats one argument by a directive, which is the flags and the letter.
func formatOne(l *lua.LState, flags string, letter byte, arg int) string {
	switch letter {
	case 'c':
		return string([]byte{byte(l.CheckInt(arg))})
	case 'd', 'i':
		return fmt.Sprintf(flags+"d", truncate(float64(l.CheckNumber(arg))))
	case 'u':
		return fmt.Sprintf(flags+"d", uint64(truncate(float64(l.CheckNumber(arg)))))
	case 'o', 'x', 'X':
		return fmt.Sprintf(flags+string(letter), uint64(truncate(float64(l.CheckNumber(arg)))))
	case 'e', 'E', 'f', 'g', 'G':
		f := float64(l.CheckNumber(arg))
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return formatG(f, 0)
		}
		if !strings.Contains(flags, ".") {
			flags += ".6"
		}
		return fmt.Sprintf(flags+string(letter), f)
	case 's':
		text := l.ToStringMeta(l.CheckAny(arg)).String()
		if len(text) >= 100 && !strings.Contains(flags, ".") { // C does not see these
			return text
		}
		return fmt.Sprintf(flags+"s", untilZero(text))
	}
	l.RaiseError("invalid option '%%%c' to 'format'", letter)
	return ""
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
