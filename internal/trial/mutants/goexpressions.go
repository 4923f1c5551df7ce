package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// leaf marks a condition to be turned round, if it is none that other mutants turn round.
func (s *goSites) leaf(e ast.Expr) {
	if e == nil || !isBool(s.info.TypeOf(e)) {
		return
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		s.leaf(e.X)
	case *ast.BinaryExpr:
	case *ast.UnaryExpr:
		if _, binary := ast.Unparen(e.X).(*ast.BinaryExpr); !binary {
			s.leaves[e] = true
		}
	default:
		s.leaves[e] = true
	}
}

func isBool(t types.Type) bool {
	basic, is := types.Unalias(t).(*types.Basic)
	return is && basic.Info()&types.IsBoolean != 0
}

// negated is a condition turned round.
func (s *goSites) negated(e ast.Expr) func() {
	from, to := s.span(e)
	text := "!" + s.source(e)
	switch {
	case text == "!true":
		text = "false"
	case text == "!false":
		text = "true"
	case strings.HasPrefix(text, "!!"):
		text = text[2:]
	}
	n := s.mutant("turn", from, to, text)
	s.put(from, "(")
	return func() { s.put(to, " != mutantIs(%d))", n) }
}

// compared are what comparisons become at their boundary, and what does it; turned are what they become turned round.
var (
	compared = map[token.Token]struct{ other, helper string }{
		token.LSS: {"<=", "mutantLess"}, token.LEQ: {"<", "mutantAtMost"}, token.GTR: {">=", "mutantMore"}, token.GEQ: {">", "mutantAtLeast"},
	}
	turned = map[token.Token]string{
		token.EQL: "!=", token.NEQ: "==", token.LSS: ">=", token.LEQ: ">", token.GTR: "<=", token.GEQ: "<",
	}
	calculated = map[token.Token]struct{ other, helper string }{
		token.ADD: {"-", "mutantSum"}, token.SUB: {"+", "mutantDifference"}, token.MUL: {"/", "mutantProduct"},
		token.QUO: {"*", "mutantQuotient"}, token.REM: {"*", "mutantRemainder"},
	}
	joined = map[token.Token]string{token.LAND: "||", token.LOR: "&&"}
)

func isNumber(t types.Type) bool {
	basic, is := t.Underlying().(*types.Basic)
	return is && basic.Info()&(types.IsInteger|types.IsFloat) != 0
}

func isOrdered(t types.Type) bool {
	basic, is := t.Underlying().(*types.Basic)
	return is && basic.Info()&types.IsOrdered != 0
}

// binary puts the mutants of an expression with two operands round it. Each operand is still evaluated once, in its order.
func (s *goSites) binary(n *ast.BinaryExpr) func() {
	from, to := s.span(n)
	at := s.fset.Position(n.OpPos).Offset
	behind := at + len(n.Op.String())
	if other := joined[n.Op]; other != "" {
		s.leaf(n.X)
		s.leaf(n.Y)
		k := s.mutant("join", at, behind, other)
		s.put(from, "(mutantIs(%d) && (%s %s %s) || !mutantIs(%[1]d) && (", k, s.source(n.X), other, s.source(n.Y))
		return func() { s.put(to, "))") }
	}
	if calculation, is := calculated[n.Op]; is && isNumber(s.info.TypeOf(n)) {
		s.put(from, "%s(%d, ", calculation.helper, s.mutant("arithmetic", at, behind, calculation.other))
		s.puts = append(s.puts, edit{at, behind, ","})
		return func() { s.put(to, ")") }
	}
	other := turned[n.Op]
	if other == "" {
		return nil
	}
	negation := s.mutant("turn", at, behind, other)
	s.put(from, "((")
	close := func() { s.put(to, ") != mutantIs(%d))", negation) }
	if comparison, is := compared[n.Op]; is && isOrdered(s.info.TypeOf(n.X)) {
		s.put(from, "%s(%d, ", comparison.helper, s.mutant("boundary", at, behind, comparison.other))
		s.puts = append(s.puts, edit{at, behind, ","})
		return func() { s.put(to, ")"); close() }
	}
	return close
}

// constant makes a whole number that is returned one larger.
func (s *goSites) constant(e ast.Expr) {
	t := s.info.TypeOf(e)
	if s.info.Types[e].Value == nil || !isNumber(t) {
		return
	}
	name := types.TypeString(t, func(p *types.Package) string {
		if p.Path() == s.path {
			return ""
		}
		return p.Name() + "."
	})
	if strings.Contains(name, ".") { // of another package, which the file may not import
		return
	}
	_, to := s.span(e)
	s.put(to, " + mutantOne[%s](%d)", name, s.mutant("result", to, to, " + 1"))
}
