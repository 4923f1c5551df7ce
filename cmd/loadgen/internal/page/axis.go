package page

import "math"

// axis places values between 0 and 1.
type axis struct {
	from, to float64 // what lies at 0 and at 1; above 0 if log
	log      bool    // equal factors take equal lengths
	ticks    []mark
}

// mark is a value with its text.
type mark struct {
	value float64
	text  string
}

// at is where a value lies; outside of the axis it lies at its end.
func (a *axis) at(value float64) float64 {
	from, to := a.from, a.to
	if a.log {
		value, from, to = math.Log10(max(value, a.from)), math.Log10(from), math.Log10(to)
	}
	return min(max((value-from)/(to-from), 0), 1)
}

// linear is an axis from 0 to a round number that is not less than most. Its ticks are 1, 2 or 5 times a power of ten apart, and at most
// five besides 0: more would not be read on a phone.
func linear(most float64, write func(float64) string) axis {
	if most <= 0 {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most/4)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if step*factor*5 >= most {
			step *= factor
			break
		}
	}
	a := axis{to: step * math.Ceil(most/step-1e-9)}
	for i := 0; float64(i)*step <= a.to*(1+1e-9); i++ {
		a.ticks = append(a.ticks, mark{float64(i) * step, write(float64(i) * step)})
	}
	return a
}

// logarithmic is an axis over whole powers of ten that has both values on it, which are above 0.
func logarithmic(least, most float64, write func(float64) string) axis {
	first, last := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	if last <= first {
		last = first + 1
	}
	a := axis{from: math.Pow(10, first), to: math.Pow(10, last), log: true}
	for power := first; power <= last; power++ {
		value := math.Pow(10, power)
		a.ticks = append(a.ticks, mark{value, write(value)})
	}
	return a
}
