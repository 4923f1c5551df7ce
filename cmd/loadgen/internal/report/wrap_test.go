package report

import "testing"

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		head, text string
		places     int
		want       string
	}{
		{"", "it fits", 7, "it fits"},
		{"  label  ", "as   it is", 19, "  label  as   it is"},
		{"loadgen: ", "one two three", 15, "loadgen: one\n         two\n         three"},
		{"", "a · b · c", 5, "a ·\nb · c"},
		{"", "8 callers · closed · 3 names", 14, "8 callers ·\nclosed · 3\nnames"},
		{"", "µs and ümläüts", 6, "µs and\nümläüts"},
		{"", "unbreakable", 5, "unbreakable"},
	} {
		if got := Wrap(c.head, c.text, c.places); got != c.want {
			t.Errorf("Wrap(%q, %q, %d) = %q, want %q", c.head, c.text, c.places, got, c.want)
		}
	}
}
