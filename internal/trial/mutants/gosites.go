package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
)

// goSites rewrites one file so that it contains every mutant, and lists them. What is put in asks for the number that is switched on
// (switch.go.txt); no line is added, so places in the file stay what they are.
type goSites struct {
	*goPackage
	file   *goFile
	number *int // the last one given, of all packages
	puts   []edit
	all    []*Mutant
	leaves map[ast.Expr]bool // conditions that may be turned round
	drops  map[ast.Stmt]bool // statements of blocks: others cannot be left out

	assignee map[ast.Expr]string // to what the value of an expression is assigned
}

// mutateGo gives the mutants of a file, and its text with all of them in it.
func mutateGo(p *goPackage, f *goFile, number *int) ([]*Mutant, string) {
	s := &goSites{goPackage: p, file: f, number: number, leaves: make(map[ast.Expr]bool), drops: make(map[ast.Stmt]bool),
		assignee: make(map[ast.Expr]string)}
	for _, d := range f.syntax.Decls {
		if function, is := d.(*ast.FuncDecl); is && function.Body != nil && !prints(function) {
			s.visit(function.Body)
		} else if d, is := d.(*ast.GenDecl); is && d.Tok == token.VAR {
			s.visit(d)
		}
	}
	return s.all, apply(f.text, s.puts)
}

// mutant notes one, as the change of the text that it stands for, and answers its number.
func (s *goSites) mutant(operator string, from, to int, text string) int {
	*s.number++
	m := &Mutant{Group: s.name, Operator: operator, File: s.file.name, number: *s.number}
	m.describe(s.file.text, edit{from, to, text})
	s.all = append(s.all, m)
	return *s.number
}

func (s *goSites) put(at int, format string, args ...any) {
	s.puts = append(s.puts, edit{at, at, fmt.Sprintf(format, args...)})
}

func (s *goSites) source(n ast.Node) string { return s.file.source(s.goPackage, n) }

// visit puts in the mutants of a node and of what is in it: before, then inside, then behind.
func (s *goSites) visit(root ast.Node) {
	var behind []func()
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			last := behind[len(behind)-1]
			behind = behind[:len(behind)-1]
			if last != nil {
				last()
			}
			return true
		}
		if s.skipped(n) {
			return false
		}
		behind = append(behind, s.enter(n))
		return true
	})
}

// skipped are constants, types, and what only says something, or stands still where a build tag asks for it.
func (s *goSites) skipped(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.VAR
	case *ast.ArrayType, *ast.StructType, *ast.InterfaceType, *ast.MapType, *ast.FuncType, *ast.ChanType:
		return true
	case *ast.CallExpr:
		said := s.source(n.Fun)
		return said == "panic" || said == "recover" || said == "fmt.Errorf" || said == "errors.New" || said == "stall.At" || logs.MatchString(said)
	case ast.Expr:
		return s.info.Types[n].Value != nil && !isLiteralBool(n)
	}
	return false
}

var logs = regexp.MustCompile(`\b(?:slog|logger|log)\.\w+$`)

func isLiteralBool(n ast.Expr) bool {
	name, is := n.(*ast.Ident)
	return is && (name.Name == "true" || name.Name == "false")
}

// enter puts in what comes before a node, and answers what is to be done behind it. What is put in last is closed first.
func (s *goSites) enter(n ast.Node) (behind func()) {
	var closers []func()
	add := func(close func()) {
		if close != nil {
			closers = append(closers, close)
		}
	}
	switch n := n.(type) {
	case *ast.IfStmt:
		s.leaf(n.Cond)
	case *ast.ForStmt:
		s.leaf(n.Cond)
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, c := range n.Body.List {
				for _, condition := range c.(*ast.CaseClause).List {
					s.leaf(condition)
				}
			}
		}
	case *ast.ReturnStmt:
		for _, e := range n.Results {
			s.leaf(e)
			s.constant(e)
		}
	case *ast.BlockStmt:
		s.mayDrop(n.List)
	case *ast.CaseClause:
		s.mayDrop(n.Body)
	case *ast.CommClause:
		s.mayDrop(n.Body)
	case *ast.BinaryExpr:
		return s.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			s.leaf(n)
		}
	case *ast.CompositeLit:
		add(s.literal(n))
	case *ast.CallExpr:
		if e := ast.Expr(n); s.leaves[e] {
			add(s.negated(e))
		}
		add(s.call(n))
		return together(closers)
	}
	if n, is := n.(ast.Stmt); is {
		if s.drops[n] {
			add(s.dropped(n))
		}
		if n, is := n.(*ast.AssignStmt); is {
			add(s.assigned(n))
		}
	}
	if e, is := n.(ast.Expr); is && (s.leaves[e] || isLiteralBool(e)) {
		add(s.negated(e))
	}
	return together(closers)
}

// together does all of these, the last one first.
func together(closers []func()) func() {
	if closers == nil {
		return nil
	}
	return func() {
		for _, close := range slices.Backward(closers) {
			close()
		}
	}
}
