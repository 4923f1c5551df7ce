package redistest

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		os.Exit(m.Run()) // ends by being killed: see TestChildDiesWithItsParent
	}
	goleak.VerifyTestMain(m)
}
