package chart

import (
	"math"
	"slices"
	"strconv"

	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// Axis places values between 0 and 1.
type Axis struct {
	From, To float64 // what lies at 0 and at 1; above 0 if Log
	Log      bool    // equal factors take equal lengths
	Ticks    []Tick
}

// Tick is a value with its text.
type Tick struct {
	Value float64
	Text  string
}

// At is where a value lies; outside of the axis it lies at its end.
func (a *Axis) At(value float64) float64 {
	from, to := a.From, a.To
	if a.Log {
		value, from, to = math.Log10(max(value, a.From)), math.Log10(from), math.Log10(to)
	}
	return min(max((value-from)/(to-from), 0), 1)
}

// Scale says of a logarithmic axis that it is one, and where it begins, which is not at 0. Of others it says nothing.
func (a *Axis) Scale() string {
	if !a.Log {
		return ""
	}
	return "logarithmic scale from " + a.Ticks[0].Text
}

// Linear is an axis from 0 to a round number that is not less than most. Its ticks are 1, 2 or 5 times a power of ten apart, but not less
// than finest, which is 1 for what is counted. There are at most five besides 0: more would not be read on a phone.
func Linear(most, finest float64, write func(float64) string) Axis {
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
	step = max(step, finest)
	a := Axis{To: step * math.Ceil(most/step-1e-9)}
	for i := 0; float64(i)*step <= a.To*(1+1e-9); i++ {
		a.Ticks = append(a.Ticks, Tick{float64(i) * step, write(float64(i) * step)})
	}
	return a
}

// Logarithmic is an axis over whole powers of ten that has both values on it, which are above 0. Without any value least is above most.
func Logarithmic(least, most float64, write func(float64) string) Axis {
	if least > most {
		least, most = 1, 1000
	}
	first, last := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	if last <= first {
		last = first + 1
	}
	a := Axis{From: math.Pow(10, first), To: math.Pow(10, last), Log: true}
	for power := first; power <= last; power++ {
		value := math.Pow(10, power)
		a.Ticks = append(a.Ticks, Tick{value, write(value)})
	}
	return a
}

// apart keeps the text of every tick, or of every second, third and so on, so that none covers another. before is how much of a text stands
// before its place: 0 nothing, 0.5 half of it.
func apart(ticks []Tick, place func(float64) float64, size, before float64) []Tick {
	for stride := 1; ; stride++ {
		some, free, covered := slices.Clone(ticks), math.Inf(-1), false
		for i := range some {
			if i%stride != 0 {
				some[i].Text = ""
				continue
			}
			long := textWidth(some[i].Text, size)
			begin := place(some[i].Value) - long*before
			covered = covered || begin < free
			free = begin + long + size/2
		}
		if !covered {
			return some
		}
	}
}

// Micros writes microseconds that are a power of ten: "10 µs".
func Micros(us float64) string {
	switch {
	case us < 0.999:
		return strconv.FormatFloat(us*1e3, 'g', 3, 64) + " ns"
	case us < 999:
		return strconv.FormatFloat(us, 'g', 3, 64) + " µs"
	case us < 999e3:
		return strconv.FormatFloat(us/1e3, 'g', 3, 64) + " ms"
	default:
		return strconv.FormatFloat(us/1e6, 'g', 3, 64) + " s"
	}
}

// Count writes a number in a few places: "250k".
func Count(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 4, 64) + "k"
	default:
		return figures.Grouped(int64(math.Round(v)))
	}
}
