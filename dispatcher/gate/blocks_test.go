package gate

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fileBlocks says how often each block of code in a file has run, and where the block begins.
type fileBlocks struct {
	file       string
	count, pos []uint32
}

// blocks are those of this package, in a build in which `go tool cover` has put a counter into each block; else nil.
var blocks []fileBlocks

// mostRun is the block that has run most often since the last call, and how often.
func mostRun() (most uint32, where string) {
	for _, f := range blocks {
		for i, n := range f.count {
			if n > most {
				most, where = n, fmt.Sprintf("%s:%d", f.file, f.pos[3*i])
			}
		}
		clear(f.count)
	}
	return most, where
}

// runCounted runs the test in a build with counters.
func runCounted(t *testing.T) {
	output := func(name string, args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), name, args...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
		return out
	}
	dir, at := t.TempDir(), func(path string) string {
		path, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	written, replaced := 0, make(map[string]string)
	replace := func(path string, text []byte) {
		file := filepath.Join(dir, fmt.Sprint(written, ".go"))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		written, replaced[at(path)] = written+1, file
	}
	cover := strings.TrimSpace(string(output("go", "tool", "-n", "cover")))
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			name := fmt.Sprint("blocks", written)
			replace(file, output(cover, "-mode=count", "-var="+name, file))
			fmt.Fprintf(&all, "{%q, %s.Count[:], %s.Pos[:]},\n", file, name, name)
		}
	}
	replace("counters_test.go", fmt.Appendf(nil, "package gate\n\nfunc init() { blocks = []fileBlocks{\n%s} }\n", &all))
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	replace("overlay", overlay)
	t.Logf("%s", output("go", "test", "-vet=off", "-count=1", "-v", "-overlay="+replaced[at("overlay")], "-run=^"+t.Name()+"$", "."))
}
