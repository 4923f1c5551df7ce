package main

import (
	"fmt"
	"regexp"
	"slices"
)

// luaNode is a piece of a Lua text, from one byte to another, with what it consists of.
type luaNode struct {
	kind     string // "call", "number", "binary" and so on: see luaParser
	from, to int
	op       luaToken   // of a binary or unary expression
	parts    []*luaNode // operands; the conditions and statements of a statement; the values of a list
}

// luaToken is a word, a number, a string or a sign.
type luaToken struct {
	text     string
	from, to int
}

var (
	luaWord   = regexp.MustCompile(`^[\w'"]`)
	luaSpace  = regexp.MustCompile(`^(?:\s|--[^\n]*)+`)
	luaTokens = regexp.MustCompile(`^(?:[A-Za-z_]\w*|\d+(?:\.\d+)?|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\.\.\.|\.\.|==|~=|<=|>=|[-+*/%^#<>=(){}\[\];:,.])`)
)

// luaParser reads the Lua that scripts are written in: Lua 5.1 without long strings and goto. gopher-lua's syntax tree knows the
// lines of statements and expressions, but not where on a line they begin and end.
type luaParser struct {
	tokens []luaToken
	at     int
}

// parseLua reads a text; what it cannot read is an error.
func parseLua(text string) (body *luaNode, err error) {
	p := &luaParser{}
	for at := 0; ; {
		at += len(luaSpace.FindString(text[at:]))
		if at == len(text) {
			break
		}
		word := luaTokens.FindString(text[at:])
		if word == "" {
			return nil, fmt.Errorf("no Lua at %.20q", text[at:])
		}
		p.tokens = append(p.tokens, luaToken{word, at, at + len(word)})
		at += len(word)
	}
	p.tokens = append(p.tokens, luaToken{"", len(text), len(text)})
	defer func() {
		if broken, is := recover().(luaError); is {
			err = fmt.Errorf("%s at %.30q", string(broken), text[p.peek().from:])
		}
	}()
	body = p.block("chunk")
	p.want("")
	return body, nil
}

// luaError is what the parser panics with.
type luaError string

func (p *luaParser) peek() luaToken { return p.tokens[p.at] }

func (p *luaParser) next() luaToken { p.at++; return p.tokens[p.at-1] }

func (p *luaParser) take(text string) bool {
	if p.peek().text != text {
		return false
	}
	p.at++
	return true
}

func (p *luaParser) want(text string) {
	if !p.take(text) {
		panic(luaError(fmt.Sprintf("want %q", text)))
	}
}

// node ends behind the last token that was taken.
func (p *luaParser) node(kind string, from int, parts ...*luaNode) *luaNode {
	return &luaNode{kind: kind, from: from, to: p.tokens[p.at-1].to, parts: parts}
}

func (p *luaParser) block(kind string) *luaNode {
	n := &luaNode{kind: kind, from: p.peek().from}
	for !slices.Contains([]string{"", "end", "else", "elseif", "until"}, p.peek().text) {
		if !p.take(";") {
			n.parts = append(n.parts, p.statement())
		}
	}
	n.to = p.peek().from
	return n
}

// body is a block and the end behind it.
func (p *luaParser) body() *luaNode {
	n := p.block("block")
	p.want("end")
	return n
}

func (p *luaParser) statement() *luaNode {
	first := p.peek()
	switch first.text {
	case "if":
		n := &luaNode{kind: "if", from: first.from}
		for p.take("if") || p.take("elseif") {
			condition := p.expression(0)
			p.want("then")
			n.parts = append(n.parts, &luaNode{kind: "condition", from: condition.from, to: condition.to, parts: []*luaNode{condition}}, p.block("block"))
		}
		if p.take("else") {
			n.parts = append(n.parts, p.block("block"))
		}
		p.want("end")
		n.to = p.tokens[p.at-1].to
		return n
	case "while":
		p.at++
		condition := p.expression(0)
		p.want("do")
		return p.node("while", first.from, condition, p.body())
	case "for":
		p.at++
		p.names()
		if !p.take("=") {
			p.want("in")
		}
		values := p.list("values")
		p.want("do")
		return p.node("for", first.from, values, p.body())
	case "do":
		p.at++
		return p.node("do", first.from, p.body())
	case "local":
		p.at++
		if p.take("function") {
			p.at++
			return p.node("local function", first.from, p.function())
		}
		if p.names(); p.take("=") {
			return p.node("local", first.from, p.list("values"))
		}
		return p.node("local", first.from)
	case "return":
		p.at++
		if slices.Contains([]string{"", "end", "else", "elseif", ";"}, p.peek().text) {
			return p.node("return", first.from)
		}
		return p.node("return", first.from, p.list("values"))
	case "break":
		p.at++
		return p.node("break", first.from)
	}
	target := p.list("values")
	if p.take("=") {
		return p.node("assignment", first.from, target, p.list("values"))
	}
	return p.node("call statement", first.from, target)
}

// names passes over some.
func (p *luaParser) names() {
	for p.at++; p.take(","); p.at++ {
	}
}

func (p *luaParser) list(kind string) *luaNode {
	from := p.peek().from
	parts := []*luaNode{p.expression(0)}
	for p.take(",") {
		parts = append(parts, p.expression(0))
	}
	return p.node(kind, from, parts...)
}

// function is the parameters and the body of one.
func (p *luaParser) function() *luaNode {
	p.want("(")
	if !p.take(")") {
		p.names()
		p.want(")")
	}
	return p.body()
}

// luaBinds says how strongly binary operators bind; those that bind to the right are not used by scripts but for "..".
var luaBinds = map[string]int{
	"or": 1, "and": 2, "<": 3, ">": 3, "<=": 3, ">=": 3, "~=": 3, "==": 3, "..": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6,
}

const luaUnaryBinds = 7

// expression reads one whose operators bind more strongly than least.
func (p *luaParser) expression(least int) *luaNode {
	first := p.peek()
	var n *luaNode
	switch first.text {
	case "not", "-", "#":
		p.at++
		operand := p.expression(luaUnaryBinds)
		n = p.node("unary", first.from, operand)
		n.op = first
	default:
		n = p.primary()
	}
	for luaBinds[p.peek().text] > least {
		op := p.next()
		right := p.expression(luaBinds[op.text])
		n = p.node("binary", first.from, n, right)
		n.op = op
	}
	return n
}

// primary is a value, with the calls and indexes behind it.
func (p *luaParser) primary() *luaNode {
	first := p.next()
	var n *luaNode
	switch c := first.text; {
	case c == "(":
		inner := p.expression(0)
		p.want(")")
		n = p.node("parentheses", first.from, inner)
	case c == "{":
		n = p.table(first)
	case c == "function":
		n = p.node("function", first.from, p.function())
	case c != "..." && !luaWord.MatchString(c):
		panic(luaError("want an expression"))
	case c[0] >= '0' && c[0] <= '9':
		n = p.node("number", first.from)
	case c[0] == '\'' || c[0] == '"':
		n = p.node("string", first.from)
	default:
		n = p.node("name", first.from)
	}
	for {
		switch {
		case p.take("."):
			p.at++
			n = p.node("field", first.from, n)
		case p.take("["):
			index := p.expression(0)
			p.want("]")
			n = p.node("index", first.from, n, index)
		case p.take("("):
			n = &luaNode{kind: "call", from: first.from, parts: []*luaNode{n}}
			if !p.take(")") {
				n.parts = append(n.parts, p.list("values"))
				p.want(")")
			}
			n.to = p.tokens[p.at-1].to
		default:
			return n
		}
	}
}

// table is what stands between braces: values, and names with values.
func (p *luaParser) table(first luaToken) *luaNode {
	n := &luaNode{kind: "table", from: first.from}
	for !p.take("}") {
		if p.tokens[p.at+1].text == "=" {
			p.at += 2
		}
		n.parts = append(n.parts, p.expression(0))
		if !p.take(",") {
			p.want("}")
			break
		}
	}
	n.to = p.tokens[p.at-1].to
	return n
}
