package gate

import (
	"testing"
	"time"
)

// One call renews several holds: it is as urgent as the shortest lease, and the next is due when the first of the others is. An
// extension that is longer than the watchdog's lease counts.
// invariant: hold-within-tenure
func TestARenewalOfSeveralHolds(t *testing.T) {
	const now = time.Hour
	for range 20 { // a map has no order
		m := &permits{held: make(map[*Hold]*permit)}
		for i := range 8 {
			h := &Hold{}
			due := &permit{h: h, n: 1, Tenure: Tenure{ID: uint64(i + 1), Lease: time.Duration(i+2) * time.Second, Watch: true, Next: now}}
			m.held[h] = due
			h = &Hold{}
			m.held[h] = &permit{h: h, n: 1, Tenure: Tenure{ID: uint64(i + 101), Lease: time.Second, Watch: true, Next: now + Time(i+1)}}
		}
		if c, due := m.renewDue(now); !due || c.Lease != 2*time.Second || m.renewAt != now+1 {
			t.Fatalf("due %v, as urgent as %v, the next in %v; want the lease of 2s, and 1ns", due, c.Lease, m.renewAt-now)
		}
	}
	m := &permits{held: make(map[*Hold]*permit)}
	for i := range 5 { // a call is short, however many permits a hold has
		h := &Hold{}
		m.held[h] = &permit{h: h, n: 400, Tenure: Tenure{ID: uint64(1000 * i), Lease: time.Second, Watch: true, Next: now}}
	}
	for left := 5; left > 0; left -= 2 {
		c, due := m.renewDue(now)
		if renewed := len(c.Ack.(*renewal).some); !due || renewed != min(left, 2) {
			t.Fatalf("of %d holds with 400 permits each a call renews %d, want 2", left, renewed)
		}
	}
	m = &permits{sent: now, renewAt: Never, endAt: Never}
	p := &permit{h: &Hold{}, Tenure: Tenure{Lease: time.Second, Watch: true, Next: Never}, extend: time.Minute}
	if m.confirm(renewed{p, time.Minute}); p.Deadline != now+time.Minute-margin(time.Minute) {
		t.Errorf("extended by a minute it ends after %v", p.Deadline-now)
	}
}
