package shape

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
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

func (c *code) figures() ([]figure, error) {
	up, err := c.upward()
	if err != nil {
		return nil, err
	}
	median, most := c.functions()
	biggest, methods := c.biggest()
	figures := []figure{
		{"functions of the product, lines: median / 95 %", fmt.Sprintf("%d / %d", median, most), "at most 9 / 34", median <= 9 && most <= 34},
		{"imports between folders of the tree that run back up", fmt.Sprint(len(up), " ", up), "none", len(up) == 0},
		{"methods of the biggest type", fmt.Sprintf("%s, %d", biggest, methods), "at most 35", methods <= 35},
	}
	for _, folder := range []string{"dispatcher/gate", "dispatcher", "cmd/loadgen"} {
		share := c.comments(folder)
		figures = append(figures, figure{"comments of " + folder + ", share of lines", fmt.Sprintf("%d %%", share), "14 to 28 %", share >= 14 && share <= 28})
	}
	for _, p := range c.under("dispatcher") {
		uses := c.uses(p)
		back, all := backward(uses), len(uses)
		name := strings.TrimPrefix(p.PkgPath, module+"/")
		figures = append(figures, figure{"uses between files of " + name + " that run back up", fmt.Sprintf("%d of %d", back, all), "under 20", back < 20})
	}
	own, err := c.lines(product)
	if err != nil {
		return nil, err
	}
	other, err := c.lines(harness)
	return append(figures,
		figure{"lines of the product", fmt.Sprint(own), "under 13,000", own < 13_000},
		figure{"lines of the harness", fmt.Sprint(other), "under 13,500", other < 13_500},
	), err
}

// declared yields every function of the product, with its package.
func (c *code) declared(yield func(*packages.Package, *ast.FuncDecl) bool) {
	for _, folder := range product {
		for _, p := range c.under(folder) {
			for _, f := range p.Syntax {
				for _, d := range f.Decls {
					if d, ok := d.(*ast.FuncDecl); ok && !yield(p, d) {
						return
					}
				}
			}
		}
	}
}

// functions are how many lines a function of the product has: half of them at most median, 95 of 100 at most most.
func (c *code) functions() (median, most int) {
	var lines []int
	for _, d := range c.declared {
		if d.Body != nil {
			lines = append(lines, c.line(d.End())-c.line(d.Pos())+1)
		}
	}
	slices.Sort(lines)
	return lines[len(lines)/2], lines[len(lines)*95/100]
}

func (c *code) line(at token.Pos) int { return c.fset.Position(at).Line }

// upward are the imports that lead from a lower folder of the tree to a higher one, in any of its modules and without tests.
func (c *code) upward() (up []string, err error) {
	err = c.walk(folders, func(path string, text []byte) error {
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

// biggest is the type of the product with the most methods of its own.
func (c *code) biggest() (name string, most int) {
	count := make(map[string]int)
	for p, d := range c.declared {
		if d.Recv != nil {
			count[p.Name+"."+receiver(d)]++
		}
	}
	for n, k := range count {
		if k > most || k == most && n < name {
			name, most = n, k
		}
	}
	return name, most
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

// comments is how many of a hundred lines have a comment.
func (c *code) comments(folder string) int {
	with, all := 0, 0
	for _, p := range c.under(folder) {
		for _, f := range p.Syntax {
			seen := make(map[int]bool)
			for _, group := range f.Comments {
				for _, one := range group.List {
					for l := c.line(one.Pos()); l <= c.line(one.End()); l++ {
						seen[l] = true
					}
				}
			}
			with += len(seen)
			all += c.line(f.End())
		}
	}
	return 100 * with / max(all, 1)
}

// lines are how many lines of Go stand below folders, without tests.
func (c *code) lines(folders []string) (n int, err error) {
	err = c.walk(folders, func(_ string, text []byte) error {
		n += strings.Count(string(text), "\n")
		return nil
	})
	return n, err
}

// walk calls visit with every file of Go below folders that is no test, and its path below the root.
func (c *code) walk(folders []string, visit func(path string, text []byte) error) error {
	for _, folder := range folders {
		err := fs.WalkDir(os.DirFS(c.root), folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testdata/") {
				return err
			}
			text, err := os.ReadFile(filepath.Join(c.root, path))
			if err != nil {
				return err
			}
			return visit(path, text)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
