// Package planted builds test programs with a mistake in the engine or its scripts, so that a harness can show what it finds.
//
// Product code has no switch for a mistake: a Bug is a list of edits (bugs.go), which are made in copies of the files, and the
// build takes the copies in their place.
package planted

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Bug is a mistake that was once in the code, or that locks have been made with.
type Bug struct {
	Name  string
	edits []edit
}

// edit changes one place of a file, which must be there exactly once. The file is named from the root of the repository.
type edit struct{ file, old, new string }

// Named returns the bug of a name.
func Named(t testing.TB, name string) Bug {
	t.Helper()
	for _, b := range bugs {
		if b.Name == name {
			return b
		}
	}
	t.Fatalf("there is no bug %q", name)
	return Bug{}
}

// Table has every bug found, and prints what was found of each: find returns "" when it was not.
func Table(t *testing.T, names []string, find func(t *testing.T, b Bug) string) {
	var table strings.Builder
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			found := find(t, Named(t, name))
			if found == "" {
				t.Error("not found")
			}
			t.Log(found)
			fmt.Fprintf(&table, "| %s | %s |\n", name, found)
		})
	}
	t.Log("\n" + table.String())
}

// None is no bug.
var None = Bug{Name: "none"}

// Build builds the test program of the package in the working directory, with the bug in it, and returns its path. root is the
// way from there to the root of the repository.
func (b Bug) Build(t testing.TB, root string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "planted.test")
	args := append([]string{"test", "-c", "-overlay", b.overlay(t, root, dir), "-o", binary}, flags...)
	if text, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	return binary
}

// overlay writes the edited files to dir, and the list that tells the build of them.
func (b Bug) overlay(t testing.TB, root, dir string) string {
	t.Helper()
	replace := make(map[string]string)
	for _, e := range b.edits {
		path, err := filepath.Abs(filepath.Join(root, e.file))
		if err != nil {
			t.Fatal(err)
		}
		from := path
		if edited := replace[path]; edited != "" {
			from = edited
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), e.old); n != 1 {
			t.Fatalf("%s: %s has %d places like %q, want 1", b.Name, e.file, n, e.old)
		}
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(path)))
		if err := os.WriteFile(replace[path], []byte(strings.Replace(string(text), e.old, e.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
