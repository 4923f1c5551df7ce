package testkit

import (
	"hash/fnv"
	"os"
	"testing"
)

// OneOf skips the test under the race detector, where a world costs six times as much, unless its name is that of one in n. make test
// says by WHEELLOCK_RACED=1 that those run there: then only the others run without it.
func OneOf(tb testing.TB, n uint32) {
	tb.Helper()
	name := fnv.New32a()
	name.Write([]byte(tb.Name()))
	switch raced := name.Sum32()%n == 0; {
	case RaceDetector && !raced:
		tb.Skipf("SKIPPED under the race detector, which sees one in %d; make plain runs it", n)
	case !RaceDetector && raced && os.Getenv("WHEELLOCK_RACED") != "":
		tb.Skip("SKIPPED here; make race has it")
	}
}
