package shape

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

var (
	source = regexp.MustCompile(`\.(go|lua)$`)
	rows   = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+/[^|]+) \| (\d+) \|`)
)

// core are the folders of the core.
var core = []string{"engine", "dispatcher", "wheel", "futures", "scripts"}

// lines counts the lines of each Go and Lua file in some folders that is a test, or that is none.
func lines(t *testing.T, tests bool, folders ...string) map[string]int {
	t.Helper()
	counts := make(map[string]int)
	for _, folder := range folders {
		err := fs.WalkDir(os.DirFS(root), folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !source.MatchString(path) || strings.HasSuffix(path, "_test.go") != tests || strings.Contains(path, "/testdata/") {
				return err
			}
			text, err := os.ReadFile(filepath.Join(root, path))
			counts[path] = strings.Count(string(text), "\n")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return counts
}

// docs/MECHANISMS.md has every file of the core in one row, with the right number of lines.
func TestMechanisms(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "MECHANISMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	counts, total := lines(t, false, core...), 0
	rowOf := make(map[string]string)
	for _, row := range rows.FindAllStringSubmatch(string(text), -1) {
		mechanism, said, sum := row[1], row[3], 0
		for _, name := range strings.Fields(row[2]) {
			found := false
			for path, n := range counts {
				if path != name && !(strings.HasSuffix(name, "/") && strings.HasPrefix(path, name)) {
					continue
				}
				found = true
				if other, known := rowOf[path]; known {
					if strings.HasSuffix(name, "/") { // a row of its own names it
						continue
					}
					t.Errorf("%s is of %q and of %q", path, other, mechanism)
				}
				rowOf[path] = mechanism
				sum += n
			}
			if !found {
				t.Errorf("%q: there is no %s", mechanism, name)
			}
		}
		total += sum
		if is, _ := strconv.Atoi(said); is*10 < sum*9 || is*10 > sum*11 {
			t.Errorf("%q has %d lines, not %d", mechanism, sum, is)
		}
	}
	for path := range counts {
		if rowOf[path] == "" {
			t.Errorf("%s is of no mechanism", path)
		}
	}
	t.Logf("lines of the core, Go and Lua: %d", total)
	laboratory, tests := 0, 0
	for _, n := range lines(t, false, "cmd", "internal", "bench") {
		laboratory += n
	}
	for _, n := range lines(t, true, append([]string{"contrib", "internal", "cmd", "bench", "examples"}, core...)...) {
		tests += n
	}
	t.Logf("lines of laboratory and tools: %d; of tests: %d", laboratory, tests)
}
