package scripts

import (
	"slices"
	"strings"
)

// unit is a function or a constant of a text that scripts share.
type unit struct {
	text   string
	names  []string // the words by which it is used
	seldom bool     // most calls of scripts do without it
	uses   []string // the words of its text
}

// library is a shared text, taken apart.
type library struct{ constants, functions []unit }

// libraries are those that scripts have been made with: most are of many scripts.
var libraries = make(map[string]library)

// made is the script of a verb: the last text, which is told the verb, behind what it uses of prelude.lua and the others. Of two functions with one
// name it uses that of the earlier text. Lua makes each function anew in every call of a script. So what is not used is left out, and what most
// calls do without is made when the first of those functions is called: seldom() has them. An acquire and a release of one name took 17 us of the
// server's time so, and 25 with all functions, before one.lua (the shortest of 60 turns on 2 busy cores, Redis 7.0, 2026-11-28).
func made(verb string, texts ...string) Script {
	last := len(texts) - 1
	body := "local VERB = '" + verb + "'\n" + blocksOf(verb, texts[last])
	var all library
	for _, text := range append([]string{prelude}, texts[:last]...) {
		l, known := libraries[text]
		if !known {
			l = parse(text)
			libraries[text] = l
		}
		all.constants, all.functions = append(all.constants, l.constants...), append(all.functions, l.functions...)
	}
	often, rarely := used(append(all.constants, all.functions...), body)
	if len(rarely) == 0 {
		return Script{verb, textOf(often) + body}
	}
	fields, late := "", make(map[string]bool)
	for _, u := range rarely {
		if u.seldom {
			name := strings.TrimSuffix(u.names[0], "(")
			fields += name + " = " + name + ", "
			late[u.names[0]] = true
		}
	}
	return Script{verb, "local lib, seldom\n" + calling(textOf(often), late) +
		"function seldom()\nif not lib then\n" + textOf(rarely) + "lib = { " + fields + "}\nend\nreturn lib\nend\n" + calling(body, late)}
}

// one is a script with what a text, such as one.lua, has for its verb before it.
func one(s Script, text string) Script { return Script{s.Name, blocksOf(s.Name, text) + s.Text} }

// parse takes a shared text apart. Blank lines stand between its parts: functions, and groups of constants, each of which has a line.
// Statements behind a constant belong to it. Most calls do without the functions between a comment SELDOM and a comment OFTEN.
func parse(text string) (l library) {
	seldom := false
	for part := range strings.SplitSeq(text, "\n\n") {
		part = strings.TrimSpace(part) + "\n"
		if at := strings.Index("\n"+part, "\nlocal function "); at >= 0 {
			name, _, _ := strings.Cut(part[at+len("local function "):], "(")
			l.functions = append(l.functions, unit{text: part, names: []string{name + "("}, seldom: seldom, uses: wordsOf(part)})
			continue
		}
		seldom = strings.HasPrefix(part, "-- SELDOM") || seldom && !strings.HasPrefix(part, "-- OFTEN")
		for line := range strings.Lines(part) {
			if names, _, found := strings.Cut(line, " = "); found && strings.HasPrefix(names, "local ") {
				var u unit
				for name := range strings.SplitSeq(names[len("local "):], ", ") {
					u.names = append(u.names, name, name+"(")
				}
				l.constants = append(l.constants, u)
			}
			if last := len(l.constants) - 1; last >= 0 && !strings.HasPrefix(line, "--") {
				l.constants[last].text += line
			}
		}
	}
	for i, u := range l.constants {
		l.constants[i].uses = wordsOf(u.text)
	}
	return l
}

// blocksOf is a text without the blocks of other verbs. A block goes from the line "if VERB == '...' then" to its end, and neither is indented.
func blocksOf(verb, text string) string {
	var kept strings.Builder
	skips := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "if VERB == ") && strings.HasSuffix(line, " then\n") {
			skips = !strings.Contains(line, "'"+verb+"'")
			line = "do\n"
		}
		if !skips {
			kept.WriteString(line)
		}
		skips = skips && line != "end\n"
	}
	return kept.String()
}

// used are the units that a text uses, and those that these use: those without which no call can do, and the others.
func used(units []unit, text string) (often, rarely []unit) {
	declares := make(map[string]int)
	for i, u := range units {
		for _, name := range u.names {
			if _, known := declares[name]; !known {
				declares[name] = i
			}
		}
	}
	var mark func(kept []bool, words []string, reach func(unit) bool) []bool
	mark = func(kept []bool, words []string, reach func(unit) bool) []bool {
		for _, word := range words {
			if i, found := declares[word]; found && !kept[i] && reach(units[i]) {
				kept[i] = true
				mark(kept, units[i].uses, reach)
			}
		}
		return kept
	}
	words := wordsOf(text)
	all := mark(make([]bool, len(units)), words, func(unit) bool { return true })
	always := mark(make([]bool, len(units)), words, func(u unit) bool { return !u.seldom })
	for i, u := range units {
		switch {
		case always[i]:
			often = append(often, u)
		case all[i]:
			rarely = append(rarely, u)
		}
	}
	return often, rarely
}

// eachWord calls visit with each word of a text outside comments and strings, and where it begins. A ( belongs to the name of what is called.
func eachWord(text string, visit func(word string, at int)) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case strings.HasPrefix(text[i:], "--"):
			i += max(strings.IndexByte(text[i:], '\n'), 1)
		case c == '\'':
			i += 1 + strings.IndexByte(text[i+1:], '\'')
		case isLetter(c):
			end := i
			for end < len(text) && isLetter(text[end]) {
				end++
			}
			if end < len(text) && text[end] == '(' {
				end++
			}
			visit(text[i:end], i)
			i = end - 1
		}
	}
}

func isLetter(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// wordsOf are the words of a text.
func wordsOf(text string) (words []string) {
	eachWord(text, func(word string, _ int) { words = append(words, word) })
	slices.Sort(words)
	return slices.Compact(words)
}

// calling is a text that has those functions from seldom().
func calling(text string, late map[string]bool) string {
	var out strings.Builder
	done := 0
	eachWord(text, func(word string, at int) {
		if late[word] {
			out.WriteString(text[done:at] + "seldom().")
			done = at
		}
	})
	return out.String() + text[done:]
}

// textOf is the text of units.
func textOf(units []unit) string {
	var text strings.Builder
	for _, u := range units {
		text.WriteString(u.text)
	}
	return text.String()
}
