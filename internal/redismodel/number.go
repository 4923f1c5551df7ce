package redismodel

import (
	"math"
	"strconv"
	"strings"
)

// parseInt reads an integer as Redis does: no plus sign, no leading zero, no space.
func parseInt(s string) (int64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || digits[0] == '0' && len(s) > 1 {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// parseFloat reads a number as Redis does where it reads scores.
func parseFloat(s string) (float64, bool) {
	if s == "" || isSpace(s[0]) {
		return 0, false
	}
	f, read, inRange := strtod(s)
	return f, read && inRange && !math.IsNaN(f)
}

// strtod is C's, of a whole text; read: it is a number; inRange: a float64 can hold it.
func strtod(s string) (f float64, read, inRange bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	if strings.IndexByte(s, '_') >= 0 {
		return 0, false, false
	}
	if bare := strings.ToLower(strings.TrimLeft(s, "+-")); strings.HasPrefix(bare, "0x") && !strings.ContainsRune(bare, 'p') {
		s += "p0" // C asks for no exponent
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return f, math.IsInf(f, 0), false
	}
	if f == 0 {
		mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
		return f, true, !strings.ContainsAny(mantissa, "123456789")
	}
	return f, true, true
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// formatFloat is how Redis answers a score.
func formatFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case isWhole(f, 1<<52):
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', 17, 64)
}

// isWhole reports whether a number is an integer below a bound, and not the negative zero.
func isWhole(f, bound float64) bool {
	return f == math.Trunc(f) && math.Abs(f) < bound && (f != 0 || !math.Signbit(f))
}

// addOverflows reports whether a sum of two is none that 64 bits hold.
func addOverflows(a, b int64) bool {
	return b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b
}
