// Package vocabulary checks the documents of this project. Identifiers and documents use the terms of ARCHITECTURE.md's glossary, and
// none of the words that were retired (words_test.go); functions that act begin with a verb of one meaning (verbs_test.go). The files, commands and tests that documents name exist (documents_test.go), and
// docs/OPERATIONS.md explains every message (messages_test.go). Tests do not sleep for a fixed time without a reason (sleeps_test.go).
package vocabulary

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

const root = "../.."

// product are the packages that the engine consists of.
var product = []string{
	"scripts", "futures", "wheel", "dispatcher/gate", "engine/internal/leaders", "wheel/stall", "engine", "engine/elect", "engine/enginetest",
	"dispatcher", "dispatcher/quietsocket", "dispatcher/reconnect", "dispatcher/redisconn", "dispatcher/rediserr", "dispatcher/respguard",
	"dispatcher/subscriber", "dispatcher/topology", "dispatcher/wire",
}

// files returns the files under the root whose names end with suffix, relative to the root.
func files(t *testing.T, suffix string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "target"):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, suffix):
			relative, err := filepath.Rel(root, path)
			paths = append(paths, filepath.ToSlash(relative))
			return err
		}
		return nil
	})
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files *%s: %v", len(paths), suffix, err)
	}
	return paths
}

// Identifiers, names of Go files and documents use no retired word, and no exception stands that nothing needs.
func TestNoRetiredWordIsUsed(t *testing.T) {
	t.Parallel()
	needed := make(map[exception]bool)
	check := func(what, where string, in places, found []string) {
		for _, r := range words {
			if r.in&in == 0 || !slices.Contains(found, r.word) && !slices.Contains(found, r.word+"s") {
				continue
			}
			i := slices.IndexFunc(exceptions, func(e exception) bool { return e.where == where && e.word == r.word })
			if i < 0 {
				t.Errorf("%s: say %q instead of %q", what, r.instead, r.word)
				continue
			}
			needed[exceptions[i]] = true
		}
	}
	for _, path := range files(t, ".go") {
		where, in := filepath.ToSlash(filepath.Dir(path)), identifiers
		if follows(path) {
			in |= ofProduct
		}
		check(path, where, in, parts(strings.TrimSuffix(filepath.Base(path), ".go")))
		for _, name := range declared(parse(t, path)) {
			check(path+": "+name, where, in, parts(name))
		}
	}
	word := regexp.MustCompile(`\pL+`)
	for _, path := range files(t, ".md") {
		for i, line := range strings.Split(read(t, path), "\n") {
			check(path+":"+strconv.Itoa(i+1), path, documents, word.FindAllString(strings.ToLower(withoutCode(line)), -1))
		}
	}
	for _, e := range exceptions {
		if !needed[e] {
			t.Errorf("%s does not use %q any more: the exception is not needed", e.where, e.word)
		}
	}
}

func TestATypeNameMeansOneThing(t *testing.T) {
	t.Parallel()
	_, glossary, found := strings.Cut(read(t, "ARCHITECTURE.md"), "\n## Glossary\n")
	glossary, _, _ = strings.Cut(glossary, "\n## ")
	terms := regexp.MustCompile(`(?m)^\| \*\*([^*]+)\*\* \|`).FindAllStringSubmatch(glossary, -1)
	if !found || len(terms) == 0 || len(terms) > 25 {
		t.Fatalf("the glossary has %d terms; want 1 to 25", len(terms))
	}
	packages := map[string][]string{} // by type name
	for _, path := range files(t, ".go") {
		where := filepath.ToSlash(filepath.Dir(path))
		if !slices.Contains(product, where) || strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, d := range parse(t, path).Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				name := s.(*ast.TypeSpec).Name.Name
				if !slices.Contains(packages[name], where) {
					packages[name] = append(packages[name], where)
				}
			}
		}
	}
	for name, in := range packages {
		inGlossary := slices.ContainsFunc(terms, func(m []string) bool { return m[1] == strings.Join(parts(name), " ") })
		if len(in) > 1 && !inGlossary && shared[name] == "" {
			t.Errorf("type %s is declared in %s, and neither the glossary of ARCHITECTURE.md nor the table of shared names has it",
				name, strings.Join(in, " and "))
		}
	}
}

// A comment or a test that names an invariant names one of INVARIANTS.md.
func TestNamedInvariantsExist(t *testing.T) {
	t.Parallel()
	invariants := read(t, "dispatcher/gate/INVARIANTS.md")
	reference := regexp.MustCompile(`\binvariants?: ([a-z]+(?:-[a-z]+)+(?:, [a-z]+(?:-[a-z]+)+)*)`)
	for _, path := range slices.Concat(files(t, ".go"), files(t, ".lua")) {
		for _, m := range reference.FindAllStringSubmatch(read(t, path), -1) {
			for name := range strings.SplitSeq(m[1], ", ") {
				if !strings.Contains(invariants, "\n### "+name+"\n") {
					t.Errorf("%s: INVARIANTS.md has no invariant %s", path, name)
				}
			}
		}
	}
}

// declared returns the identifiers that a file declares.
func declared(f *ast.File) (names []string) {
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id != nil {
				names = append(names, id.Name)
			}
		}
	}
	expression := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok {
			add(id)
		}
	}
	add(f.Name)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.ValueSpec:
			add(n.Names...)
		case *ast.Field:
			add(n.Names...)
		case *ast.LabeledStmt:
			add(n.Label)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					expression(e)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				expression(n.Key)
				expression(n.Value)
			}
		}
		return true
	})
	return names
}

// parts splits an identifier into its words, in lower case: "newHTTPServer_linux" is new, http, server, linux.
func parts(name string) (words []string) {
	runes, start := []rune(name), 0
	cut := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(string(runes[start:end])))
		}
		start = end
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r):
			cut(i)
			start = i + 1
		case unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			cut(i)
		}
	}
	cut(len(runes))
	return words
}

// withoutCode is a line of a document without what stands between backquotes.
func withoutCode(line string) string {
	return regexp.MustCompile("`[^`]*`").ReplaceAllString(line, " ")
}

func parse(t *testing.T, path string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestParts(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"newHTTPServer_linux": "new http server linux", "earDown": "ear down", "Ears": "ears", "TestURL2": "test url", "_": "", "x": "x", "linear": "linear",
	} {
		if got := strings.Join(parts(name), " "); got != want {
			t.Errorf("parts(%q) = %q, want %q", name, got, want)
		}
	}
}
