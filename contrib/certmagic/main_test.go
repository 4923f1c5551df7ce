package wheelcert_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/wheellock/wheellock/internal/testkit"
)

func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"PEBBLE_VA_ALWAYS_VALID": "1", // who serves a name is not asked
		"PEBBLE_VA_NOSLEEP":      "1",
		"PEBBLE_WFE_NONCEREJECT": "0",
	} {
		os.Setenv(name, value)
	}
	testkit.Main(m, // these live as long as the program
		goleak.IgnoreAnyFunction("github.com/letsencrypt/pebble/v2/va.VAImpl.processTasks"),
		goleak.IgnoreAnyFunction("github.com/caddyserver/certmagic.(*RingBufferRateLimiter).loop"))
}
