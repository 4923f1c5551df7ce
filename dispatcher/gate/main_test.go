package gate

import (
	"testing"

	"go.uber.org/goleak"
)

// few reports whether to play only some of the worlds and seeds: with -short, and under the race detector, which makes
// these tests eight times as slow and finds little in state machines without goroutines. make test plays all without it.
func few() bool { return testing.Short() || raceDetector }

// oneMessage is a message that somebody published, and that says that something is to be had.
var oneMessage = News{N: 1, Most: 1}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
