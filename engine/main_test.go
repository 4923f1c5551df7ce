package engine_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// notOurs are goroutines that end by themselves or live as long as the program: those of ants' package-wide pool,
// the second look that rueidis takes, up to a second after a connection broke or could not be made, whether
// there is a cluster, and the guard below.
var notOurs = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
	goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"),
	goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
	goleak.IgnoreAnyFunction("github.com/wheellock/wheellock/engine_test.guardMemory"),
}

// TestMain looks for goroutines that were left behind.
func TestMain(m *testing.M) {
	go guardMemory()
	goleak.VerifyTestMain(m, notOurs...)
}

// muchMemory is more than any test needs, with the race detector too.
const muchMemory = 6 << 30

// guardMemory ends a run whose memory grows without end, and says what grows and who runs, before the machine ends
// it and says nothing. In a bubble of testing/synctest a test that waits in vain does so at full speed.
func guardMemory() {
	for range time.Tick(time.Second) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if m.HeapAlloc < muchMemory {
			continue
		}
		fmt.Fprintf(os.Stderr, "the tests use %d MB of memory\n", m.HeapAlloc>>20)
		_ = pprof.Lookup("heap").WriteTo(os.Stderr, 1)
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		os.Exit(2)
	}
}
