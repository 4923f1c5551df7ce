package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// parsed is a package of one file, which imports nothing.
func parsed(t *testing.T, text string) *goPackage {
	t.Helper()
	p := &goPackage{name: "p", path: "p", fset: token.NewFileSet(), info: &types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object), Defs: make(map[*ast.Ident]types.Object),
	}}
	syntax, err := parser.ParseFile(p.fset, "p.go", text, 0)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p.files = []*goFile{{name: "p/p.go", text: text, syntax: syntax}}
	config := types.Config{Importer: importer.ForCompiler(p.fset, "source", nil)}
	if _, err := config.Check("p", p.fset, []*ast.File{syntax}, p.info); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func TestMutantsOfGo(t *testing.T) {
	for text, want := range map[string][]string{
		`func f(a, b int) bool { return a < b && a+1 != b }`: {
			"func f(a, b int) bool { return a < b || a+1 != b }",
			"func f(a, b int) bool { return a >= b && a+1 != b }",
			"func f(a, b int) bool { return a <= b && a+1 != b }",
			"func f(a, b int) bool { return a < b && a+1 == b }",
			"func f(a, b int) bool { return a < b && a-1 != b }",
		},
		`func f(a, b bool, x []int) (n int) {
	if !a || (b) {
		n++
		x[n] = 2
		println(n)
	}
	return 3
}`: {"if !a && (b) {", "if a || (b) {", "if !a || (!b) {", "n--", "", "", "", "return 3 + 1"},
		`func f(m map[string]int, s string) {
	for k := range m {
		if k == "x" {
			continue
		}
		m[s] -= len(s) * 2
	}
}`: {`if k != "x" {`, "", "m[s] += len(s) * 2", "", "m[s] -= len(s) / 2"},
		// What changes places: values, the sides of an assignment. What is left out: one value of several.
		`type t struct{ a, b int }

func f(x, y *t, a, b int, c, d []int) *t {
	y.a = a
	y.b = x.b
	x.a, x.b = b, a
	x.a = max(x.a, b)
	copy(c, d)
	return &t{a: a, b: b}
}`: {
			"", "x.b = y.b", "", "", "x.a, x.b = x.a, a", "x.a, x.b = a, b", "x.a, x.b = b, x.b",
			"", "x.a = min(x.a, b)", "x.a = b", "", "copy(d, c)",
			"return &t{, b: b}", "return &t{a: b, b: a}", "return &t{a: a, }",
		},
		`func f(g, h func(int), a int) int {
	g(a)
	a = 2
	b := a
	h(b)
	for a > b {
		g(b)
	}
	h(a)
	if a > b {
		return a
	}
	return b
}`: {
			"", "", "", "for a <= b {", "for a >= b {", "", "", "if a <= b {", "if a >= b {",
		},
		`type op int

const (
	none op = iota
	acquireRead
	acquireWrite
)

func f(o op) bool {
	if f(acquireRead) {
		return f(none)
	}
	return o == none
}`: {"if !f(acquireRead) {", "if f(acquireWrite) {", "return !f(none)", "return f(acquireRead)", "return o != none"},
		`type t int

func (t) String() string { if true { return "a" }; return "b" }`: nil,
		`const c = 1 << 2

var v = [c + 1]bool{true}

func f() { if v[0] { panic(!v[1]) } }`: {"var v = [c + 1]bool{false}", "func f() { if !v[0] { panic(!v[1]) } }"},
	} {
		text = "package p\n\n" + text + "\n"
		p := parsed(t, text)
		number := 0
		all, rewritten := mutateGo(p, p.files[0], &number)
		var got []string
		for _, m := range all {
			got = append(got, m.To)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\ngot  %q\nwant %q", text, got, want)
		}
		if strings.Count(rewritten, "\n") != strings.Count(text, "\n") {
			t.Errorf("lines were added:\n%s", rewritten)
		}
	}
}
