package shape

import (
	"bufio"
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

// wayOfALock counts the files of which something runs each time when a lock that nobody else wants is taken and given back.
func wayOfALock(t *testing.T) int {
	dir, counts := t.TempDir(), t.TempDir()
	binary, profile := filepath.Join(dir, "lockpath"), filepath.Join(dir, "profile")
	ours := slices.DeleteFunc(strings.Fields(run(t, exec.Command("go", "list", "-deps", "./lockpath"))),
		func(path string) bool { return !strings.HasPrefix(path, module+"/") })
	run(t, exec.Command("go", "build", "-cover", "-covermode=count", "-coverpkg="+strings.Join(ours, ","), "-o", binary, "./lockpath"))
	lock := exec.Command(binary, redistest.Start(t).Addr(), strconv.Itoa(rounds))
	lock.Env = append(os.Environ(), "GOCOVERDIR="+counts)
	run(t, lock)
	run(t, exec.Command("go", "tool", "covdata", "textfmt", "-i="+counts, "-o="+profile))
	return filesIn(t, profile)
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

// filesIn counts the files of a profile of which something ran in every round. Its lines are "file:from,to statements count".
func filesIn(t *testing.T, profile string) int {
	f, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := make(map[string]bool)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			continue
		}
		file, _, _ := strings.Cut(fields[0], ":")
		if n, err := strconv.Atoi(fields[2]); err == nil && n >= rounds && !strings.HasPrefix(file, module+"/internal/shape/") {
			files[file] = true
		}
	}
	return len(files)
}
