package bubble

import "time"

// wholeTime is after how long a hold of a majority has the part of a server that is up and free: a renewal finds that it is gone, the
// server is asked for another once all others were asked, too, and may take a tenth of the lease to answer. A new connection takes some
// seconds.
func (w *World) wholeTime() time.Duration { return 2*w.plan.lease/3 + w.plan.lease/5 + 3*time.Second }

// whole judges that a watched hold of a majority gets what it lacks (invariant: quorum-counts-living-parts). It lacks nothing that
// others ask for: each of their questions may take the part for a moment.
func (j *judge) whole(one *held) {
	if one.s.kind != quorumKind || one.fixed {
		return
	}
	for i, s := range j.w.servers {
		if s.Do("EXISTS", one.s.name).Int == 1 || j.othersAsk(one) {
			delete(one.lacks, i)
			continue
		}
		if one.lacks == nil {
			one.lacks = make(map[int]time.Time)
		}
		since, known := one.lacks[i]
		if !known {
			since = time.Now()
			one.lacks[i] = since
		}
		if most := j.w.wholeTime(); time.Since(since) > most && one.p.well() > most {
			j.w.violation("whole", "%v holds %s by %s, and lacks server %s since %v", one.p, one.s.name, one.h.TenureID(), s.Name, since.Sub(j.w.began))
			delete(one.lacks, i)
		}
	}
}

// othersAsk reports whether another process asks for the name of a hold.
func (j *judge) othersAsk(one *held) bool {
	for p, asked := range j.asking {
		if p != one.p && asked[one.s.name] > 0 {
			return true
		}
	}
	return false
}
