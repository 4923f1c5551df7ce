package faults_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// apartVariable is the environment variable that holds the name of the test for which a process was started.
const apartVariable = "WHEELLOCK_TEST_APART"

// apart makes a test that runs in a process of its own, beside others: what it measures of its process, its memory or
// its processor time, nobody else uses.
func apart(test func(t *testing.T)) func(*testing.T) {
	return func(t *testing.T) {
		if os.Getenv(apartVariable) == t.Name() {
			test(t)
			return
		}
		t.Parallel()
		pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
		process := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+pattern, "-test.v", "-test.timeout=5m")
		process.Env = append(os.Environ(), apartVariable+"="+t.Name())
		said, err := process.CombinedOutput()
		t.Logf("in a process of its own: %s", said)
		if err != nil {
			t.Error(err)
		} else if !bytes.Contains(said, []byte("--- PASS: "+t.Name()+" ")) {
			t.Error("the process did not run the test")
		}
	}
}
