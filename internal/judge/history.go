package judge

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

func asked(c Call) Time   { return c.Asked }
func granted(c Call) Time { return c.Granted }

// by puts calls in the order of a time.
func by[C Judged](calls []C, time func(Call) Time) []C {
	return slices.SortedStableFunc(slices.Values(calls), func(a, b C) int { return cmp.Compare(time(a.Judged()), time(b.Judged())) })
}

// Overlaps yields each hold for which there was no room when its grant was heard of, with those who surely had theirs then.
func Overlaps[C Judged](permits int64, calls []C) iter.Seq2[C, []C] {
	return func(yield func(C, []C) bool) {
		var living []C
		for _, of := range by(calls, granted) {
			c := of.Judged()
			if c.Granted == 0 || c.Until <= c.Granted { // nobody ever believed in it
				continue
			}
			living = slices.DeleteFunc(living, func(l C) bool { return l.Judged().Until <= c.Granted })
			if Excludes(permits, of, living...) && !yield(of, living) {
				return
			}
			living = append(living, of)
		}
	}
}

// Tokens yields each call with a fencing token that is not above that of one granted before it was asked for, or is there twice, and
// that other one. Who enters again keeps the token of the owner.
func Tokens[C Judged](calls []C) iter.Seq2[C, C] {
	return func(yield func(C, C) bool) {
		heard, given := by(calls, granted), make(map[int64]C)
		var highest C
		most := int64(0)
		for _, of := range by(calls, asked) {
			c := of.Judged()
			if c.Granted == 0 {
				continue
			}
			for ; heard[0].Judged().Granted < c.Asked; heard = heard[1:] {
				if token := heard[0].Judged().Token; token > most {
					highest, most = heard[0], token
				}
			}
			other, wrong := given[c.Token]
			if wrong {
				wrong = c.Owner == nil || c.Owner != other.Judged().Owner
			} else {
				other, wrong = highest, c.Token <= most
			}
			if wrong && !yield(of, other) {
				return
			}
			given[c.Token] = of
		}
	}
}

// Order yields each two that waited, of which the second was granted and had been called more than apart after the first, while that one
// waited; and whether the second was granted before the first had its answer, which no fair lock does.
func Order[C Judged](calls []C, apart time.Duration) iter.Seq2[[2]C, bool] {
	return func(yield func([2]C, bool) bool) {
		all := by(slices.DeleteFunc(slices.Clone(calls), func(c C) bool { return c.Judged().Tried || c.Judged().Answered == 0 }), asked)
		for i, first := range all {
			a := first.Judged()
			for _, second := range all[i+1:] {
				b := second.Judged()
				if b.Asked > a.Answered {
					break
				}
				if b.Granted != 0 && b.Asked >= a.Asked+Time(apart) && !yield([2]C{first, second}, b.Granted < a.Answered) {
					return
				}
			}
		}
	}
}

// Gap is a time in which a name surely was free, and those who waited for it at its end.
type Gap[C any] struct {
	From, To Time
	Waiting  []C
}

// Gaps yields the times in which a name was free while somebody waited. One in which more join or leave is yielded each time, from its
// beginning on.
func Gaps[C Judged](calls []C) iter.Seq[Gap[C]] {
	type change struct {
		at          Time
		held, waits int // more or less
		of          C
	}
	var changes []change
	for _, of := range calls {
		c := of.Judged()
		if c.Answered != 0 && !c.Tried {
			changes = append(changes, change{c.Asked, 0, 1, of}, change{c.Answered, 0, -1, of})
		}
		if c.Granted != 0 {
			changes = append(changes, change{c.Granted, 1, 0, of}, change{max(c.Free, c.Granted), -1, 0, of})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	return func(yield func(Gap[C]) bool) {
		held, since := 0, Time(0)
		var waiting []C
		for _, ch := range changes {
			free := held == 0 && len(waiting) > 0
			if free && !yield(Gap[C]{since, ch.at, waiting}) {
				return
			}
			if !free {
				since = ch.at
			}
			held += ch.held
			if ch.waits > 0 {
				waiting = append(waiting, ch.of)
			} else if ch.waits < 0 {
				waiting = slices.Delete(waiting, slices.Index(waiting, ch.of), slices.Index(waiting, ch.of)+1)
			}
		}
	}
}
