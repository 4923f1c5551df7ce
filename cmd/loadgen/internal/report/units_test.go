package report

import (
	"testing"
	"time"
	"unicode/utf8"
)

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ns", 870: "870 ns", 999: "999 ns", 1000: "1.00 µs", 12_345: "12.3 µs", 123_456: "123 µs", 999_499: "999 µs", 999_500: "1.00 ms",
		9_994_000: "9.99 ms", 9_995_000: "10.0 ms", 99_950_000: "100 ms", time.Second: "1.00 s", 61 * time.Second: "61.0 s", time.Hour: "3,600 s",
	} {
		got := short(d)
		if got != want {
			t.Errorf("short(%d) = %q, want %q", int64(d), got, want)
		}
		if n := utf8.RuneCountInString(got); n > 7 {
			t.Errorf("short(%d) = %q takes %d places", int64(d), got, n)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{three(0), "0"}, {three(0.0123), "0.012"}, {three(0.5), "0.50"}, {three(9.994), "9.99"}, {three(12.34), "12.3"}, {three(1234.5), "1,235"},
		{grouped(0), "0"}, {grouped(999), "999"}, {grouped(1000), "1,000"}, {grouped(-1234567), "-1,234,567"},
		{many(999_999), "999,999"}, {many(1_234_567), "1.23 M"}, {many(12_345_678_901), "12.3 G"},
		{percent(0.8714), "87.1%"}, {percent(1), "100.0%"},
		{number(1, "process"), "1 process"}, {number(2, "process"), "2 processes"}, {number(1500, "name"), "1,500 names"},
		{bytes(480), "480 B"}, {bytes(1234), "1.23 kB"},
		{shown(nil, percent), "n/a"}, {shown(share(1, 4), percent), "25.0%"}, {shown(share(1, 0), percent), "n/a"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
