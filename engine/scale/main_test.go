package scale_test

import (
	"os"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// measures skips a measurement where other tests may run beside it.
func measures(t *testing.T) {
	if os.Getenv("WHEELLOCK_FIGURES") == "" {
		t.Skip("SKIPPED: make figures measures it, while nothing else runs. NOT PROVED: what memory, allocations and time are needed.")
	}
}
