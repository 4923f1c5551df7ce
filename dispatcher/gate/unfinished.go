package gate

import "time"

// unfinished is what this process has still to do about a name, besides its holds and the callers that wait: for its owner ids in Redis, and for
// callers that want another thing than to hold the name.
type unfinished struct {
	tokens    tokens // of a fenced lease, those that are left
	growing   chain  // what waits for a renewal of Lock.lease
	orphans   orphans
	releasing bool // the command in flight is the release of an orphan
	stay      stay
	adopting  chain // the callers that want to adopt the name (adopt.go)
	wanting   wanting
}

// forced reports whether an owner was to be released by force before the answer to its acquire came.
func (u *unfinished) forced(id uint64) (ack Settler, forced bool) {
	o, forced := u.orphans.take(id)
	return o.ack, forced
}

// stayFor is how long the name is to stay taken from now on.
func (u *unfinished) stayFor(now Time) time.Duration {
	return max(u.stay.lease, u.stay.least, CeilMillis(u.stay.until-now))
}

// endStay lets the name be free when it is released.
func (u *unfinished) endStay() {
	if u.stay != (stay{}) {
		u.stay = stay{}
	}
}
