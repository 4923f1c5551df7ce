package chaos

import (
	"cmp"
	"slices"
)

// exclusion checks that holds that exclude each other were never believed in at the same time: each surely lasts
// from when its grant was heard of until its deadline, its Unlock or the notice of its end.
func (h *history) exclusion() {
	for p, holds := range h.granted() {
		slices.SortFunc(holds, func(a, b *hold) int { return cmp.Compare(a.grantedAt, b.grantedAt) })
		var living []*hold
		for _, c := range holds {
			if c.surelyUntil() <= c.grantedAt {
				continue
			}
			living = slices.DeleteFunc(living, func(l *hold) bool { return l.surelyUntil() <= c.grantedAt })
			sum := c.n
			for _, l := range living {
				sum += l.n
				if p.Permits == 0 && c.excludes(l) {
					h.fail("exclusion", "%s and %s were held together", l.name(), c.name())
				}
			}
			if p.Permits > 0 && sum > p.Permits {
				h.fail("exclusion", "%d of %d permits of %s were held together, by %s", sum, p.Permits, p.Name, c.name())
			}
			living = append(living, c)
		}
		h.figures.Checked += len(holds)
	}
}

// excludes reports whether two holds of one name may not be at the same time.
func (c *hold) excludes(o *hold) bool {
	if c.owner == o.owner {
		return false
	}
	return c.place.Kind != rws || c.write || o.write
}
