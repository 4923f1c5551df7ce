package main

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"strings"
)

// luaScripts is what package scripts and its tests tell of the scripts.
type luaScripts struct {
	embedded map[string]string   // by the file of a script: the variable that holds its text
	made     map[string][]string // by the variable of a Script: the files that it consists of
	makes    map[string]string   // by the same: the code that makes it
	tests    map[string][]string // by the name of a test: the files whose scripts it mentions, itself or what it uses
}

// readScripts parses the package. Names are enough: a variable of a Script has its name in the tests, too, behind "scripts.".
func readScripts(dir string) (*luaScripts, error) {
	s := &luaScripts{make(map[string]string), make(map[string][]string), make(map[string]string), make(map[string][]string)}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var code, tests []*ast.File
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(path, "_test.go") {
			tests = append(tests, file)
		} else {
			code = append(code, file)
		}
	}
	files := make(map[string]string) // by the variable
	for _, file := range code {
		for _, d := range file.Decls {
			d, is := d.(*ast.GenDecl)
			if !is {
				continue
			}
			for _, spec := range d.Specs {
				value, is := spec.(*ast.ValueSpec)
				if !is {
					continue
				}
				for _, doc := range []*ast.CommentGroup{d.Doc, value.Doc} {
					if script, is := embeds(doc); is {
						s.embedded[script], files[value.Names[0].Name] = value.Names[0].Name, script
					}
				}
			}
		}
	}
	makers := makersOfScripts(code)
	for _, file := range code {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if !is || len(spec.Values) != 1 {
				return true
			}
			parts := scriptIn(spec.Values[0], makers)
			if parts != nil {
				s.makes[spec.Names[0].Name] = source(spec.Values[0])
			}
			for _, part := range parts {
				for name := range identifiers(part) {
					if files[name] != "" {
						s.made[spec.Names[0].Name] = append(s.made[spec.Names[0].Name], files[name])
					}
				}
			}
			return true
		})
	}
	s.readTests(tests)
	return s, nil
}

// embeds is the script that a directive embeds.
func embeds(doc *ast.CommentGroup) (script string, is bool) {
	if doc == nil {
		return "", false
	}
	return strings.CutPrefix(doc.List[len(doc.List)-1].Text, "//go:embed ")
}

// makersOfScripts are the functions that return a Script, by their names.
func makersOfScripts(code []*ast.File) map[string]*ast.FuncDecl {
	makers := make(map[string]*ast.FuncDecl)
	for _, file := range code {
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if is && f.Recv == nil && f.Type.Results != nil && len(f.Type.Results.List) == 1 && isNamed(f.Type.Results.List[0].Type, "Script") {
				makers[f.Name.Name] = f
			}
		}
	}
	return makers
}

// scriptIn is the code that makes a Script: the literal, or the call and the function that is called; nothing if e makes none.
func scriptIn(e ast.Expr, makers map[string]*ast.FuncDecl) []ast.Node {
	switch e := e.(type) {
	case *ast.CompositeLit:
		if isNamed(e.Type, "Script") {
			return []ast.Node{e}
		}
	case *ast.CallExpr:
		if name, is := e.Fun.(*ast.Ident); is && makers[name.Name] != nil {
			return []ast.Node{e, makers[name.Name]}
		}
	}
	return nil
}

// source is the text of an expression.
func source(e ast.Expr) string {
	var text strings.Builder
	_ = printer.Fprint(&text, token.NewFileSet(), e) // a Builder takes all
	return text.String()
}

func isNamed(e ast.Expr, name string) bool {
	id, is := e.(*ast.Ident)
	return is && id.Name == name
}

// identifiers are the names in a piece of code.
func identifiers(n ast.Node) map[string]bool {
	names := make(map[string]bool)
	ast.Inspect(n, func(n ast.Node) bool {
		if name, is := n.(*ast.Ident); is {
			names[name.Name] = true
		}
		return true
	})
	return names
}

// readTests finds which scripts each test runs: those that it mentions, or what it mentions does.
func (s *luaScripts) readTests(files []*ast.File) {
	mentions := make(map[string]map[string]bool) // by what is declared: the names in it
	note := func(name string, n ast.Node) {
		if mentions[name] == nil {
			mentions[name] = make(map[string]bool)
		}
		for other := range identifiers(n) {
			mentions[name][other] = true
		}
	}
	for _, file := range files {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl: // methods of one name are taken for one
				note(d.Name.Name, d)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if values, is := spec.(*ast.ValueSpec); is {
						for _, name := range values.Names {
							note(name.Name, values)
						}
					}
				}
			}
		}
	}
	for name := range mentions {
		if strings.HasPrefix(name, "Test") {
			found := make(map[string]bool)
			s.follow(name, mentions, make(map[string]bool), found)
			for file := range found {
				s.tests[name] = append(s.tests[name], file)
			}
		}
	}
}

func (s *luaScripts) follow(name string, mentions map[string]map[string]bool, been, found map[string]bool) {
	if been[name] {
		return
	}
	been[name] = true
	for _, file := range s.made[name] {
		found[file] = true
	}
	for other := range mentions[name] {
		s.follow(other, mentions, been, found)
	}
}
