package interop

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wheellock/wheellock/internal/interop/driver"
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
	requireJava(tb)
	path, err := jar()
	if err != nil {
		tb.Fatal(err)
	}
	classes := strings.TrimSuffix(path, "jar") + "jsa" // an archive that is not there, or of another Java, is passed over in silence
	return Drive(tb, exec.Command("java", slices.Concat(driver.Brief, []string{"-Xlog:disable", "-XX:SharedArchiveFile=" + classes, "-jar", path}, args)...))
}

// javaSource is how java runs a source file with the libraries of the driver in that jar.
func javaSource(jar string) []string {
	return slices.Concat([]string{"java"}, driver.Brief, []string{"-cp", filepath.Join(filepath.Dir(jar), "lib", "*")})
}

// startVersion starts a client of another version. missing: it has no such setting.
func startVersion(tb testing.TB, version string, args ...string) (s *Side, missing bool) {
	tb.Helper()
	requireJava(tb)
	jars, err := driver.Jar(version)
	if err != nil {
		tb.Fatal(err)
	}
	classes := filepath.Join(jars, "*") + ":" + filepath.Join(jars, "..", "classes")
	d, err := driver.New(exec.Command("java", slices.Concat(driver.Brief, []string{"-cp", classes, "io.github.wheellock.redissondriver.Driver"}, args)...))
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() == 3 {
		return nil, true
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(d.Close)
	if !strings.HasPrefix(d.Ready, version+" ") {
		tb.Fatalf("Redisson %s says that it is %s", version, d.Ready)
	}
	return &Side{d, tb}, false
}

func requireJava(tb testing.TB) {
	tb.Helper()
	if os.Getenv("WHEELLOCK_INTEROP") == "" {
		tb.Skip("SKIPPED: make redisson runs it. NOT PROVED: that Redisson and wheellock agree")
	}
	redistest.Require(tb, "java", "mvn")
}

// jar builds the driver once a test run, if need be.
var jar = sync.OnceValues(func() (string, error) { return driver.Jar() })
