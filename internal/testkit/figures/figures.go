// Package figures is the arithmetic of reports: sums and medians (figures.go), distributions of durations (histogram.go), and how
// numbers are written for people (units.go).
package figures

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
)

// Jain is R. Jain's fairness index, (Σx)²/(n·Σx²): 1 when all have the same, 1/n when one has everything, 0 when nobody has any.
func Jain[N int64 | float64](shares []N) float64 {
	var sum, squares float64
	for _, share := range shares {
		sum += float64(share)
		squares += float64(share) * float64(share)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// Median is the middle value, or the mean of the two in the middle; 0 of nothing.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Spread is the middle of values and how far they lie apart.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// SpreadOf is that of values; of none it is all 0.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	return Spread{Median(values), slices.Min(values), slices.Max(values)}
}

// Add adds all numbers and histograms of from, in exported fields and structs in them, to those of to.
func Add[T any](to, from *T) { add(to, from, 1) }

// Subtract takes all numbers of from away from those of to.
func Subtract[T any](to, from *T) { add(to, from, -1) }

func add[T any](to, from *T, sign int64) {
	sums, parts := leaves(reflect.ValueOf(to).Elem()), leaves(reflect.ValueOf(from).Elem())
	for i, sum := range sums {
		switch {
		case sum.CanInt():
			sum.SetInt(sum.Int() + sign*parts[i].Int())
		case sum.CanUint():
			sum.SetUint(sum.Uint() + uint64(sign)*parts[i].Uint())
		case sum.CanFloat():
			sum.SetFloat(sum.Float() + float64(sign)*parts[i].Float())
		default:
			sum.Addr().Interface().(*Histogram).Add(parts[i].Addr().Interface().(*Histogram))
		}
	}
}

// Medians is the median of each number by itself. What is no number is as in the first.
func Medians[T any](all []T) (m T) {
	if len(all) == 0 {
		return m
	}
	m = all[0]
	columns := make([][]reflect.Value, len(all))
	for i := range all {
		columns[i] = leaves(reflect.ValueOf(&all[i]).Elem())
	}
	float := reflect.TypeFor[float64]()
	for i, to := range leaves(reflect.ValueOf(&m).Elem()) {
		var values []float64
		for _, column := range columns {
			values = append(values, column[i].Convert(float).Float())
		}
		to.Set(reflect.ValueOf(Median(values)).Convert(to.Type()))
	}
	return m
}

// leaves are the numbers and histograms of a struct, in their order.
func leaves(v reflect.Value) (all []reflect.Value) {
	switch {
	case !v.CanSet():
	case v.CanInt(), v.CanUint(), v.CanFloat(), v.Type() == reflect.TypeFor[Histogram]():
		all = append(all, v)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			all = append(all, leaves(v.Field(i))...)
		}
	}
	return all
}

// SaveJSON writes a value to a file.
func SaveJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
