package scale_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// A hold is renewed three times in each lease for as long as it lasts, and not once more after its unlock.
func TestRenewals(t *testing.T) {
	t.Parallel()
	virtual.Test(t, func(w *virtual.World) {
		const lease, leases, looks = 30 * time.Second, 100, 30
		e, _ := w.Connect(testkit.Lease(lease))
		h := testkit.MustLock(w.T, e.Mutex("stock:7"))
		renewals, left := 0, lease
		for range leases * looks {
			time.Sleep(lease / looks)
			if owner := w.Server.Do("HKEYS", "stock:7").Array; len(owner) != 1 || owner[0].Str != h.TenureID() {
				w.T.Fatalf("the owner in Redis is %v, want %q", owner, h.TenureID())
			}
			now := time.Duration(w.Server.Do("PTTL", "stock:7").Int) * time.Millisecond
			if now > left {
				renewals++
			}
			if left = now; left < lease/2 {
				w.T.Fatalf("%v left", left)
			}
		}
		if renewals < 3*leases-1 || renewals > 3*leases+1 {
			w.T.Errorf("%d renewals in %d leases, want %d", renewals, leases, 3*leases)
		}
		testkit.MustUnlock(w.T, h)
		before := w.Server.Commands()
		time.Sleep(leases * lease)
		if n := w.Server.Commands() - before; n > 0 {
			w.T.Errorf("%d commands after the unlock, want none", n)
		}
	})
}
