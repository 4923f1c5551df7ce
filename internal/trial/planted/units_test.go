package planted

import (
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var plantedFlag = flag.Bool("planted", false, "run the tests of the product that find bugs which explorer, bubble and chaos do not look for")

// units are bugs that a test of the product finds, and no search looks for.
var units = []struct{ bug, where, test string }{
	{"bytes of a server that are not looked at", "engine/faults", "TestBytesOfAServerEndNoMoreThanAConnection"},
	{"a lock that is given to a dead engine for its whole time", "scripts", "TestLine"},
	{"a line whose places all are the first", "scripts", "TestLine"},
	{"a release that gives the lock and wakes everybody in line", "scripts", "TestLine"},
	{"a place in a line that lasts for ever", "scripts", "TestLine"},
}

// The test that is named fails with the bug.
func TestPlanted(t *testing.T) {
	if !*plantedFlag {
		t.Skip("with -planted only: it builds tests with bugs, one after the other")
	}
	for _, u := range units {
		t.Run(u.bug, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command("go", "test", "-count", "1", "-vet=off", "-overlay", filepath.Join(dir, "overlay.json"), "-run", "^"+u.test+"$", "./"+u.where)
			Named(t, u.bug).overlay(t, "../../..", dir)
			cmd.Dir = "../../.."
			text, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(text), "--- FAIL: "+u.test) && !strings.Contains("\n"+string(text), "\npanic: ") {
				t.Errorf("%s does not find it: %v\n%s", u.test, err, text)
			}
		})
	}
}
