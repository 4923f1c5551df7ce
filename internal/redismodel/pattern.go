package redismodel

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Patterns of Lua 5.1, as its lstrlib.c matches them. gopher-lua compiles a pattern for each call, and string.match that finds nothing
// gives nothing there, where it gives nil in Lua.

const (
	captureMost   = 32
	captureOpen   = -1
	capturePlace  = -2
	patternMagics = "^$*+?.([%-"
)

// matcher is one attempt. Places in the pattern and in the text are indexes; -1 is no match.
type matcher struct {
	l        *lua.LState
	text     string
	pattern  string
	level    int // captures begun
	captures [captureMost]struct{ from, length int }
}

// at is a character of the pattern; 0 behind its end, as in C.
func (m *matcher) at(p int) byte {
	if p < len(m.pattern) {
		return m.pattern[p]
	}
	return 0
}

// match matches the pattern from p on with the text from s on, and answers where the match ends.
func (m *matcher) match(s, p int) int {
	for {
		switch c := m.at(p); {
		case c == 0:
			return s
		case c == '(' && m.at(p+1) == ')':
			return m.open(s, p+2, capturePlace)
		case c == '(':
			return m.open(s, p+1, captureOpen)
		case c == ')':
			return m.shut(s, p+1)
		case c == '$' && p+1 >= len(m.pattern):
			if s == len(m.text) {
				return s
			}
			return -1
		case c == '%' && m.at(p+1) == 'b':
			if s = m.balance(s, p+2); s < 0 {
				return -1
			}
			p += 4
			continue
		case c == '%' && m.at(p+1) >= '0' && m.at(p+1) <= '9':
			if s = m.again(s, m.at(p+1)); s < 0 {
				return -1
			}
			p += 2
			continue
		case c == '%' && m.at(p+1) == 'f':
			end := m.frontier(s, p+2)
			if end < 0 {
				return -1
			}
			p = end
			continue
		}
		end := m.classEnd(p)
		switch m.at(end) {
		case '?':
			if m.single(s, p, end) {
				if found := m.match(s+1, end+1); found >= 0 {
					return found
				}
			}
			p = end + 1
			continue
		case '*':
			return m.most(s, p, end)
		case '+':
			if !m.single(s, p, end) {
				return -1
			}
			return m.most(s+1, p, end)
		case '-':
			return m.least(s, p, end)
		}
		if !m.single(s, p, end) {
			return -1
		}
		s, p = s+1, end
	}
}

// most is "*": as often as possible.
func (m *matcher) most(s, p, end int) int {
	n := 0
	for m.single(s+n, p, end) {
		n++
	}
	for ; n >= 0; n-- {
		if found := m.match(s+n, end+1); found >= 0 {
			return found
		}
	}
	return -1
}

// least is "-": as rarely as possible.
func (m *matcher) least(s, p, end int) int {
	for {
		if found := m.match(s, end+1); found >= 0 {
			return found
		}
		if !m.single(s, p, end) {
			return -1
		}
		s++
	}
}

// open begins a capture, of a text or of a place.
func (m *matcher) open(s, p, what int) int {
	if m.level >= captureMost {
		m.l.RaiseError("too many captures")
	}
	m.captures[m.level].from, m.captures[m.level].length = s, what
	m.level++
	found := m.match(s, p)
	if found < 0 {
		m.level--
	}
	return found
}

// shut ends the capture that was begun last.
func (m *matcher) shut(s, p int) int {
	at := m.level - 1
	for ; at >= 0 && m.captures[at].length != captureOpen; at-- {
	}
	if at < 0 {
		m.l.RaiseError("invalid pattern capture")
	}
	m.captures[at].length = s - m.captures[at].from
	found := m.match(s, p)
	if found < 0 {
		m.captures[at].length = captureOpen
	}
	return found
}

// balance is "%bxy".
func (m *matcher) balance(s, p int) int {
	if p+1 >= len(m.pattern) {
		m.l.RaiseError("unbalanced pattern")
	}
	if s >= len(m.text) || m.text[s] != m.pattern[p] {
		return -1
	}
	open := 1
	for s++; s < len(m.text); s++ {
		switch m.text[s] {
		case m.pattern[p+1]:
			if open--; open == 0 {
				return s + 1
			}
		case m.pattern[p]:
			open++
		}
	}
	return -1
}

// again is "%1": the text of a capture once more.
func (m *matcher) again(s int, digit byte) int {
	at := int(digit) - '1'
	if at < 0 || at >= m.level || m.captures[at].length == captureOpen {
		m.l.RaiseError("invalid capture index")
	}
	c := m.captures[at]
	if c.length < 0 || !strings.HasPrefix(m.text[s:], m.text[c.from:c.from+c.length]) {
		return -1
	}
	return s + c.length
}

// frontier is "%f[set]": it matches nothing, between what is not in the set and what is. It answers where the pattern goes on.
func (m *matcher) frontier(s, p int) int {
	if m.at(p) != '[' {
		m.l.RaiseError("missing '[' after '%%f' in pattern")
	}
	end := m.classEnd(p)
	before, here := byte(0), byte(0)
	if s > 0 {
		before = m.text[s-1]
	}
	if s < len(m.text) {
		here = m.text[s]
	}
	if m.inSet(before, p, end-1) || !m.inSet(here, p, end-1) {
		return -1
	}
	return end
}

// classEnd is behind a single character, class or set that begins at p.
func (m *matcher) classEnd(p int) int {
	c := m.at(p)
	p++
	switch c {
	case '%':
		if p >= len(m.pattern) {
			m.l.RaiseError("malformed pattern (ends with '%%')")
		}
		return p + 1
	case '[':
		if m.at(p) == '^' {
			p++
		}
		for first := true; first || m.at(p) != ']'; first = false {
			if p >= len(m.pattern) {
				m.l.RaiseError("malformed pattern (missing ']')")
			}
			p++
			if m.pattern[p-1] == '%' && p < len(m.pattern) {
				p++
			}
		}
		return p + 1
	}
	return p
}

// single matches one character of the text with what is in the pattern from p to end.
func (m *matcher) single(s, p, end int) bool {
	if s >= len(m.text) {
		return false
	}
	switch c := m.text[s]; m.pattern[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pattern[p+1])
	case '[':
		return m.inSet(c, p, end-1)
	default:
		return m.pattern[p] == c
	}
}

// inSet reports whether a character is in the set that begins at p and whose "]" is at last.
func (m *matcher) inSet(c byte, p, last int) bool {
	in := true
	if m.at(p+1) == '^' {
		in = false
		p++
	}
	for p++; p < last; p++ {
		switch {
		case m.pattern[p] == '%':
			p++
			if inClass(c, m.pattern[p]) {
				return in
			}
		case m.at(p+1) == '-' && p+2 < last:
			if m.pattern[p] <= c && c <= m.pattern[p+2] {
				return in
			}
			p += 2
		case m.pattern[p] == c:
			return in
		}
	}
	return !in
}

// inClass reports whether a character is in a class, such as d for digits; D is all others.
func inClass(c, class byte) bool {
	letter := c|0x20 >= 'a' && c|0x20 <= 'z'
	digit := c >= '0' && c <= '9'
	var in bool
	switch class | 0x20 {
	case 'a':
		in = letter
	case 'c':
		in = c < 0x20 || c == 0x7f
	case 'd':
		in = digit
	case 'l':
		in = c >= 'a' && c <= 'z'
	case 'p':
		in = c > 0x20 && c < 0x7f && !letter && !digit
	case 's':
		in = isSpace(c)
	case 'u':
		in = c >= 'A' && c <= 'Z'
	case 'w':
		in = letter || digit
	case 'x':
		in = digit || c|0x20 >= 'a' && c|0x20 <= 'f'
	case 'z':
		in = c == 0
	default:
		return class == c
	}
	if class >= 'A' && class <= 'Z' {
		return !in
	}
	return in
}

// push gives the script the captures of a match, or all of it when there are none, and answers how many.
func (m *matcher) push(s, end int, whole bool) int {
	if m.level == 0 && whole {
		m.l.Push(lua.LString(m.text[s:end]))
		return 1
	}
	for _, c := range m.captures[:m.level] {
		switch c.length {
		case capturePlace:
			m.l.Push(lua.LNumber(c.from + 1))
		case captureOpen:
			m.l.RaiseError("unfinished capture")
		default:
			m.l.Push(lua.LString(m.text[c.from : c.from+c.length]))
		}
	}
	return m.level
}

// search looks for the pattern from a place in the text on; "^" binds it there.
func (m *matcher) search(from int) (s, end int) {
	pattern, anchored := strings.CutPrefix(m.pattern, "^")
	m.pattern = pattern
	for s = from; s <= len(m.text); s++ {
		m.level = 0
		if end = m.match(s, 0); end >= 0 {
			return s, end
		}
		if anchored {
			break
		}
	}
	return -1, -1
}

// begin is where a search begins: the third argument, from the end when it is below 0.
func begin(l *lua.LState, text string) int {
	at := l.OptInt(3, 1)
	if at < 0 {
		at += len(text) + 1
	}
	return min(max(at-1, 0), len(text))
}

// stringFind is string.find.
func stringFind(l *lua.LState) int {
	text, pattern := l.CheckString(1), l.CheckString(2)
	from := begin(l, text)
	if lua.LVAsBool(l.Get(4)) || !strings.ContainsAny(pattern, patternMagics) {
		at := strings.Index(text[from:], pattern)
		if at < 0 {
			l.Push(lua.LNil)
			return 1
		}
		l.Push(lua.LNumber(from + at + 1))
		l.Push(lua.LNumber(from + at + len(pattern)))
		return 2
	}
	m := matcher{l: l, text: text, pattern: pattern}
	s, end := m.search(from)
	if s < 0 {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(lua.LNumber(s + 1))
	l.Push(lua.LNumber(end))
	return 2 + m.push(s, end, false)
}

// stringMatch is string.match.
func stringMatch(l *lua.LState) int {
	m := matcher{l: l, text: l.CheckString(1), pattern: l.CheckString(2)}
	s, end := m.search(begin(l, m.text))
	if s < 0 {
		l.Push(lua.LNil)
		return 1
	}
	return m.push(s, end, true)
}

// stringGmatch is string.gmatch, where "^" is a character as any other.
func stringGmatch(l *lua.LState) int {
	text, pattern, from := l.CheckString(1), l.CheckString(2), 0
	l.Push(l.NewFunction(func(l *lua.LState) int {
		for ; from <= len(text); from++ {
			m := matcher{l: l, text: text, pattern: pattern}
			if end := m.match(from, 0); end >= 0 {
				s := from
				from = max(end, from+1)
				return m.push(s, end, true)
			}
		}
		return 0
	}))
	return 1
}
