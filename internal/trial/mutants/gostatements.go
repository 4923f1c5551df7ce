package main

import (
	"go/ast"
	"go/token"
)

// mayDrop marks the statements of a list that may be left out, one at a time: calls, assignments, and "continue".
func (s *goSites) mayDrop(list []ast.Stmt) {
	for _, statement := range list {
		switch n := statement.(type) {
		case *ast.ExprStmt:
			s.drops[n] = !s.skipped(n.X)
		case *ast.AssignStmt:
			s.drops[n] = n.Tok != token.DEFINE
		case *ast.BranchStmt:
			s.drops[n] = n.Tok == token.CONTINUE
		case *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt:
			s.drops[n] = true
		}
	}
}

// dropped is a statement that is left out, does the opposite, or assigns the wrong way round.
func (s *goSites) dropped(statement ast.Stmt) func() {
	from, to := s.span(statement)
	operator, opposite := "opposite", ""
	switch n := statement.(type) {
	case *ast.AssignStmt:
		other := map[token.Token]string{token.ADD_ASSIGN: " -= ", token.SUB_ASSIGN: " += "}[n.Tok]
		if other != "" && isNumber(s.info.TypeOf(n.Lhs[0])) {
			opposite = s.source(n.Lhs[0]) + other + s.source(n.Rhs[0])
		}
		if n.Tok == token.ASSIGN && len(n.Lhs) == 1 && s.reversible(n.Lhs[0], n.Rhs[0]) {
			operator, opposite = "exchange", s.source(n.Rhs[0])+" = "+s.source(n.Lhs[0])
		}
	case *ast.IncDecStmt:
		opposite = s.source(n.X) + map[token.Token]string{token.INC: "--", token.DEC: "++"}[n.Tok]
	}
	if opposite != "" {
		s.put(from, "if mutantIs(%d) { %s } else ", s.mutant(operator, from, to, opposite), opposite)
	}
	s.put(from, "if !mutantIs(%d) { ", s.mutant("drop", from, to, ""))
	return func() { s.put(to, " }") }
}
