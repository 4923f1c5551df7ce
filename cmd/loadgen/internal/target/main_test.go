package target

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit"
)

// The first argument of this test's program when it is started as another process.
const (
	keeperRole = "-keeper" // what loadgen starts
	ownerRole  = "-owner"  // a process with a private server, to be killed by a test
)

// TestMain is the process that the first argument names, or runs the tests.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case keeperRole:
			os.Exit(Keep(os.Stdin, os.Stdout))
		case ownerRole:
			own()
		}
	}
	testkit.Main(m)
}

// own starts a server, says where it is, and waits to be killed.
func own() {
	t, err := Own(context.Background(), []string{os.Args[0], keeperRole})
	if err != nil {
		panic(err)
	}
	json.NewEncoder(os.Stdout).Encode(t.Place)
	select {}
}
