package virtual

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A test that waits for ever ends, and its output says what it waits for.
func TestWaitsForEver(t *testing.T) {
	const child = "WHEELLOCK_WAITS_FOR_EVER"
	if os.Getenv(child) != "" {
		Test(t, func(*World) { waitForEver() })
	}
	c := exec.Command(os.Args[0], "-test.run=^TestWaitsForEver$")
	c.Env = append(os.Environ(), child+"=1")
	out, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "2h0m0s of virtual time") || !strings.Contains(string(out), "virtual.waitForEver") {
		t.Errorf("it ended with %v and said\n%s", err, out)
	}
}

func waitForEver() { <-make(chan int) }
