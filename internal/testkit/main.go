// Package testkit is what the tests of the engine share: engines on real servers (engine.go), calls that must succeed (calls.go),
// what must be left when all is over (quiet.go), how often something is tried (scale.go),
// clusters (cluster.go), a client that is not ours (outsider.go), the rights of SECURITY.md (acl.go),
// servers with TLS (authority.go).
//
// The servers and the fault proxy are in internal/redistest.
package testkit

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// NotOurs are goroutines that end by themselves or live as long as the program: those of the package-wide pool of ants, the
// second look of rueidis whether there is a cluster, which comes up to a second after a connection broke or could not be made,
// its wait of five seconds before it closes connections to nodes that have left, and the guard below.
var NotOurs = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
	goleak.IgnoreAnyFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"),
	goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
	goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
	goleak.IgnoreAnyFunction("github.com/wheellock/wheellock/internal/testkit.guardMemory"),
}

// together is how many parallel tests of a package run at once, if -parallel says nothing: most wait more than they compute.
const together = "8"

// Main runs the tests of a package, and fails them if they leave goroutines behind, but for NotOurs and those that are named besides.
func Main(m *testing.M, besides ...goleak.Option) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", together); err != nil {
			panic(err) // the testing package has another flag now
		}
	}
	go guardMemory()
	goleak.VerifyTestMain(m, slices.Concat(NotOurs, besides)...)
}

// muchMemory is more than any test needs, with the race detector too.
const muchMemory = 6 << 30

// guardMemory ends a run whose memory grows without end, and prints what grows and who runs, before the machine ends it and
// prints nothing. In a bubble of testing/synctest a test that waits in vain does so at full speed.
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
