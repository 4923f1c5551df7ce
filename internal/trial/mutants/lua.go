package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/parse"
)

// luaFile collects the mutants of one script.
type luaFile struct {
	name, text string
	seen       map[string]bool // texts that are there already
	all        []*Mutant
}

// luaMutants are the mutants of every script of a module.
func luaMutants(root string) ([]*Mutant, error) {
	files, err := filepath.Glob(filepath.Join(root, "scripts", "*.lua"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no scripts in %s: %v", root, err)
	}
	var all []*Mutant
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		some, err := mutateLua("scripts/"+filepath.Base(file), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return numbered(all), nil
}

// mutateLua makes the mutants of one text.
func mutateLua(name, text string) ([]*Mutant, error) {
	body, err := parseLua(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := &luaFile{name: name, text: text, seen: map[string]bool{text: true}}
	f.visit(body, false)
	return f.all, nil
}

// add takes a change, if what comes of it is Lua and something new.
func (f *luaFile) add(operator string, from, to int, text string) {
	change := edit{from, to, text}
	mutated := apply(f.text, []edit{change})
	if f.seen[mutated] {
		return
	}
	f.seen[mutated] = true
	if _, err := parse.Parse(strings.NewReader(mutated), f.name); err != nil {
		return
	}
	m := &Mutant{Group: strings.TrimPrefix(f.name, "scripts/"), Operator: operator, File: f.name, edits: []edit{change}}
	m.describe(f.text, change)
	if m.From != m.To {
		f.all = append(f.all, m)
	}
}

func (f *luaFile) source(n *luaNode) string { return f.text[n.from:n.to] }

// visit adds the mutants of a node and of its parts. inIndex is true inside KEYS[...] and ARGV[...].
func (f *luaFile) visit(n *luaNode, inIndex bool) {
	switch n.kind {
	case "return", "break", "assignment", "call statement":
		f.add("drop", n.from, n.to, "")
	case "call":
		f.call(n)
	case "string":
		f.kind(n)
	case "condition":
		f.negate(n.parts[0])
	case "binary":
		f.binary(n)
	case "unary":
		if n.op.text == "not" || n.op.text == "-" {
			f.add("turn", n.from, n.parts[0].from, "")
		}
	case "number":
		f.number(n, inIndex)
	case "name":
		switch f.source(n) {
		case "true":
			f.add("turn", n.from, n.to, "false")
		case "false":
			f.add("turn", n.from, n.to, "true")
		}
	case "field":
		switch f.source(n) {
		case "math.max":
			f.add("extreme", n.from, n.to, "math.min")
		case "math.min":
			f.add("extreme", n.from, n.to, "math.max")
		}
	case "index":
		if of := f.source(n.parts[0]); of == "KEYS" || of == "ARGV" {
			inIndex = true
			f.add("number", n.parts[1].to, n.parts[1].to, " + 1")
		}
	}
	for _, part := range n.parts {
		f.visit(part, inIndex)
	}
}

// negate turns a condition round, but for those that other mutants turn round: a comparison, and what has "not" before it.
func (f *luaFile) negate(condition *luaNode) {
	_, compares := luaSwaps[condition.op.text]
	if condition.op.text != "not" && (!compares || condition.op.text == "and" || condition.op.text == "or") {
		f.add("turn", condition.from, condition.to, "not ("+f.source(condition)+")")
	}
}

// luaSwaps are what operators become.
var luaSwaps = map[string][]string{
	"==": {"~="}, "~=": {"=="}, "<": {"<=", ">="}, "<=": {"<", ">"}, ">": {">=", "<="}, ">=": {">", "<"},
	"and": {"or"}, "or": {"and"}, "+": {"-"}, "-": {"+"}, "*": {"/"}, "/": {"*"}, "%": {"*"},
}

// luaOperator is what kind of mistake the ith of luaSwaps is.
func luaOperator(op string, i int) string {
	switch op {
	case "and", "or":
		return "join"
	case "+", "-", "*", "/", "%":
		return "arithmetic"
	case "<", "<=", ">", ">=":
		if i == 0 {
			return "boundary"
		}
	}
	return "turn"
}

func (f *luaFile) binary(n *luaNode) {
	for i, other := range luaSwaps[n.op.text] {
		f.add(luaOperator(n.op.text, i), n.op.from, n.op.to, other)
	}
	if n.op.text != "and" && n.op.text != "or" {
		return
	}
	left, right := n.parts[0], n.parts[1]
	f.add("join", n.from, n.to, f.source(left))
	f.add("join", n.from, n.to, f.source(right))
	if left.kind == "call" { // it is called, and nobody looks at what it answers
		if n.op.text == "or" {
			f.add("unseen", left.to, left.to, " and nil")
		} else {
			f.add("unseen", n.from, left.to, "("+f.source(left)+" or true)")
		}
	}
}

const luaExact = 1 << 53 // a number of Lua below it is exact

// number makes a constant one larger; that of an index also one smaller.
func (f *luaFile) number(n *luaNode, inIndex bool) {
	value, err := strconv.ParseInt(f.source(n), 10, 64)
	if err != nil || value >= luaExact {
		return
	}
	f.add("number", n.from, n.to, strconv.FormatInt(value+1, 10))
	if inIndex && value > 0 {
		f.add("number", n.from, n.to, strconv.FormatInt(value-1, 10))
	}
}

// call exchanges neighbours among the values of a call that are names, but for the key, or what stands in its place. Of a smallest or
// largest value it forgets all operands but one.
func (f *luaFile) call(n *luaNode) {
	if len(n.parts) < 2 {
		return
	}
	values, first := n.parts[1].parts, 1
	switch f.source(n.parts[0]) {
	case "math.min", "math.max":
		for _, value := range values {
			f.add("extreme", n.from, n.to, f.source(value))
		}
		return
	case "call":
		first = 2
	}
	for i := first + 1; i < len(values); i++ {
		if a, b := values[i-1], values[i]; f.named(a) && f.named(b) {
			f.add("exchange", a.from, b.to, f.source(b)+f.text[a.to:b.from]+f.source(a))
		}
	}
}

// named reports whether a node is the name of a value.
func (f *luaFile) named(n *luaNode) bool {
	return n.kind == "name" && !slices.Contains([]string{"nil", "true", "false", "..."}, f.source(n))
}

// kind takes what a lock is held for, or how a message is sent, for the other.
func (f *luaFile) kind(n *luaNode) {
	for _, pair := range [][2]string{{"'read'", "'write'"}, {"'PUBLISH'", "'SPUBLISH'"}} {
		if i := slices.Index(pair[:], f.source(n)); i >= 0 {
			f.add("kind", n.from, n.to, pair[1-i])
		}
	}
}
