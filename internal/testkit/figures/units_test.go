package figures

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
		got := Short(d)
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
		{Three(0), "0"}, {Three(0.0123), "0.012"}, {Three(0.5), "0.50"}, {Three(9.994), "9.99"}, {Three(12.34), "12.3"}, {Three(1234.5), "1,235"},
		{Grouped(0), "0"}, {Grouped(999), "999"}, {Grouped(1000), "1,000"}, {Grouped(-1234567), "-1,234,567"},
		{Many(999_999), "999,999"}, {Many(1_234_567), "1.23 M"}, {Many(12_345_678_901), "12.3 G"},
		{Percent(0.8714), "87.1%"}, {Percent(1), "100.0%"},
		{Number(1, "process"), "1 process"}, {Number(2, "process"), "2 processes"}, {Number(1500, "name"), "1,500 names"},
		{Bytes(480), "480 B"}, {Bytes(1234), "1.23 kB"},
		{Shown(nil, Percent), "n/a"}, {Shown(Share(1, 4), Percent), "25.0%"}, {Shown(Share(1, 0), Percent), "n/a"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
