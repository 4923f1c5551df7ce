package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// asProgram, set in the environment, makes this test's program loadgen itself.
const asProgram = "LOADGEN_TEST_AS_PROGRAM"

// TestMain is loadgen when it was started as that, or as one of its helpers. Else it looks for goroutines that
// were left behind. Those of ants' package-wide pool start with the program; a rueidis client that could not
// connect sleeps up to a second before it ends.
func TestMain(m *testing.M) {
	helper := len(os.Args) == 2 && (os.Args[1] == keeperRole || os.Args[1] == childRole)
	if helper || os.Getenv(asProgram) != "" {
		os.Exit(roles(os.Args[1:]))
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}
