package redismodel

import (
	"regexp"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Patterns of Lua as regular expressions of Go, which find the same: classes, sets, captures, anchors and repetitions of one character. The
// scripts use no others, so "()", "%1", "%b" and "%f" are errors here. gopher-lua compiles a pattern for each call, which takes five times as
// long as the rest of the call.

// luaClasses are the classes by their letters.
var luaClasses = map[byte]string{
	'a': "alpha", 'c': "cntrl", 'd': "digit", 'l': "lower", 'p': "punct", 's': "space", 'u': "upper", 'w': "alnum", 'x': "xdigit",
}

// expressionOf translates a pattern.
func expressionOf(pattern string) string {
	var out strings.Builder
	out.WriteString("(?s)")
	inSet, item := false, false // item: a character stands before, which may be repeated
	for i := 0; i < len(pattern); i++ {
		c, first := pattern[i], i == 0
		switch {
		case c == '%' && i+1 < len(pattern):
			i++
			out.WriteString(escaped(pattern[i], inSet))
			item = true
		case inSet:
			if inSet = c != ']'; inSet && c != '-' && c != '^' {
				out.WriteString(regexp.QuoteMeta(string(c)))
			} else {
				out.WriteByte(c)
			}
			item = true
		case c == '[':
			inSet = true
			out.WriteByte(c)
		case c == '(' || c == ')':
			out.WriteByte(c)
			item = false
		case c == '^' && first, c == '$' && i == len(pattern)-1:
			out.WriteByte(c)
		case item && strings.IndexByte("*+?-", c) >= 0:
			out.WriteString(strings.Replace(string(c), "-", "*?", 1))
			item = false
		case c == '.':
			out.WriteByte(c)
			item = true
		default:
			out.WriteString(regexp.QuoteMeta(string(c)))
			item = true
		}
	}
	return out.String()
}

// escaped is what stands behind "%": a class, which in capitals is all others, or a character that means itself.
func escaped(c byte, inSet bool) string {
	class, other := luaClasses[c|0x20], ""
	if class == "" {
		return `\` + string(c)
	}
	if c < 'a' {
		other = "^"
	}
	class = "[:" + other + class + ":]"
	if !inSet {
		class = "[" + class + "]"
	}
	return class
}

// expression is the second argument.
func (in *Interpreter) expression(l *lua.LState) *regexp.Regexp {
	pattern := l.CheckString(2)
	if e := in.expressions[pattern]; e != nil {
		return e
	}
	e, err := regexp.Compile(expressionOf(pattern))
	if err != nil || strings.Contains(pattern, "()") {
		l.RaiseError("malformed pattern, or one that the model does not know: %s", pattern)
	}
	in.expressions[pattern] = e
	return e
}

// begin is where a search begins: the third argument, from the end when it is below 0.
func begin(l *lua.LState, text string) int {
	at := l.OptInt(3, 1)
	if at < 0 {
		at += len(text) + 1
	}
	return min(max(at-1, 0), len(text))
}

// push gives the script the captures of a match, or all of it when there are none and it is wanted, and answers how many.
func push(l *lua.LState, text string, found []int, whole bool) int {
	if len(found) == 2 && whole {
		l.Push(lua.LString(text[found[0]:found[1]]))
		return 1
	}
	for i := 2; i < len(found); i += 2 {
		l.Push(lua.LString(text[found[i]:found[i+1]]))
	}
	return len(found)/2 - 1
}

// stringFind is string.find.
func (in *Interpreter) stringFind(l *lua.LState) int {
	text, pattern := l.CheckString(1), l.CheckString(2)
	from := begin(l, text)
	var found []int
	if lua.LVAsBool(l.Get(4)) {
		if at := strings.Index(text[from:], pattern); at >= 0 {
			found = []int{at, at + len(pattern)}
		}
	} else {
		found = in.expression(l).FindStringSubmatchIndex(text[from:])
	}
	if found == nil {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(lua.LNumber(from + found[0] + 1))
	l.Push(lua.LNumber(from + found[1]))
	return 2 + push(l, text[from:], found, false)
}

// stringMatch is string.match.
func (in *Interpreter) stringMatch(l *lua.LState) int {
	text := l.CheckString(1)
	text = text[begin(l, text):]
	found := in.expression(l).FindStringSubmatchIndex(text)
	if found == nil {
		l.Push(lua.LNil)
		return 1
	}
	return push(l, text, found, true)
}

// stringGmatch is string.gmatch.
func (in *Interpreter) stringGmatch(l *lua.LState) int {
	text, e := l.CheckString(1), in.expression(l)
	from := 0
	l.Push(l.NewFunction(func(l *lua.LState) int {
		if from > len(text) {
			return 0
		}
		rest := text[from:]
		found := e.FindStringSubmatchIndex(rest)
		if found == nil {
			return 0
		}
		from += max(found[1], found[0]+1)
		return push(l, rest, found, true)
	}))
	return 1
}
