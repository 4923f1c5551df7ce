package driver

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Brief are arguments of java for a process that lives for seconds: what the second compiler and threads that collect garbage cost,
// they would not earn back. They halve the CPU time of a test.
var Brief = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}

// Jar returns where .ci/redisson-jar has the driver of Redisson, or the jars of a version of Redisson. It builds or fetches them if
// need be, which takes a JDK, Maven and, the first time, Maven Central.
func Jar(version ...string) (string, error) {
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "..", "..", "..")
	script := exec.Command(filepath.Join(root, ".ci", "redisson-jar"), version...)
	var said strings.Builder
	script.Stderr = &said
	path, err := script.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, said.String())
	}
	return filepath.Join(root, strings.TrimSpace(string(path))), nil
}
