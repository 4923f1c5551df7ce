package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// choices are values that take the place of others when mutants are switched on. A value may have several.
type choices struct {
	*goSites
	all []choice
}

type choice struct {
	place  ast.Expr
	number int
	other  string // "": nothing, the zero of its type
}

func (c *choices) add(number int, place ast.Expr, other string) {
	c.all = append(c.all, choice{place, number, other})
}

// put puts them in, and answers what closes them.
func (c *choices) put() func() {
	if c.all == nil {
		return nil
	}
	for _, one := range c.all {
		from, _ := c.span(one.place)
		helper := "mutantChoice"
		if one.other == "" {
			helper = "mutantNothing"
		}
		c.goSites.put(from, "%s(%d, ", helper, one.number)
	}
	return func() {
		for i := len(c.all) - 1; i >= 0; i-- {
			one := c.all[i]
			_, to := c.span(one.place)
			if one.other != "" {
				c.goSites.put(to, ", %s", one.other)
			}
			c.goSites.put(to, ")")
		}
	}
}

// exchange has two values change places, if they are of one type and only say what they are.
func (c *choices) exchange(a, b ast.Expr) {
	if !c.plain(a) || !c.plain(b) || !c.alike(a, b) || c.source(a) == c.source(b) || c.info.Types[a].Value != nil && c.info.Types[b].Value != nil {
		return
	}
	from, middle := c.span(a)
	begins, to := c.span(b)
	n := c.mutant("exchange", from, to, c.source(b)+c.file.text[middle:begins]+c.source(a))
	c.add(n, a, c.source(b))
	c.add(n, b, c.source(a))
}

// kind has a constant of a kind be another one: where there is a reader's and a writer's the other's, else the next.
func (c *choices) kind(e ast.Expr) {
	other := c.sibling(e)
	if other == "" {
		return
	}
	from, to := c.span(e)
	c.add(c.mutant("kind", from, to, other), e, other)
}

// plain reports whether a value is a name, a field or a constant.
func (c *choices) plain(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e.Name != "nil" && e.Name != "_"
	case *ast.BasicLit:
		return true
	case *ast.SelectorExpr:
		return c.plain(e.X)
	}
	return false
}

func (c *choices) alike(a, b ast.Expr) bool {
	t, u := c.info.TypeOf(a), c.info.TypeOf(b)
	return t != nil && u != nil && types.Identical(t, u) && usable(t)
}

// usable reports whether a helper can be made for the type of a value.
func usable(t types.Type) bool {
	switch t := t.(type) {
	case *types.Basic:
		return t.Info()&types.IsUntyped == 0 && t.Kind() != types.Invalid
	case *types.Signature, *types.Tuple:
		return false
	}
	return true
}

// sibling is another constant of the same type and package; "": the value is no constant of a kind.
func (c *choices) sibling(e ast.Expr) string {
	name, prefix := ast.Unparen(e), ""
	if selector, is := name.(*ast.SelectorExpr); is {
		name, prefix = selector.Sel, c.source(selector.X)+"."
	}
	ident, is := name.(*ast.Ident)
	if !is {
		return ""
	}
	constant, is := c.info.Uses[ident].(*types.Const)
	if !is || constant.Pkg() == nil || !strings.HasPrefix(constant.Pkg().Path(), module) && constant.Pkg().Path() != c.path {
		return ""
	}
	named, is := constant.Type().(*types.Named)
	if !is || named.Obj().Pkg() != constant.Pkg() {
		return ""
	}
	if basic, is := named.Underlying().(*types.Basic); !is || basic.Info()&types.IsInteger == 0 {
		return ""
	}
	scope := constant.Pkg().Scope()
	is1 := func(name string) bool {
		other, is := scope.Lookup(name).(*types.Const)
		return is && other != constant && types.Identical(other.Type(), constant.Type()) && (prefix == "" || other.Exported())
	}
	for from, to := range map[string]string{"Read": "Write", "Write": "Read"} {
		if other := strings.Replace(constant.Name(), from, to, 1); strings.Contains(constant.Name(), from) && is1(other) {
			return prefix + other
		}
	}
	next := ""
	for _, other := range scope.Names() {
		if is1(other) && (next == "" || follows(constant, scope.Lookup(next), scope.Lookup(other))) {
			next = other
		}
	}
	if next == "" {
		return ""
	}
	return prefix + next
}

// follows reports whether a constant that is declared at b comes earlier behind of than one at a; the first comes behind the last.
func follows(of, a, b types.Object) bool {
	if (a.Pos() > of.Pos()) != (b.Pos() > of.Pos()) {
		return b.Pos() > of.Pos()
	}
	return b.Pos() < a.Pos()
}

// module is where kinds are told from others' constants.
const module = "github.com/wheellock/wheellock"

// call exchanges neighbours among the values of a call, and kinds. Of a smallest or largest value it makes the other, or forgets one.
func (s *goSites) call(n *ast.CallExpr) func() {
	c := &choices{goSites: s}
	kind := s.info.Types[n.Fun]
	name := s.source(n.Fun)
	if kind.IsType() {
		return nil
	}
	if kind.IsBuiltin() && (name == "min" || name == "max") {
		return s.extreme(n, name)
	}
	if kind.IsBuiltin() && name != "copy" || n.Ellipsis != token.NoPos {
		return nil
	}
	for i, e := range n.Args {
		c.kind(e)
		if i > 0 {
			c.exchange(n.Args[i-1], e)
		}
	}
	return c.put()
}

// extreme is a call of min or max: the other one, or all operands but one are forgotten. That which is assigned to is not left alone:
// the assignment would be left out, which is another mutant.
func (s *goSites) extreme(n *ast.CallExpr, name string) func() {
	from, to := s.span(n)
	_, behind := s.span(n.Fun)
	other := map[string]string{"min": "max", "max": "min"}[name]
	first := s.mutant("extreme", from, behind, other)
	for _, e := range n.Args {
		if s.assignee[n] != s.source(e) {
			s.mutant("extreme", from, to, s.source(e))
		} else {
			*s.number++
		}
	}
	s.puts = append(s.puts, edit{from, behind, map[string]string{"min": "mutantMin", "max": "mutantMax"}[name]})
	open, _ := s.span(n.Args[0])
	s.put(open, "%d, ", first)
	return nil
}

// literal exchanges neighbours among the fields of a literal of a struct, and kinds, and leaves fields out.
func (s *goSites) literal(n *ast.CompositeLit) func() {
	if _, is := s.info.TypeOf(n).Underlying().(*types.Struct); !is {
		return nil
	}
	c := &choices{goSites: s}
	var last ast.Expr
	for _, e := range n.Elts {
		field, keyed := e.(*ast.KeyValueExpr)
		if !keyed {
			return nil
		}
		c.kind(field.Value)
		if last != nil {
			c.exchange(last, field.Value)
		}
		last = field.Value
		key, named := field.Key.(*ast.Ident)
		if t := s.info.TypeOf(field.Value); named && s.info.Types[field.Value].Value == nil && usable(t) && s.info.Uses[key] != nil && types.Identical(t, s.info.Uses[key].Type()) {
			from, to := s.span(field)
			c.add(s.mutant("part", from, to, ""), field.Value, "")
		}
	}
	return c.put()
}

// reversible reports whether what is assigned is a field, which could be assigned to.
func (s *goSites) reversible(to, from ast.Expr) bool {
	c := &choices{goSites: s}
	_, field := from.(*ast.SelectorExpr)
	return field && s.info.Types[from].Addressable() && c.plain(to) && c.plain(from) && c.alike(to, from)
}

// assigned exchanges neighbours among the values of an assignment, and kinds, and leaves one of several out.
func (s *goSites) assigned(n *ast.AssignStmt) func() {
	if n.Tok != token.ASSIGN && n.Tok != token.DEFINE || len(n.Lhs) != len(n.Rhs) {
		return nil
	}
	c := &choices{goSites: s}
	for i, e := range n.Rhs {
		s.assignee[e] = s.source(n.Lhs[i])
		c.kind(e)
		if i > 0 {
			c.exchange(n.Rhs[i-1], e)
		}
		if place := n.Lhs[i]; n.Tok == token.ASSIGN && len(n.Lhs) > 1 && c.plain(place) && s.info.Types[e].Value == nil && c.alike(place, e) {
			from, to := s.span(e)
			c.add(s.mutant("part", from, to, s.source(place)), e, s.source(place))
		}
	}
	return c.put()
}
