package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// order is where a statement stands among its neighbours when mutants are switched on.
type order struct {
	before []swap // statements that come before it
	behind []swap // statements that come behind it
	away   []int  // by which it stands elsewhere
}

// swap is a statement that is moved past a neighbour.
type swap struct {
	number int
	text   string
}

func (s *goSites) orderOf(n ast.Stmt) *order {
	if s.orders[n] == nil {
		s.orders[n] = new(order)
	}
	return s.orders[n]
}

// mayMove has neighbours of a list change places, one pair at a time, if that may make a difference: what is noted too early or too
// late, and who is told before it is true. One of them is a call or an assignment on one line: its copy stands on the other side.
func (s *goSites) mayMove(list []ast.Stmt) {
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if !s.depend(a, b) {
			continue
		}
		from, _ := s.span(a)
		_, to := s.span(b)
		_, ends := s.span(a)
		begins, _ := s.span(b)
		text := s.source(b) + s.file.text[ends:begins] + s.source(a)
		switch {
		case s.copied(b) && !declares(a, b):
			n := s.mutant("order", from, to, text)
			s.orderOf(a).before = append(s.orderOf(a).before, swap{n, s.source(b)})
			s.orderOf(b).away = append(s.orderOf(b).away, n)
		case s.copied(a) && !declares(b, a) && !(i == len(list)-1 && leaves(b)):
			n := s.mutant("order", from, to, text)
			s.orderOf(b).behind = append(s.orderOf(b).behind, swap{n, s.source(a)})
			s.orderOf(a).away = append(s.orderOf(a).away, n)
		}
	}
}

// moved puts the copies before and behind a statement. One that stands elsewhere is left out where it is.
func (s *goSites) moved(n ast.Stmt) func() {
	o := s.orders[n]
	if o == nil {
		return nil
	}
	from, to := s.span(n)
	for _, other := range o.before {
		s.put(from, "if mutantIs(%d) { %s }; ", other.number, other.text)
	}
	for _, number := range o.away {
		s.put(from, "if !mutantIs(%d) { ", number)
	}
	return func() {
		s.put(to, "%s", strings.Repeat(" }", len(o.away)))
		for _, other := range o.behind {
			s.put(to, "; if mutantIs(%d) { %s }", other.number, other.text)
		}
	}
}

// copied reports whether a statement may be written a second time.
func (s *goSites) copied(n ast.Stmt) bool {
	switch n.(type) {
	case *ast.ExprStmt, *ast.AssignStmt, *ast.IncDecStmt, *ast.SendStmt:
		return s.drops[n] && !strings.Contains(s.source(n), "\n")
	}
	return false
}

// declares reports whether a statement declares a name that the other one says.
func declares(a, other ast.Stmt) bool {
	declared := make(map[string]bool)
	switch a := a.(type) {
	case *ast.AssignStmt:
		if a.Tok == token.DEFINE {
			for _, e := range a.Lhs {
				declared[final(e).Name] = true
			}
		}
	case *ast.DeclStmt, *ast.LabeledStmt:
		return true
	}
	for name := range identifiers(other) {
		if declared[name] {
			return true
		}
	}
	return false
}

// leaves reports whether a function may end with this statement, so that nothing can stand behind it.
func leaves(n ast.Stmt) (leaves bool) {
	switch n := n.(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.ForStmt:
		if n.Cond == nil {
			return true
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		result, is := n.(*ast.ReturnStmt)
		leaves = leaves || is && result.Results != nil
		return true
	})
	return leaves
}

// depend reports whether the order of two statements may matter: one writes what the other mentions, itself or by what it calls.
// Two calls change places unseen in most code of an actor, for nothing is sent before its step ends.
func (s *goSites) depend(a, b ast.Stmt) bool { return s.disturbs(a, b) || s.disturbs(b, a) }

func (s *goSites) disturbs(a, b ast.Stmt) (disturbs bool) {
	said := s.mentioned(b)
	writes := func(e ast.Expr) {
		disturbs = disturbs || said[s.info.Uses[final(e)]]
	}
	ast.Inspect(a, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				writes(e)
			}
		case *ast.IncDecStmt:
			writes(n.X)
		}
		return true
	})
	return disturbs
}

// mentioned are the variables and fields in a piece of code, and in the functions of the package that it names.
func (p *goPackage) mentioned(n ast.Node) map[types.Object]bool {
	all := make(map[types.Object]bool)
	var follow func(found map[types.Object]bool)
	follow = func(found map[types.Object]bool) {
		for object := range found {
			if !all[object] {
				all[object] = true
				follow(p.functions()[object])
			}
		}
	}
	follow(p.uses(n))
	return all
}

// functions are what the bodies of functions and methods use.
func (p *goPackage) functions() map[types.Object]map[types.Object]bool {
	if p.bodies == nil {
		p.bodies = make(map[types.Object]map[types.Object]bool)
		for _, f := range p.files {
			for _, d := range f.syntax.Decls {
				if function, is := d.(*ast.FuncDecl); is && function.Body != nil {
					p.bodies[p.info.Defs[function.Name]] = p.uses(function.Body)
				}
			}
		}
	}
	return p.bodies
}

func (p *goPackage) uses(n ast.Node) map[types.Object]bool {
	all := make(map[types.Object]bool)
	ast.Inspect(n, func(n ast.Node) bool {
		if name, is := n.(*ast.Ident); is && p.info.Uses[name] != nil {
			all[p.info.Uses[name]] = true
		}
		return true
	})
	return all
}

// final is the last name of what is assigned to.
func final(e ast.Expr) *ast.Ident {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return final(e.X)
	case *ast.StarExpr:
		return final(e.X)
	}
	return nil
}
