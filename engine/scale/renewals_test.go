package scale_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// The time in this test is real, as the lease in Redis is. The lease is as short as a machine that is busy
// with something else for three seconds allows.
func TestScaleOfRenewals(t *testing.T) {
	t.Parallel() // it mostly waits
	const lease, leases = 5 * time.Second, 4
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), testkit.Lease(lease))
	h, err := e.Mutex("stock:7").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	monitor := server.Monitor()
	look := time.NewTicker(lease / 20)
	defer look.Stop()
	least := lease
	for end := time.Now().Add(leases * lease); time.Now().Before(end); <-look.C {
		if err := h.Err(); err != nil {
			t.Fatalf("the hold ended: %v", err)
		}
		if owner := server.MustDo("HKEYS", "stock:7").Texts(); len(owner) != 1 || owner[0] != h.TenureID() {
			t.Fatalf("the owner in Redis is %q, want %q", owner, h.TenureID())
		}
		least = min(least, time.Duration(server.MustDo("PTTL", "stock:7").Int)*time.Millisecond)
	}
	renewals := commandsAbout(monitor, "stock:7", "pexpire")
	t.Logf("held for %d leases of %v: %d renewals, at least %v left", leases, lease, renewals, least)
	if renewals < leases || renewals > 4*leases { // three in each, when nothing goes wrong
		t.Errorf("%d renewals in %d leases, want about %d", renewals, leases, 3*leases)
	}

	if err := h.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	monitor = server.Monitor()
	time.Sleep(lease) // the watchdog would come three times
	if n := commandsAbout(monitor, "stock:7", ""); n > 0 {
		t.Errorf("%d commands about the name in the lease after its unlock, want none", n)
	}
}

// commandsAbout counts the commands with a key, and of that name if there is one, that a monitor has seen.
func commandsAbout(m *redistest.Monitor, key, command string) (n int) {
	for _, line := range m.Stop() {
		if strings.Contains(line, `"`+key+`"`) && (command == "" || strings.Contains(strings.ToLower(line), `"`+command+`"`)) {
			n++
		}
	}
	return n
}
