package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit"
)

// docs/OPERATIONS.md quotes log records, causes, errors, options and metrics as the engine and contrib/prometheus have them.
func TestOperationsQuotesWhatTheEngineSays(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/OPERATIONS.md")
	testkit.Must(t, err)
	said, names := sources(t, "../../engine", "../../dispatcher")
	prose := fence.ReplaceAllString(string(text), "")
	seen := 0
	for _, words := range quoted(prose) {
		known := true
		option, isOption := strings.CutPrefix(words, "Options.")
		switch {
		case strings.HasPrefix(words, "wheellock: "):
			known = said[words]
		case regexp.MustCompile(`^Err[A-Z]\w+$`).MatchString(words):
			known = names[words]
		case isOption:
			known = names[option]
		default:
			continue
		}
		seen++
		if !known {
			t.Errorf("the engine has no %s", words)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(sections(t, "../../docs/OPERATIONS.md")["Locks are lost"], -1) {
		seen++
		if !said[row[1]] {
			t.Errorf("no lock is lost by the cause %q", row[1])
		}
	}
	if seen < 30 {
		t.Errorf("only %d names were found", seen)
	}
	metrics, err := os.ReadFile("../../contrib/prometheus/README.md")
	testkit.Must(t, err)
	for _, name := range quoted(prose) {
		if metric := regexp.MustCompile(`^wheellock_[a-z_]+$`).FindString(name); !strings.Contains(string(metrics), "`"+metric+"`") && metric != "" {
			t.Errorf("there is no metric %s", metric)
		}
	}
}

// Links into documents lead to headings that there are.
func TestOperationsLinks(t *testing.T) {
	t.Parallel()
	const document = "../../docs/OPERATIONS.md"
	text, err := os.ReadFile(document)
	testkit.Must(t, err)
	links := regexp.MustCompile(`\]\(([^)#]*)#([^)]+)\)`).FindAllStringSubmatch(string(text), -1)
	for _, link := range links {
		target := document
		if link[1] != "" {
			target = filepath.Join(filepath.Dir(document), link[1])
		}
		found := false
		for title := range sections(t, target) {
			words := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(title), "")
			found = found || strings.ReplaceAll(words, " ", "-") == link[2]
		}
		if !found {
			t.Errorf("%s has no heading for #%s", target, link[2])
		}
	}
	if len(links) < 10 {
		t.Errorf("only %d links were found", len(links))
	}
}

// sources are the string literals and the names in Go files below these directories, without tests.
func sources(t *testing.T, roots ...string) (literals, names map[string]bool) {
	t.Helper()
	literals, names = make(map[string]bool), make(map[string]bool)
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					if text, err := strconv.Unquote(n.Value); err == nil {
						literals[text] = true
					}
				case *ast.Ident:
					names[n.Name] = true
				}
				return true
			})
			return nil
		})
		testkit.Must(t, err)
	}
	return literals, names
}
