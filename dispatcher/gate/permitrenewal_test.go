package gate

import (
	"testing"
	"time"
)

// renewable is holds of n permits each, which are due one after the other from now on, the first of them at once.
func renewable(now Time, n int64, holds int) *permits {
	m := &permits{ends: timed[*permit]{by: byEnd}}
	for i := range holds {
		p := &permit{ps: m, h: &Hold{}, n: n, Tenure: Tenure{ID: uint64(1000 * i), LeaseTime: time.Duration(i+2) * time.Second, Watch: true}}
		m.due.put(p, now+Time(i/2))
	}
	return m
}

// One call renews several holds: it is as urgent as the shortest lease, and the next is due when the first of the others is. An
// extension that is longer than the watchdog's lease counts.
// invariant: hold-within-tenure
func TestARenewalOfSeveralHolds(t *testing.T) {
	const now = time.Hour
	m := renewable(now, 1, 8)
	if c, due := m.renewDue(now + 1); !due || c.LeaseTime != 2*time.Second || len(c.Ack.(*renewal).some) != 4 || m.due.next() != now+2 {
		t.Fatalf("due %v, as urgent as %v, the next in %v; want the lease of 2s, and 2ns", due, c.LeaseTime, m.due.next()-now)
	}
	m = renewable(now, 400, 5)
	for left := 5; left > 0; left -= 2 { // a call is short, however many permits a hold has
		c, due := m.renewDue(now + 9)
		if renewed := len(c.Ack.(*renewal).some); !due || renewed != min(left, 2) {
			t.Fatalf("of %d holds with 400 permits each a call renews %d, want 2", left, renewed)
		}
	}
	m = &permits{sent: now, ends: timed[*permit]{by: byEnd}}
	p := &permit{ps: m, h: &Hold{}, Tenure: Tenure{LeaseTime: time.Second, Watch: true}, extend: time.Minute}
	if m.confirm(renewed{p, time.Minute}); p.Deadline != now+time.Minute-margin(time.Minute) {
		t.Errorf("extended by a minute it ends after %v", p.Deadline-now)
	}
}
