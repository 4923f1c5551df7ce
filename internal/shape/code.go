package shape

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// code is the packages of the product and of the harness, without their tests.
type code struct {
	root     string
	fset     *token.FileSet
	packages map[string]*packages.Package // by folder
}

const module = "github.com/wheellock/wheellock"

// load reads every package of the module that root is of.
func load(root string) (*code, error) {
	c := &code{root: root, fset: token.NewFileSet(), packages: make(map[string]*packages.Package)}
	all, err := packages.Load(&packages.Config{
		Dir: root, Fset: c.fset,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
	}, "./...")
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		for _, e := range p.Errors {
			return nil, e
		}
		c.packages[strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, module), "/")] = p
	}
	return c, nil
}

// under are the packages of a folder and of those below it.
func (c *code) under(folder string) (some []*packages.Package) {
	for _, path := range slices.Sorted(maps.Keys(c.packages)) {
		if path == folder || strings.HasPrefix(path, folder+"/") {
			some = append(some, c.packages[path])
		}
	}
	return some
}

func (c *code) figures() (all []figure, err error) {
	most := func(what string, is, most int, where ...any) {
		all = append(all, figure{what, is, most, fmt.Sprint(where...)})
	}
	lines := func(what string, limit int, suffix *regexp.Regexp, folders ...string) {
		n := 0
		err = errors.Join(err, c.walk(folders, suffix, func(_, text string) error { n += strings.Count(text, "\n"); return nil }))
		most(what, n, limit)
	}
	gate := c.packages["dispatcher/gate"]
	methods, name := c.biggest(callable)
	most("methods that can be called on a type, promoted ones with them", methods, 60, name)
	depth, name := c.biggest(embedding)
	most("depth of embedding in the product", depth, 2, name)
	up, upErr := c.upward()
	most("imports between folders of the tree that run back up", len(up), 0, up)
	places, wordsErr := c.riddles()
	most("packages and documents with over 1 who, whom, whose, whoever in 1,000 words", len(places), 0, places)
	tables := c.tables()
	most("tables of operations", len(tables), 1, tables)
	scripts, constants := 0, 0
	err = errors.Join(upErr, wordsErr, c.walk([]string{"scripts"}, lua, func(string, string) error { scripts++; return nil }))
	most("Lua files", scripts, 26)
	for _, name := range gate.Types.Scope().Names() {
		if of, is := gate.Types.Scope().Lookup(name).(*types.Const); is && !strings.HasPrefix(of.Type().String(), module) { // no enumeration
			constants++
		}
	}
	most("constants of gate", constants, 40)
	most("receivers of gate that may be nil", c.nilReceivers(gate), 8)
	lines("lines of the core, Go and Lua", 19_500, sources, product...)
	lines("lines of laboratory and tools", 30_000, golang, harness...)
	lines("lines of tests", 52_000, tests, folders...)
	return all, err
}

// product yields the packages of what users get.
func (c *code) product(yield func(*packages.Package) bool) {
	for _, folder := range product {
		for _, p := range c.under(folder) {
			if !yield(p) {
				return
			}
		}
	}
}

// declared yields every function of the product, with its package.
func (c *code) declared(yield func(*packages.Package, *ast.FuncDecl) bool) {
	for p := range c.product {
		for _, f := range p.Syntax {
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && !yield(p, d) {
					return
				}
			}
		}
	}
}

// upward are the imports that lead from a lower folder of the tree to a higher one, in any of its modules and without tests.
func (c *code) upward() (up []string, err error) {
	err = c.walk(folders, golang, func(path, text string) error {
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		from := slices.Index(folders, top(path))
		for _, i := range file.Imports {
			if to, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module+"/"); ours && slices.Index(folders, top(to)) > from {
				up = append(up, path+" -> "+to)
			}
		}
		return nil
	})
	return up, err
}

// top is the folder of the root that a path is in.
func top(path string) string {
	name, _, _ := strings.Cut(filepath.ToSlash(path), "/")
	return name
}

// receiver is the name of the type that a method is of.
func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.Ident:
			return of.Name
		default:
			return "?"
		}
	}
}

// What walk looks for.
var (
	golang  = regexp.MustCompile(`\.go$`)
	lua     = regexp.MustCompile(`\.lua$`)
	sources = regexp.MustCompile(`\.(go|lua)$`)
	prose   = regexp.MustCompile(`\.(go|lua|md)$`)
	tests   = regexp.MustCompile(`_test\.go$`)
)

// walk calls visit with every file below folders that which matches, and its path below the root. Tests have to be asked for.
func (c *code) walk(folders []string, which *regexp.Regexp, visit func(path, text string) error) error {
	for _, folder := range folders {
		err := fs.WalkDir(os.DirFS(c.root), folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !which.MatchString(path) || tests.MatchString(path) != (which == tests) || strings.Contains(path, "/testdata/") {
				return err
			}
			text, err := os.ReadFile(filepath.Join(c.root, path))
			if err != nil {
				return err
			}
			return visit(path, string(text))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
