package report

import (
	"fmt"
	"regexp"
	"strings"
)

// Threshold is what a run must not do, as --fail says it: acquire.p99>5ms. It states the failure, not the aim: it is exceeded when its
// comparison is true.
type Threshold struct {
	text       string
	name       string  // of the metric
	comparison string  // a key of comparisons
	limit      float64 // in the unit of the metric: microseconds, a share from 0 to 1, bytes, or a plain number
}

var comparisons = map[string]func(value, limit float64) bool{
	">":  func(value, limit float64) bool { return value > limit },
	">=": func(value, limit float64) bool { return value >= limit },
	"<":  func(value, limit float64) bool { return value < limit },
	"<=": func(value, limit float64) bool { return value <= limit },
}

var expression = regexp.MustCompile(`^\s*([^<>=\s]+)\s*([<>=]+)\s*(\S+)\s*$`)

// ParseThreshold reads one. Its errors say what would be right: they are shown before anything is started.
func ParseThreshold(text string) (Threshold, error) {
	parts := expression.FindStringSubmatch(text)
	if parts == nil {
		return Threshold{}, fmt.Errorf("want a figure, one of > >= < <=, and a limit, such as acquire.p99>5ms or throughput<20k")
	}
	m, err := metric(parts[1])
	if err != nil {
		return Threshold{}, err
	}
	if comparisons[parts[2]] == nil {
		return Threshold{}, fmt.Errorf("%q compares nothing: want one of > >= < <=", parts[2])
	}
	limit, err := m.unit.read(parts[3])
	if err != nil {
		return Threshold{}, fmt.Errorf("%s is compared with %s, not with %q", m.Name, m.unit.want, parts[3])
	}
	return Threshold{strings.Join(parts[1:], ""), m.Name, parts[2], limit}, nil
}

// Exceeded says why runs do not pass, by the median of them; empty: they pass. What was not measured does not pass.
func (t *Threshold) Exceeded(runs []*Result) string {
	m, err := metric(t.name)
	if err != nil {
		panic(err) // it was found when this was parsed
	}
	spread, known := m.over(runs)
	switch {
	case !known:
		return fmt.Sprintf("--fail %s: nothing was measured that could show it", t.text)
	case !comparisons[t.comparison](spread.Median, t.limit):
		return ""
	case len(runs) > 1:
		return fmt.Sprintf("--fail %s: it is %s, the median of %d runs", t.text, m.unit.write(spread.Median), len(runs))
	default:
		return fmt.Sprintf("--fail %s: it is %s", t.text, m.unit.write(spread.Median))
	}
}
