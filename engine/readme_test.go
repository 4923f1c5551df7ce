package engine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The program in README.md compiles.
func TestReadmeProgramCompiles(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(readme)
	if program == nil {
		t.Fatal("README.md has no program")
	}
	path := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(path, program[1], 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("go", "vet", path).CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, said)
	}
}
