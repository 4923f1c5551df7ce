package engine_test

import (
	"testing"

	"go.uber.org/goleak"
)

// notOurs are goroutines that end by themselves or live as long as the program: those of ants' package-wide pool,
// and the second look that rueidis takes, up to a second after a connection broke or could not be made, whether
// there is a cluster.
var notOurs = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
	goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"),
	goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
}

// TestMain looks for goroutines that were left behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, notOurs...) }
