package scripts

import (
	"regexp"
	"slices"
	"strings"
)

// unit is a function or a constant of a text that scripts share.
type unit struct {
	text   string
	name   string // what it declares: a function, or constants
	call   bool   // it is a function
	seldom bool   // most calls of scripts do without it
}

// made is the script of a verb: the last text, which is told the verb, behind keys.lua and what it uses of prelude.lua, faults.lua and the others. Lua
// makes each function anew in every call of a script. So what is not used is left out, and what most calls do without is made when the
// first of those functions is called: seldom() has them.
func made(verb string, texts ...string) Script {
	last := len(texts) - 1
	body := "local VERB = '" + verb + "'\n" + keys + texts[last]
	var units []unit
	for _, text := range append([]string{faults, prelude}, texts[:last]...) {
		units = append(units, unitsOf(text)...)
	}
	slices.SortStableFunc(units, func(a, b unit) int { // constants first
		switch {
		case a.call == b.call:
			return 0
		case b.call:
			return -1
		}
		return 1
	})
	all := used(units, body)
	often := used(slices.DeleteFunc(slices.Clone(all), func(u unit) bool { return u.seldom }), body)
	rarely := slices.DeleteFunc(all, func(u unit) bool { return slices.Contains(often, u) })
	if len(rarely) == 0 {
		return Script{verb, textOf(often) + body}
	}
	functions, fields := textOf(often), ""
	for _, u := range rarely {
		if u.seldom {
			call := "seldom()." + u.name + "("
			functions, body = u.use().ReplaceAllLiteralString(functions, call), u.use().ReplaceAllLiteralString(body, call)
			fields += u.name + " = " + u.name + ", "
		}
	}
	return Script{verb, "local lib, seldom\n" + functions +
		"function seldom()\nif not lib then\n" + textOf(rarely) + "lib = { " + fields + "}\nend\nreturn lib\nend\n" + body}
}

// declares finds a function of a text, which stands between blank lines, or the constants of a line.
var declares = regexp.MustCompile(`(?m)^local (?:function (\w+)\(|(\w+(?:, \w+)*) = )`)

var comment = regexp.MustCompile(`--.*`)

// unitsOf takes a shared text apart.
func unitsOf(text string) (units []unit) {
	seldom := text == faults || text == rw || text == line || text == called
	for part := range strings.SplitSeq(text, "\n\n") {
		if found := declares.FindStringSubmatch(part); found != nil && found[1] != "" {
			units = append(units, unit{strings.TrimSpace(part) + "\n", found[1], true, seldom})
			continue
		}
		for constant := range strings.Lines(part) {
			if found := declares.FindStringSubmatch(constant); found != nil {
				units = append(units, unit{text: strings.TrimSpace(constant) + "\n", name: found[2]})
			}
		}
	}
	return units
}

// used are the units that a text uses, and those that these use.
func used(units []unit, text string) (all []unit) {
	text = comment.ReplaceAllLiteralString(text, "")
	for again := true; again; {
		again = false
		for _, u := range units {
			if !slices.Contains(all, u) && u.use().MatchString(text) {
				all, text, again = append(all, u), text+comment.ReplaceAllLiteralString(u.text, ""), true
			}
		}
	}
	slices.SortFunc(all, func(a, b unit) int { return slices.Index(units, a) - slices.Index(units, b) })
	return all
}

// use matches where a text uses a unit.
func (u unit) use() *regexp.Regexp {
	if u.call {
		return regexp.MustCompile(`\b` + u.name + `\(`)
	}
	return regexp.MustCompile(`\b(` + strings.ReplaceAll(u.name, ", ", "|") + `)\b`)
}

// textOf is the text of units.
func textOf(units []unit) (text string) {
	for _, u := range units {
		text += u.text
	}
	return text
}
