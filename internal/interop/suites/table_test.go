package suites

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// suite is the tests of a package of somebody else.
type suite struct {
	shim        string   // the folder here
	module, dir string   // where theirs are
	about       []string // only tests that use one of these names; nil: all
	inside      string   // their package itself, which is tested, by its API alone
	long        bool     // is run at length only
	out         []leftOut
}

// leftOut is a test that does not count: it is run, and has to fail. why, and what it says then.
type leftOut struct{ test, why, says string }

// source is the folder of the module.
func (s *suite) source(tb testing.TB) string {
	tb.Helper()
	said, err := exec.Command("go", "mod", "download", "-json", s.module).Output()
	if err != nil {
		tb.Fatalf("go mod download %s: %v\n%s", s.module, err, said)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(said, &found); err != nil {
		tb.Fatal(err)
	}
	return found.Dir
}

// Why two tests fail: ours is ErrLockTimeout by errors.Is, with what the engine says.
const isEqual, timeout = "it compares the error by ==", "ERR_LOCK_TIMEOUT"

var suites = []*suite{
	{
		shim: "gocron", module: "github.com/go-co-op/gocron/v2", inside: "github.com/go-co-op/gocron/v2", long: true,
		about: []string{"testLocker", "testElector", "errorLocker"},
	},
	{
		shim: "tusd/memorylocker", module: "github.com/tus/tusd/v2", dir: "pkg/memorylocker",
		out: []leftOut{{"TestMemoryLocker_Timeout", isEqual, timeout}},
	},
	{
		shim: "tusd/filelocker", module: "github.com/tus/tusd/v2", dir: "pkg/filelocker",
		out: []leftOut{
			{"TestFileLocker_Timeout", isEqual, timeout},
			{"TestFileLocker_DirectoryNotFound", "a lock needs no folder", "ERR_UPLOAD_NOT_FOUND"},
		},
	},
}
