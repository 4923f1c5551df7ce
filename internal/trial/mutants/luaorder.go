package main

import (
	"regexp"
	"slices"
	"strings"
)

// order has neighbours of a list of statements change places, one pair at a time, if that may make a difference: both call something
// and one of them changes something in Redis, or one assigns what the other says. A name is not said before it is declared.
func (f *luaFile) order(list []*luaNode) {
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if !moves(a) || !moves(b) || f.isBlock(a) && f.isBlock(b) || f.says(b, a.names) || f.says(a, b.names) {
			continue
		}
		if f.calls(a) && f.calls(b) && (f.changes(a) || f.changes(b)) || f.says(b, f.assigned(a)) || f.says(a, f.assigned(b)) {
			f.add("order", a.from, b.to, f.source(b)+f.text[a.to:b.from]+f.source(a))
		}
	}
}

// moves reports whether a statement may stand elsewhere in its list.
func moves(n *luaNode) bool {
	return slices.Contains([]string{"assignment", "call statement", "local", "if", "for"}, n.kind)
}

// isBlock reports whether a statement is the block of a verb: no script has two of them.
func (f *luaFile) isBlock(n *luaNode) bool { return strings.HasPrefix(f.source(n), "if VERB == ") }

var luaName = regexp.MustCompile(`[A-Za-z_]\w*`)

// says reports whether one of the names is in the text of a node.
func (f *luaFile) says(n *luaNode, names []string) bool {
	return slices.ContainsFunc(luaName.FindAllString(f.source(n), -1), func(word string) bool { return slices.Contains(names, word) })
}

// assigned is the names to which a node, or a part of it, assigns: the first of each, which is a table if there are more.
func (f *luaFile) assigned(n *luaNode) (names []string) {
	if n.kind == "assignment" {
		for _, target := range n.parts[0].parts {
			names = append(names, luaName.FindString(f.source(target)))
		}
	}
	for _, part := range n.parts {
		names = append(names, f.assigned(part)...)
	}
	return names
}

// calls reports whether a node calls what may ask Redis, or a function of a script.
func (f *luaFile) calls(n *luaNode) bool {
	return n.kind == "call" && !luaPure.MatchString(f.source(n.parts[0])) || slices.ContainsFunc(n.parts, f.calls)
}

// luaPure are functions that only calculate.
var luaPure = regexp.MustCompile(`^(?:tonumber|tostring|type|ipairs|pairs|unpack|(?:math|string|table)\.\w+)$`)

// changes reports whether a node may change something in Redis, or say something to others: by a command that does more than ask, or by
// a function of which that can be said.
func (f *luaFile) changes(n *luaNode) bool {
	text := f.source(n)
	for _, command := range luaCommand.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(luaQuestions, command[1]) {
			return true
		}
	}
	return f.says(n, f.writers)
}

var luaCommand = regexp.MustCompile(`(?:call\(|ask\(l, )'([A-Z]+)'`)

// luaQuestions are commands that change nothing.
var luaQuestions = strings.Fields("EXISTS GET HEXISTS HGET HGETALL HLEN HMGET LINDEX LLEN LRANGE MEMORY PTTL PUBSUB TIME TYPE ZCARD ZCOUNT ZRANGE ZSCORE")

// luaWriters are the functions of scripts that change something, by themselves or by others.
func luaWriters(texts []string) (writers []string, err error) {
	for before := -1; before != len(writers); {
		before = len(writers)
		for _, text := range texts {
			body, err := parseLua(text)
			if err != nil {
				return nil, err
			}
			f := &luaFile{text: text, writers: writers}
			for _, n := range body.parts {
				if n.kind == "local function" && !slices.Contains(writers, n.names[0]) && f.changes(n.parts[0]) {
					writers = append(writers, n.names[0])
				}
			}
		}
	}
	return writers, nil
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

// asText compares numbers as texts, or texts as numbers. What is compared with a constant is left alone.
func (f *luaFile) asText(n *luaNode) {
	as := map[string]string{"<": "tostring", "<=": "tostring", ">": "tostring", ">=": "tostring", "==": "tonumber", "~=": "tonumber"}[n.op.text]
	a, b := n.parts[0], n.parts[1]
	if as == "" || f.constant(a) || f.constant(b) {
		return
	}
	f.add("text", n.from, n.to, as+"("+f.source(a)+") "+n.op.text+" "+as+"("+f.source(b)+")")
}

func (f *luaFile) constant(n *luaNode) bool {
	return n.kind == "number" || n.kind == "string" || n.kind == "unary" || n.kind == "name" && !f.named(n)
}
