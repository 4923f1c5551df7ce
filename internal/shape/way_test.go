package shape

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
)

// rounds is how often the lock is taken: what runs as often is on its way.
const rounds = 2000

// roots are where a Lock and an Unlock begin, and the two goroutines that do the rest.
var roots = []string{"engine.Mutex.Lock", "engine.Hold.Unlock", "dispatcher.loop.run", "redisconn.Connection.run"}

// wayOfALock is the files on the way of a lock that nobody else wants, taken and given back.
func wayOfALock(t *testing.T, c *code) []string {
	dir, counts := t.TempDir(), t.TempDir()
	binary, printed := filepath.Join(dir, "lockpath"), filepath.Join(dir, "profile")
	ours := slices.DeleteFunc(strings.Fields(run(t, exec.Command("go", "list", "-deps", "./lockpath"))),
		func(path string) bool { return !strings.HasPrefix(path, module+"/") })
	run(t, exec.Command("go", "build", "-cover", "-covermode=count", "-coverpkg="+strings.Join(ours, ","), "-o", binary, "./lockpath"))
	lock := exec.Command(binary, redistest.Start(t).Addr(), strconv.Itoa(rounds))
	lock.Env = append(os.Environ(), "GOCOVERDIR="+counts)
	run(t, lock)
	run(t, exec.Command("go", "tool", "covdata", "textfmt", "-i="+counts, "-o="+printed))
	text, err := os.ReadFile(printed)
	if err != nil {
		t.Fatal(err)
	}
	return follow(t, c, text, rounds, roots...)
}

// follow is the way through what ran.
func follow(t *testing.T, c *code, printed []byte, rounds int, roots ...string) []string {
	t.Helper()
	ran, err := c.readProfile(bytes.NewReader(printed))
	if err != nil {
		t.Fatal(err)
	}
	files, err := c.files(ran, rounds, roots...)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// run runs a command and returns what it prints.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, said)
	}
	return string(said)
}

// TestWay: on the way is who leads on to another file: the lock, and of an interface's implementations the one that ran. A leaf
// is not, nor what only a failure would lead to, nor what a call beyond the product may come back to.
func TestWay(t *testing.T) {
	root, err := filepath.Abs("testdata/way")
	if err != nil {
		t.Fatal(err)
	}
	c, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	printed, err := os.ReadFile("testdata/way/profile")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(root, "engine/first.go"), filepath.Join(root, "engine/lock.go")}
	if got := follow(t, c, printed, 10, "engine.Mutex.Lock"); !slices.Equal(got, want) {
		t.Errorf("on the way are %v, want %v", got, want)
	}
}
