package gate

import "time"

// RW is the machine of a read-write lock.
//
// Readers of this process share a tenure: who comes while it is joinable costs no command (rwenter.go). When that
// time is over later readers ask under a second tenure, and when there are two, for the newer one again
// (rwask.go). Such a question finds out who else listens: while this process reads, nobody but a writer has reason
// to wait, so that the readers let it come first and wait until what runs has ended. A writer has a tenure alone;
// it is handed on from writer to writer, and reads of its own Owner live under it, to become an ordinary read
// tenure when the last write ends, by a downgrade (rwend.go).
//
// Here, requests are served in the order of arrival. Readers who follow each other enter together. A reader that
// comes while a writer waits, waits behind it; only who reads or writes already, by its Owner, is let in at once.
type RW struct {
	rwHolds
	inFlight *rwLease // whom the command in flight is about; nil: an orphan

	yieldsToWriters bool    // it, asking for readers, is for nothing if others listen
	asks            retries // for the head of the queue, in vain
	suspected       bool    // the tenures were suspected after the command in flight was asked for
}

func newRW() Machine { return &RW{} }

func (r *RW) reset(cfg *Config) {
	*r = RW{rwHolds: rwHolds{lock: r.lock}}
	r.begin(cfg, &r.own)
}

// send sends the one command of the name, about g. The caller may fill in more, at once.
func (r *RW) send(op Op, g *rwLease, lease time.Duration, fx *Effects) *Command {
	r.inFlight, r.suspected = g, false
	return r.lock.send(op, g.ID, lease, fx)
}
