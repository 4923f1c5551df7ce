package testkit

import (
	"hash/fnv"
	"testing"
)

// OneOf skips the test under the race detector, where a world costs six times as much, unless its name is that of one in n. make plain
// runs all.
func OneOf(tb testing.TB, n uint32) {
	tb.Helper()
	if !RaceDetector {
		return
	}
	name := fnv.New32a()
	name.Write([]byte(tb.Name()))
	if name.Sum32()%n != 0 {
		tb.Skipf("SKIPPED under the race detector, which sees one in %d; make plain runs it", n)
	}
}
