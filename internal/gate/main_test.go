package gate

import (
	"testing"

	"go.uber.org/goleak"
)

// oneMessage is a message that somebody published, and that says that something is to be had.
var oneMessage = News{N: 1, Most: 1}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
