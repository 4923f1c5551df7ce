package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// overlay is a list of files that a build takes in the place of others, or besides.
type overlay struct {
	dir     string // where they are kept
	replace map[string]string
}

func newOverlay(dir string) *overlay { return &overlay{dir, make(map[string]string)} }

// lay puts a text in the place of a file.
func (o *overlay) lay(path, text string) error {
	o.replace[path] = filepath.Join(o.dir, fmt.Sprintf("%d-%s", len(o.replace), filepath.Base(path)))
	return os.WriteFile(o.replace[path], []byte(text), 0o600)
}

// build makes the test binary of a package, which is a folder; its module is asked for from there.
func (o *overlay) build(dir, binary string) error {
	list, err := json.Marshal(map[string]any{"Replace": o.replace})
	if err != nil {
		return err
	}
	path := filepath.Join(o.dir, "overlay.json")
	if err := os.WriteFile(path, list, 0o600); err != nil {
		return err
	}
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", path, "-o", binary, ".")
	build.Dir = dir
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build of %s: %w\n%s", dir, err, said)
	}
	return nil
}

// testsIn lists the tests of a binary.
func testsIn(binary, dir string) ([]string, error) {
	list := exec.Command(binary, "-test.list", "^Test")
	list.Dir = dir
	said, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%s -test.list: %w", binary, err)
	}
	return strings.Fields(string(said)), nil
}
