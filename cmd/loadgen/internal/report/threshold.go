package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Threshold is what a run must not do, as --fail says it: acquire.p99>5ms. It states the failure, not the aim: it is exceeded when its
// comparison is true.
type Threshold struct {
	text       string
	name       string  // of the metric
	comparison string  // a key of comparisons
	limit      float64 // in the unit of the metric: microseconds, a share from 0 to 1, bytes, or a plain number
	change     bool    // limit is in percent, of what changed from one result to another
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
	t, m, limit, err := parse(text)
	if err != nil {
		return t, err
	}
	if t.limit, err = m.unit.read(limit); err != nil {
		return t, fmt.Errorf("%s is compared with %s, not with %q", m.Name, m.unit.want, limit)
	}
	return t, nil
}

// percentage is a limit of a change.
var percentage = regexp.MustCompile(`^[+-][0-9]+(\.[0-9]+)?%$`)

// ParseChange reads a threshold for two results. A limit with a sign and %, such as +10%, is one of the change of the median from the first
// to the second; any other is one of the second.
func ParseChange(text string) (Threshold, error) {
	t, _, limit, err := parse(text)
	switch {
	case err != nil || !strings.ContainsAny(limit[:1], "+-"):
		return ParseThreshold(text)
	case !percentage.MatchString(limit):
		return t, fmt.Errorf("%q has a sign, so it is a change: want a percentage, such as -5%%", limit)
	}
	t.change = true
	t.limit, err = strconv.ParseFloat(strings.TrimSuffix(limit, "%"), 64)
	return t, err
}

// parse reads a threshold but for its limit.
func parse(text string) (t Threshold, m Metric, limit string, err error) {
	parts := expression.FindStringSubmatch(text)
	if parts == nil {
		return t, m, "", fmt.Errorf("want a figure, one of > >= < <=, and a limit, such as acquire.p99>5ms or throughput<20k")
	}
	if m, err = metric(parts[1]); err != nil {
		return t, m, "", err
	}
	if comparisons[parts[2]] == nil {
		return t, m, "", fmt.Errorf("%q compares nothing: want one of > >= < <=", parts[2])
	}
	return Threshold{text: strings.Join(parts[1:], ""), name: m.Name, comparison: parts[2]}, m, parts[3], nil
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

// ExceededBy says why the second of two results does not pass, as Exceeded does.
func (t *Threshold) ExceededBy(a, b []*Result) string {
	if !t.change {
		return t.Exceeded(b)
	}
	m, err := metric(t.name)
	if err != nil {
		panic(err) // it was found when this was parsed
	}
	before, inA := m.over(a)
	after, inB := m.over(b)
	switch by := change(before, after); {
	case !inA || !inB:
		return fmt.Sprintf("--fail %s: nothing was measured that could show it", t.text)
	case before.Median == after.Median, !comparisons[t.comparison](by, t.limit):
		return ""
	default:
		return fmt.Sprintf("--fail %s: it went from %s to %s, by %+.1f%%", t.text, m.unit.write(before.Median), m.unit.write(after.Median), by)
	}
}
