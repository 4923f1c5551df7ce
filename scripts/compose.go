package scripts

import (
	"regexp"
	"slices"
	"strings"
)

// unit is a function or a constant of a text that scripts share.
type unit struct {
	text     string
	function string // its name; "": it is a constant, or several of one line
	seldom   bool   // most calls of scripts do without it
}

// made is the script of a verb: the last text, which is told the verb, behind what it uses of prelude.lua, faults.lua and the others. Lua
// makes each function anew in every call of a script. So what is not used is left out, and what most calls do without is made when the
// first of those functions is called: seldom() has them.
func made(verb string, texts ...string) Script {
	last := len(texts) - 1
	body := "local VERB = '" + verb + "'\n" + texts[last]
	var units []unit
	for _, text := range append([]string{prelude, faults}, texts[:last]...) {
		units = append(units, unitsOf(text)...)
	}
	var constants, often, rarely string
	var names []string
	for _, u := range used(units, body) {
		switch {
		case u.function == "":
			constants += u.text
		case u.seldom:
			rarely += u.text
			names = append(names, u.function)
		default:
			often += u.text
		}
	}
	if rarely == "" {
		return Script{verb, constants + often + body}
	}
	call := regexp.MustCompile(`\b(` + strings.Join(names, "|") + `)\(`)
	list := regexp.MustCompile(`\w+`).ReplaceAllString(strings.Join(names, ", "), "$0 = $0")
	return Script{verb, constants + "local lib, seldom\n" + call.ReplaceAllString(often, "seldom().$1(") +
		"function seldom()\nif not lib then\n" + rarely + "lib = { " + list + " }\nend\nreturn lib\nend\n" + call.ReplaceAllString(body, "seldom().$1(")}
}

var (
	functions = regexp.MustCompile(`(?m)^local function (\w+)\(`)
	constants = regexp.MustCompile(`^local ([\w, ]+) = `)
)

// unitsOf takes a shared text apart: blank lines stand between its functions, and each constant has a line.
func unitsOf(text string) (units []unit) {
	for part := range strings.SplitSeq(text, "\n\n") {
		if found := functions.FindStringSubmatch(part); found != nil {
			units = append(units, unit{strings.TrimSpace(part) + "\n", found[1], text == faults || text == line || text == called})
			continue
		}
		for constant := range strings.Lines(part) {
			if constants.MatchString(constant) {
				units = append(units, unit{text: strings.TrimSpace(constant) + "\n"})
			}
		}
	}
	return units
}

// used are the units that a text uses, and those that these use.
func used(units []unit, text string) (all []unit) {
	kept := make([]bool, len(units))
	for again := true; again; {
		again = false
		for i, u := range units {
			if !kept[i] && u.in(text) {
				kept[i], again = true, true
				text += u.text
			}
		}
	}
	for i, u := range units {
		if kept[i] {
			all = append(all, u)
		}
	}
	return all
}

// in reports whether a text uses a unit.
func (u unit) in(text string) bool {
	if u.function != "" {
		return regexp.MustCompile(`\b` + u.function + `\(`).MatchString(text)
	}
	names := strings.Split(constants.FindStringSubmatch(u.text)[1], ", ")
	return slices.ContainsFunc(names, func(name string) bool { return regexp.MustCompile(`\b` + name + `\b`).MatchString(text) })
}
