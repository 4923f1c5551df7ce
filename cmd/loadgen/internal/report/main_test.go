package report

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var update = flag.Bool("update", false, "write the golden files anew")

// wantGolden compares a text with testdata/name.
func wantGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		testkit.Must(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	testkit.Must(t, err)
	if got != string(want) {
		t.Errorf("not as in %s (go test -update writes it anew):\n%s", path, got)
	}
}
