package interop

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/wheellock/wheellock/internal/testkit"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(oursAt); addr != "" {
		serve(addr)
		return
	}
	goleak.VerifyTestMain(m, append(testkit.NotOurs,
		// rueidis' look at a cluster keeps connections that it has dropped for five seconds more.
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"))...)
}
