package driver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Brief are arguments of java for a process that lives for seconds: what the second compiler and threads that collect garbage cost,
// they would not earn back. They halve the CPU time of a test.
var Brief = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}

// Jar returns where .ci/redisson-jar has the driver of Redisson, or the jars of a version of Redisson. It builds or fetches them if
// need be, which takes a JDK, Maven and, the first time, Maven Central.
func Jar(version ...string) (string, error) {
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	build := filepath.Join(".ci", "redisson-jar")
	for {
		if _, err := os.Stat(filepath.Join(root, build)); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			return "", fmt.Errorf("no %s above", build)
		}
		root = filepath.Dir(root)
	}
	script := exec.Command(filepath.Join(root, build), version...)
	var said strings.Builder
	script.Stderr = &said
	path, err := script.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, said.String())
	}
	return filepath.Join(root, strings.TrimSpace(string(path))), nil
}
