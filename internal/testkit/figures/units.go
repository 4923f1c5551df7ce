package figures

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Short writes a duration with three digits and its unit, in at most 7 places: "870 ns", "12.3 µs", "1.05 s".
func Short(d time.Duration) string {
	if d < time.Microsecond {
		return strconv.FormatInt(int64(d), 10) + " ns"
	}
	value, units := float64(d)/1e3, []string{"µs", "ms", "s"}
	for value >= 999.5 && len(units) > 1 {
		value, units = value/1e3, units[1:]
	}
	return Three(value) + " " + units[0]
}

// Micros writes microseconds.
func Micros(us float64) string { return Short(time.Duration(us * 1e3)) }

// Three writes a number with three digits: "1.23", "12.3", "123"; "1,234" when it has more before the point;
// two when it is small: "0.012".
func Three(value float64) string {
	switch {
	case value == 0:
		return "0"
	case value < 0.0995:
		return strconv.FormatFloat(value, 'g', 2, 64)
	case value < 9.995:
		return strconv.FormatFloat(value, 'f', 2, 64)
	case value < 99.95:
		return strconv.FormatFloat(value, 'f', 1, 64)
	default:
		return Grouped(int64(value + 0.5))
	}
}

// Grouped writes a whole number with commas: "1,234,567".
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return sign + b.String()
}

// Many writes a whole number in at most 7 places: "48", "12,345", "1.23 M".
func Many(n int64) string {
	switch {
	case n < 1e6:
		return Grouped(n)
	case n < 1e9:
		return Three(float64(n)/1e6) + " M"
	default:
		return Three(float64(n)/1e9) + " G"
	}
}

// Parse reads a number, that may have a k or M behind it. What is no number, such as NaN, or larger than anything can be asked for, is
// an error, so that no reader converts it.
func Parse(text string) (float64, error) {
	factor := 1.0
	for suffix, f := range map[string]float64{"k": 1e3, "M": 1e6} {
		if digits, found := strings.CutSuffix(text, suffix); found {
			text, factor = digits, f
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if v != v || v > 1e15 || v < -1e15 {
		err = strconv.ErrRange
	}
	return v * factor, err
}

// Percent writes a share: "87.1%".
func Percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// Number writes a count with its noun: "1 caller", "64 callers", "2 processes".
func Number(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return Grouped(n) + " " + noun + "s"
}

// Bytes writes a size: "480 B", "1.20 kB".
func Bytes(n float64) string {
	if n < 999.5 {
		return fmt.Sprintf("%.0f B", n)
	}
	return Three(n/1e3) + " kB"
}

// Share is part of whole; nil when there is no whole.
func Share(part, whole float64) *float64 {
	if whole == 0 {
		return nil
	}
	s := part / whole
	return &s
}

// Shown writes a number that may be unknown.
func Shown(value *float64, write func(float64) string) string {
	if value == nil {
		return "n/a"
	}
	return write(*value)
}
