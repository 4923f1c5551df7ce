package bubble

import (
	"strconv"

	"github.com/wheellock/wheellock/scripts"
)

// count judges the names that count.
func (j *judge) count() {
	for _, s := range j.w.subjects {
		total, taken, unsure, void := s.tally.read()
		if void {
			continue
		}
		switch s.kind {
		case permitKind:
			j.countPermits(s, total)
		case semaphoreKind:
			if free := j.number(s.name); free+taken > total+unsure && total > 0 {
				j.w.violation("permits", "%s: %d of %d are free, %d are taken, %d may have been given", s.name, free, total, taken, unsure)
			}
		}
	}
}

// countPermits: what is held and what is free is what was set, at every moment.
func (j *judge) countPermits(s *subject, total int64) {
	free, held := j.number(s.name), j.w.servers[0].Do("ZCARD", scripts.PermitsKey(s.name)).Int
	if free+held != total {
		j.w.violation("permits", "%s: %d are free and %d held, of %d", s.name, free, held, total)
		s.tally.destroy()
	}
}

func (j *judge) number(key string) int64 {
	n, _ := strconv.ParseInt(j.w.servers[0].Do("GET", key).Str, 10, 64)
	return n
}
