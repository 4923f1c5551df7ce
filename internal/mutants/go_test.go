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
	p := &goPackage{name: "p", path: "p", fset: token.NewFileSet(), info: &types.Info{Types: make(map[ast.Expr]types.TypeAndValue)}}
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

// With every mutant in it a package is still one.
func TestRewrittenPackagesCompile(t *testing.T) {
	dir := t.TempDir()
	_, packages, laid, err := goMutants("../..", dir, []string{"futures"})
	if err != nil {
		t.Fatal(err)
	}
	if err := laid.build(packages[0].dir, dir+"/futures.test"); err != nil {
		t.Error(err)
	}
}
