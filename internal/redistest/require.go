package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// packages names what to install for each program, in Debian's words.
var packages = map[string]string{
	"redis-server":   "redis-server",
	"redis-sentinel": "redis-sentinel",
	"redis-cli":      "redis-tools",
}

// Require ends the test unless every named program is on the PATH. With CI set in the environment a
// missing program is a failure, because a run that proves nothing must not be green; elsewhere the test
// is skipped, and says what to install and what stays unproved.
func Require(tb testing.TB, programs ...string) {
	tb.Helper()
	var missing, install []string
	for _, program := range programs {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		missing = append(missing, program)
		if name, known := packages[program]; known {
			install = append(install, name)
		} else {
			install = append(install, program)
		}
	}
	if len(missing) == 0 {
		return
	}
	const advice = "%s not found on the PATH. Install with: apt-get install %s (macOS: brew install redis). "
	programList, packageList := strings.Join(missing, ", "), strings.Join(install, " ")
	if os.Getenv("CI") != "" {
		tb.Fatalf(advice+"In CI a missing server is a failure.", programList, packageList)
	}
	tb.Skipf("SKIPPED: "+advice+"NOT PROVED: everything %s asks of a real Redis.",
		programList, packageList, tb.Name())
}

// newer is the program of a server that has WAITAOF.
func newer(tb testing.TB) string {
	tb.Helper()
	var major, minor int
	said, _ := exec.Command("redis-server", "--version").Output() // what cannot be asked is not newer
	_, version, _ := strings.Cut(string(said), " v=")
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err == nil && (major > 7 || major == 7 && minor >= 2) {
		return "redis-server"
	}
	cache, err := os.UserCacheDir()
	program := filepath.Join(cache, "wheellock", "servers", "redis-8.0", "redis-server")
	if err == nil {
		_, err = os.Stat(program)
	}
	if err == nil {
		return program
	}
	if os.Getenv("CI") != "" {
		tb.Fatalf("there is no newer Redis: run .ci/server redis-8.0. In CI a missing server is a failure.")
	}
	tb.Skipf("SKIPPED: there is no newer Redis: run .ci/server redis-8.0. NOT PROVED: everything %s asks of it.", tb.Name())
	return ""
}
