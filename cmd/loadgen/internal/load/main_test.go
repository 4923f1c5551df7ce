package load

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain looks for goroutines that were left behind. Those of ants' package-wide pool start with the program; a
// rueidis client that could not connect sleeps up to a second before it ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}
