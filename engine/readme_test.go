package engine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit"
)

// The program in README.md compiles.
func TestReadmeProgramCompiles(t *testing.T) {
	t.Parallel()
	vetProgram(t, "README.md", "package main\n")
}

// vetProgram has go vet look at the first program in a document, which begins so.
func vetProgram(t *testing.T, document, beginning string) {
	t.Helper()
	blocks := testkit.CodeBlocks(t, document, "go")
	i := slices.IndexFunc(blocks, func(block string) bool { return strings.HasPrefix(block, beginning) })
	if i < 0 {
		t.Fatalf("%s has no program", document)
	}
	path := filepath.Join(t.TempDir(), "main.go")
	testkit.Must(t, os.WriteFile(path, []byte(blocks[i]), 0o600))
	if said, err := exec.Command("go", "vet", path).CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, said)
	}
}
