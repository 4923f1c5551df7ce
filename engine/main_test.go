package engine_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain looks for goroutines that were left behind. Those of ants' package-wide pool start with the program.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}
