package interop

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit"
)

// TestMapping: every test that MAPPING.md names is there.
func TestMapping(t *testing.T) {
	text, err := os.ReadFile("MAPPING.md")
	testkit.Must(t, err)
	named := regexp.MustCompile("`([a-z/]+)\\.(Test[A-Za-z0-9]+)(?:/([^`]+))?`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 100 {
		t.Fatalf("only %d tests are named", len(named))
	}
	sources := make(map[string]string)
	for _, test := range named {
		where, name, sub := test[1], test[2], test[3]
		if _, read := sources[where]; !read {
			sources[where] = source(t, where)
		}
		_, body, found := strings.Cut(sources[where], "\nfunc "+name+"(t *testing.T) {")
		body, _, _ = strings.Cut(body, "\n}\n")
		if !found || sub != "" && !strings.Contains(body, `"`+sub+`"`) {
			t.Errorf("there is no %s", test[0])
		}
	}
}

// source is all test code of a package.
func source(t *testing.T, where string) string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("..", "..", where, "*_test.go"))
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		testkit.Must(t, err)
		all.Write(text)
	}
	return all.String()
}
