package gate

// mayYield reports whether readers let outside writers come first: not an Owner that reads already, who would wait
// for itself, and not after nobody took what we left to others.
func (r *RW) mayYield(now Time, w *Waiter) bool {
	return now >= r.contention.yieldFree && (w.Owner == 0 || r.owners[w.Owner] == nil)
}

// letWritersPass bounds how long readers wait, beside those of ours who read, for others who listen: these may wait to write,
// or only listen, and a hold may last for hours. It is a yield of the longest kind, for a writer gets in only when all
// reads that run have ended; it was in vain when we read still. After yieldsInVain of them readers rest from waiting.
func (r *RW) letWritersPass(now Time) {
	switch {
	case r.queue.head == nil || !r.leases.reads():
	case now < r.contention.yieldFree:
		r.askAt = now
	default:
		r.contention.yield = longestYield
		r.askAt = min(r.askAt, now+longestYield)
	}
}
