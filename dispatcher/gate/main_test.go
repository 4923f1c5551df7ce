package gate

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var longFlag = flag.Bool("gate.long", false, "play three times as many seeds, and twice as many kinds of holds")

// usually is n, or long with -gate.long.
func usually[N any](n, long N) N {
	if *longFlag {
		return long
	}
	return n
}

// oneMessage is a message that somebody published, and that says that something is to be had.
var oneMessage = News{N: 1, Most: 1}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
