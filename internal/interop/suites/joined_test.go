package suites

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// declared is a declaration of their tests.
type declared struct {
	names []string // for a method that of its type
	text  string
	uses  map[string]bool // identifiers in it
	test  bool
}

// file is one of theirs.
type file struct {
	path, pkg string
	imports   map[string]string // name as it is used: the line of the import
	decls     []*declared
}

// readFile takes a test file apart.
func readFile(tb testing.TB, path string) *file {
	tb.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		tb.Fatal(err)
	}
	f := &file{path: path, pkg: parsed.Name.Name, imports: make(map[string]string)}
	for _, i := range parsed.Imports {
		name, from := "", strings.Trim(i.Path.Value, `"`)
		if i.Name != nil {
			name = i.Name.Name
		}
		f.imports[cmp.Or(name, called(from))] = fmt.Sprintf("%s %q", name, from)
	}
	for _, d := range parsed.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		one := &declared{names: namesOf(d), uses: make(map[string]bool)}
		one.text = string(src[set.Position(d.Pos()).Offset:set.Position(d.End()).Offset])
		ast.Inspect(d, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				one.uses[id.Name] = true
			}
			return true
		})
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
			name := f.Name.Name
			one.test = isTest.MatchString(name) && name != "TestMain"
		}
		f.decls = append(f.decls, one)
	}
	return f
}

var (
	isTest    = regexp.MustCompile(`^Test($|[^a-z])`)
	isVersion = regexp.MustCompile(`^v[0-9]+$`)
)

// called is the name of a package, as its import path usually tells.
func called(from string) string {
	dir, base := path.Split(from)
	if isVersion.MatchString(base) {
		base = path.Base(dir)
	}
	return strings.TrimPrefix(base, "go-")
}

// namesOf are what a declaration declares.
func namesOf(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				names = append(names, id.Name)
			}
			return len(names) == 0
		})
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					if n.Name != "_" {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

// joined is what the compiler is to see of a suite.
type joined struct {
	overlay string   // a file that says so to the go command
	tests   []string // that are compiled
	known   map[string]bool
}

// join writes it into a directory.
func (s *suite) join(tb testing.TB, dir string) joined {
	tb.Helper()
	shim, err := filepath.Abs(s.shim)
	if err != nil {
		tb.Fatal(err)
	}
	var files []*file
	for _, name := range theirTests(tb, filepath.Join(s.source(tb), s.dir), "*_test.go") {
		files = append(files, readFile(tb, name))
	}
	made := joined{overlay: filepath.Join(dir, "overlay.json"), known: make(map[string]bool)}
	ours := make(map[string]bool)
	for _, name := range theirTests(tb, shim, "ours_test.go") {
		for _, d := range readFile(tb, name).decls {
			for _, name := range d.names {
				ours[name] = true
			}
		}
	}
	keep := s.needed(files, ours, made.known)
	seen := make(map[string]string)
	for _, f := range files {
		text, tests := f.without(keep, s.inside)
		if text == "" {
			continue
		}
		base := filepath.Base(f.path)
		at := filepath.Join(shim, base)
		if _, err := os.Stat(at); err == nil {
			tb.Fatalf("there are two files %s, theirs and ours: rename ours", base)
		}
		seen[at] = write(tb, filepath.Join(dir, base), []byte(text))
		made.tests = append(made.tests, tests...)
	}
	replace, err := json.Marshal(map[string]any{"Replace": seen})
	if err != nil {
		tb.Fatal(err)
	}
	write(tb, made.overlay, replace)
	return made
}

// theirTests are the files of tests in a folder that have such a name.
func theirTests(tb testing.TB, folder, pattern string) []string {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil {
		tb.Fatal(err)
	}
	return names
}

func write(tb testing.TB, path string, text []byte) string {
	tb.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// without is a file with only these declarations, and what it imports for them; inside is a package whose names it uses as its own. The text
// is empty if nothing is left.
func (f *file) without(keep map[*declared]bool, inside string) (text string, tests []string) {
	imports, body := make(map[string]bool), ""
	for _, d := range f.decls {
		if !keep[d] {
			continue
		}
		body += "\n" + d.text + "\n"
		for name, line := range f.imports {
			if d.uses[name] || name == "." {
				imports[line] = true
			}
		}
		if d.test {
			tests = append(tests, d.names[0])
		}
	}
	if body == "" {
		return "", nil
	}
	if inside != "" {
		imports[fmt.Sprintf(". %q", inside)] = true
	}
	text = "package " + f.pkg + "\n"
	for line := range imports {
		text += "import " + line + "\n"
	}
	return text + body, tests
}

// needed are the tests of a suite and what they use, but for what is ours. known gets the names of all tests. A TestMain is not needed:
// servers start when they are asked for.
func (s *suite) needed(files []*file, ours, known map[string]bool) map[*declared]bool {
	keep := make(map[*declared]bool)
	by := make(map[string][]*declared)
	var todo []*declared
	for _, f := range files {
		for _, d := range f.decls {
			isOurs := func(name string) bool { return ours[name] }
			switch {
			case d.test && (s.about == nil || slices.ContainsFunc(s.about, func(name string) bool { return d.uses[name] })):
				known[d.names[0]] = true
				todo = append(todo, d)
			case !d.test && !slices.ContainsFunc(d.names, isOurs):
				for _, name := range d.names {
					by[name] = append(by[name], d)
				}
			}
		}
	}
	for len(todo) > 0 {
		d := todo[0]
		todo = todo[1:]
		if keep[d] {
			continue
		}
		keep[d] = true
		for name := range d.uses {
			todo = append(todo, by[name]...)
		}
	}
	return keep
}
