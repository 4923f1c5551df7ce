package interop

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/wheellock/wheellock/internal/redistest"
)

// StartRedisson starts a client of the server. args are flags of the driver, as bench/redisson/README.md
// names them. It takes Java, Maven and, the first time, Maven Central; so it runs only where WHEELLOCK_INTEROP is
// set, as make test and make interop do, and elsewhere the test is skipped loudly.
func StartRedisson(tb testing.TB, server *redistest.Server, args ...string) *Side {
	tb.Helper()
	return startRedisson(tb, append([]string{"--redis", server.URL()}, args...)...)
}

func startRedisson(tb testing.TB, args ...string) *Side {
	tb.Helper()
	if os.Getenv("WHEELLOCK_INTEROP") == "" {
		tb.Skip("SKIPPED: make redisson runs it. NOT PROVED: that Redisson and wheellock agree")
	}
	redistest.Require(tb, "java", "mvn")
	return start(tb, exec.Command("java", append([]string{"-jar", jar(tb)}, args...)...))
}

var build sync.Once

// jar builds the driver once a test run, without the network where Maven has all it needs.
func jar(tb testing.TB) string {
	tb.Helper()
	_, here, _, _ := runtime.Caller(0)
	folder := filepath.Join(filepath.Dir(here), "..", "..", "bench", "redisson")
	build.Do(func() {
		if fresh(folder) {
			return
		}
		pom := filepath.Join(folder, "pom.xml")
		if exec.Command("mvn", "-q", "-o", "-f", pom, "package").Run() == nil {
			return
		}
		if said, err := exec.Command("mvn", "-q", "-f", pom, "package").CombinedOutput(); err != nil {
			tb.Fatalf("mvn package: %v\n%s", err, said)
		}
	})
	return filepath.Join(folder, "target", "redisson-driver.jar")
}

// fresh reports whether the driver was built after its sources were last changed.
func fresh(folder string) bool {
	built, err := os.Stat(filepath.Join(folder, "target", "redisson-driver.jar"))
	if err != nil {
		return false
	}
	newest := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if entry != nil && entry.Name() == "target" {
				return filepath.SkipDir
			}
			return err
		}
		if info, err := entry.Info(); err != nil || info.ModTime().After(built.ModTime()) {
			return errors.New("newer")
		}
		return nil
	})
	return newest == nil
}
