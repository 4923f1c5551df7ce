// Package vocabulary checks the documents of this project: the files, commands, headings and tests that they name exist, every promise and
// invariant has tests (documents_test.go), and docs/OPERATIONS.md explains every message (messages_test.go).
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
	"strings"
	"testing"
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
