package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// goPackage is a package of Go with the types of its expressions.
type goPackage struct {
	name  string // from the root of the module, as "dispatcher/gate"
	path  string // as it is imported
	dir   string
	files []*goFile
	fset  *token.FileSet
	info  *types.Info
}

type goFile struct {
	name, path, text string
	syntax           *ast.File
}

// listed is what go list tells of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// loadGo reads a package. The types of what it imports come from the build cache.
func loadGo(root, name string) (*goPackage, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly", "./"+name)
	list.Dir, list.Stderr = root, os.Stderr
	said, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", name, err)
	}
	exports := make(map[string]string)
	var own listed
	for decoder := json.NewDecoder(bytes.NewReader(said)); ; {
		var one listed
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[one.ImportPath] = one.Export
		if !one.DepOnly {
			own = one
		}
	}
	p := &goPackage{name: name, path: own.ImportPath, dir: own.Dir, fset: token.NewFileSet(), info: &types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object), Defs: make(map[*ast.Ident]types.Object),
	}}
	var trees []*ast.File
	for _, file := range own.GoFiles {
		f := &goFile{name: name + "/" + file, path: filepath.Join(own.Dir, file)}
		text, err := os.ReadFile(f.path)
		if err != nil {
			return nil, err
		}
		f.text = string(text)
		if f.syntax, err = parser.ParseFile(p.fset, f.path, text, parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		p.files = append(p.files, f)
		trees = append(trees, f.syntax)
	}
	config := types.Config{Importer: importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("%s has no export data", path)
		}
		return os.Open(exports[path])
	})}
	_, err = config.Check(own.ImportPath, p.fset, trees, p.info)
	return p, err
}

// source is the text of a node.
func (f *goFile) source(p *goPackage, n ast.Node) string {
	from, to := p.span(n)
	return f.text[from:to]
}

// span is where a node begins and ends in its file.
func (p *goPackage) span(n ast.Node) (from, to int) {
	return p.fset.Position(n.Pos()).Offset, p.fset.Position(n.End()).Offset
}

// prints reports whether a method only prints.
func prints(f *ast.FuncDecl) bool {
	return f.Recv != nil && strings.Contains(" String Error GoString LogValue ", " "+f.Name.Name+" ")
}
