package suites

import (
	"encoding/json"
	"os/exec"
	"slices"
	"testing"
)

// suite is the tests of a package of somebody else.
type suite struct {
	shim        string            // the folder here
	module, dir string            // where theirs are
	about       []string          // only tests that use one of these names; nil: all
	inside      string            // their package itself, which is tested, by its API alone
	change      map[string]string // import paths, and text in the tests
	long        bool              // is run at length only
	out         []leftOut
}

// leftOut is a test that does not count, or a subtest after a slash.
type leftOut struct {
	test string
	how  how
	reason
}

// reason is why, and what a test that fails then says.
type reason struct{ why, says string }

// how says what is done with a test that is left out.
type how int

const (
	fails how = iota // it is run, and has to fail
	lacks            // it is not compiled: the shim lacks what it needs
)

// lacks reports whether the shim lacks what a test needs.
func (s *suite) lacks(test string) bool {
	return slices.ContainsFunc(s.out, func(l leftOut) bool { return l.test == test && l.how == lacks })
}

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

const here = "github.com/wheellock/wheellock/internal/interop/suites/"

// Reasons that several tests share.
var (
	short    = reason{"a lease of less than 10 ms is refused", "must be from 10ms"}
	shortens = reason{"Extend never shortens a lease", "expected ~1m0s"}
	flaky    = reason{"it breaks the go-redis client, which the engine does not use", "injected failure"}
	backoff  = reason{why: "it is about redislock's retry strategies, not about locks"}
	isEqual  = reason{"it compares the error by ==: ours is ErrLockTimeout by errors.Is, with what the engine says", "ERR_LOCK_TIMEOUT"}
)

var suites = []*suite{
	{
		shim: "redislock", module: "github.com/bsm/redislock",
		change: map[string]string{
			"github.com/bsm/redislock": here + "redislock", `"127.0.0.1:6379"`: "redisOpts.Addr",
			// Ten times as long, for a busy machine.
			"20*time.Millisecond": "200*time.Millisecond", "50*time.Millisecond": "500*time.Millisecond", "100*time.Millisecond": "time.Second",
			"50 * time.Millisecond": "500*time.Millisecond", "100 * time.Millisecond": "time.Second",
		},
		out: []leftOut{
			{"TestLock_Refresh_retry_failure", fails, short},
			{"TestLock_Refresh_expired", fails, short},
			{"TestLock_Release_expired", fails, short},
			{"TestLock_Refresh", fails, shortens},
			{"TestLock_Refresh_retry_success", fails, shortens},
			{"TestLock_Refresh_retry_transient_error", fails, flaky},
			{"TestLock_Refresh_retry_transient_error_exhausted", fails, flaky},
			{"TestNoRetry", lacks, backoff},
			{"TestLinearBackoff", lacks, backoff},
			{"TestExponentialBackoff", lacks, backoff},
			{"TestLimitRetry", lacks, backoff},
		},
	},
	{
		shim: "gocron", module: "github.com/go-co-op/gocron/v2", inside: "github.com/go-co-op/gocron/v2", long: true,
		about: []string{"testLocker", "testElector", "errorLocker"},
	},
	{
		shim: "tusd/memorylocker", module: "github.com/tus/tusd/v2", dir: "pkg/memorylocker", long: true,
		out: []leftOut{{"TestMemoryLocker_Timeout", fails, isEqual}},
	},
	{
		shim: "tusd/filelocker", module: "github.com/tus/tusd/v2", dir: "pkg/filelocker", long: true,
		out: []leftOut{
			{"TestFileLocker_Timeout", fails, isEqual},
			{"TestFileLocker_DirectoryNotFound", fails, reason{"a lock needs no folder", "ERR_UPLOAD_NOT_FOUND"}},
		},
	},
}
