package rivals

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/wheellock/wheellock/internal/chaos"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, chaos.NotOurs...) }
