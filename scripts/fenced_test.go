package scripts_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// A block of tokens ends at the larger of the last token and a block more, and the server's time in microseconds.
// invariant: tokens-grow
func TestFencingTokens(t *testing.T) {
	b := realBox(t)
	keys := []string{one, counter}
	for last, want := range map[string]string{
		"":                 strconv.FormatInt(frozenMicros, 10),
		"no number":        strconv.FormatInt(frozenMicros, 10),
		"7":                strconv.FormatInt(frozenMicros, 10),
		"1000000999124":    "1000000999188",
		"9007199254740927": "9007199254740991",
		"9007199254740928": fault(scripts.OutOfRange),
	} {
		b := b.fresh(t)
		if last != "" {
			b.must("SET", counter, last)
		}
		b.want(b.eval(frozen(scripts.AcquireFenced), keys, 0, 64, 86400000, "me:1", hour), want, "after "+last)
		if last == "9007199254740928" {
			b.want(b.must("GET", counter), last, "the counter")
			continue
		}
		b.want(b.must("GET", counter), want, "the counter")
		b.lasts(counter, 24*time.Hour)
	}
	b = b.fresh(t)
	b.eval(scripts.AcquireFenced, keys, 0, 64, 0, "me:1", hour)
	b.want(b.must("PTTL", counter), "-1", "PTTL of a counter that is kept")
	b.eval(scripts.AcquireFenced, keys, 0, 64, 1, "me:1", hour)
	if ttl := b.must("PTTL", counter); ttl == "-1" {
		t.Error("a counter that lasts for a millisecond is kept")
	}
}
