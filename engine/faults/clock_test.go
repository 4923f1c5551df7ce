package faults_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
	"github.com/wheellock/wheellock/scripts"
)

// Leases are durations, and what is an instant is one of the server's clock: no script sets an expiry as a
// client's clock has it. So the two clocks may differ by any time, and each may be set.
// invariant: clock-counts-suspension
func TestFaultNoWallClockInScripts(t *testing.T) {
	t.Parallel()
	absolute := regexp.MustCompile(`(?i)\b(PEXPIREAT|EXPIREAT|PXAT|EXAT)\b`)
	for _, s := range []scripts.Script{scripts.Acquire, scripts.Release, scripts.Renew, scripts.Confirm, scripts.Inspect} {
		if found := absolute.FindString(s.Text); found != "" {
			t.Errorf("%s uses %s", s.Name, found)
		}
	}
	for _, apart := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		virtual.Test(t, func(w *virtual.World) {
			w.Server.Step(apart)
			e, _ := w.Connect()
			h := testkit.MustLock(w.T, e.Mutex("timed"))
			if left := w.Server.Do("PTTL", "timed").Int; left < 29_990 || left > 30_000 {
				w.T.Errorf("with clocks %v apart %d ms are left", apart, left)
			}
			testkit.MustUnlock(w.T, h)
			w.Quiet(e, 0)
		})
	}
}
