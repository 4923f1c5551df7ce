package main

import (
	"os"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit"
)

// asProgram, set in the environment, makes this test's program loadgen itself.
const asProgram = "LOADGEN_TEST_AS_PROGRAM"

// TestMain is loadgen when it was started as that, or as one of its helpers.
func TestMain(m *testing.M) {
	helper := len(os.Args) == 2 && (os.Args[1] == keeperRole || os.Args[1] == childRole)
	if helper || os.Getenv(asProgram) != "" {
		os.Exit(roles(os.Args[1:]))
	}
	testkit.Main(m)
}
