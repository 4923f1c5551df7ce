package load

import (
	"testing"

	"github.com/wheellock/wheellock/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
