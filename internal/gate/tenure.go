package gate

import "time"

// Tenure is one ownership of a name in Redis, under one owner id that is never used again.
type Tenure struct {
	ID        uint64
	Lease     time.Duration
	Deadline  Time // when it ends for us: sent + lease - margin of the last command that confirmed it
	Renew     Time // when the watchdog renews it
	Confirmed Time // when the last answer said that it is ours
	Unsure    Time // until when an acquire that got no answer may still run in Redis; 0: none such
	Epoch     uint32
	Watch     bool // the watchdog renews it
	Doubt     bool // something unusual was seen since the last confirmation: no handoff (rule 8)
	Resent    bool // a release left before the deadline and got no answer
	handed    uint16
}

// confirm counts the lease from sent, when the command that confirmed the tenure left.
func (t *Tenure) confirm(now, sent Time, lease time.Duration, cfg *Config) {
	t.Deadline = max(t.Deadline, sent+lease-margin(lease))
	t.Renew = sent + t.Lease/3
	t.Confirmed, t.Epoch, t.Doubt, t.handed = now, cfg.Epoch, false, 0
}

// gone is when the key has surely run out in Redis: its TTL counts from when a command ran, which was
// before its answer came, or, where none came, before the script began to refuse.
func (t *Tenure) gone() Time {
	return max(t.Confirmed, t.Unsure) + t.Lease + 2*margin(t.Lease)
}

// LateWindow is how long after it was sent an acquire may still take the lock: the script refuses it
// afterwards by the server's clock (rule 12). A link that takes longer than this is no link.
const LateWindow = 2 * time.Second

// unsure notes that an acquire sent then got no answer. A quarter of a second allows for what the
// engine knows of the server's clock.
func (t *Tenure) unsure(sent Time) { t.Unsure = sent + LateWindow + 250*time.Millisecond }
