package engine

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestWholeMillis(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		10 * time.Millisecond:        10 * time.Millisecond,
		10*time.Millisecond + 1:      11 * time.Millisecond,
		10500 * time.Microsecond:     11 * time.Millisecond,
		11*time.Millisecond - 1:      11 * time.Millisecond,
		time.Minute:                  time.Minute,
		30*24*time.Hour - 1:          30 * 24 * time.Hour,
		30 * 24 * time.Hour:          30 * 24 * time.Hour,
		10*time.Millisecond - 1:      0,
		0:                            0,
		-1:                           0,
		math.MinInt64:                0,
		30*24*time.Hour + 1:          0,
		math.MaxInt64:                0,
		math.MaxInt64 - time.Second:  0,
		math.MinInt64 + time.Minute:  0,
		-30 * time.Second:            0,
		15 * time.Millisecond:        15 * time.Millisecond,
		15*time.Millisecond + 999999: 16 * time.Millisecond,
	} {
		got, err := wholeMillis(d)
		if got != want || (err == nil) != (want != 0) || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("wholeMillis(%v) = %v, %v; want %v", d, got, err, want)
		}
	}
}

// FuzzWholeMillis: a lease is rounded up to whole milliseconds, or refused; never 0, never less than was asked for.
func FuzzWholeMillis(f *testing.F) {
	for _, d := range []int64{0, 1, -1, 1e6, 1e7, 1e7 - 1, 1e7 + 1, 10_500_000, int64(MaxLease), int64(MaxLease) + 1, int64(MaxLease) - 1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 999_999} {
		f.Add(d)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		d := time.Duration(n)
		got, err := wholeMillis(d)
		if allowed := d >= 10*time.Millisecond && d <= 30*24*time.Hour; (err == nil) != allowed {
			t.Fatalf("wholeMillis(%v) = %v, %v", d, got, err)
		}
		if err != nil {
			if got != 0 || !errors.Is(err, ErrInvalid) {
				t.Errorf("wholeMillis(%v) = %v, %v; want 0 and ErrInvalid", d, got, err)
			}
			return
		}
		if got%time.Millisecond != 0 || got < d || got-d >= time.Millisecond || got.Milliseconds() <= 0 {
			t.Errorf("wholeMillis(%v) = %v", d, got)
		}
	})
}

func TestOptionsKeepWhatTheyAllow(t *testing.T) {
	o, err := Options{AnswerTimeout: 10 * time.Millisecond, FairWaiterLease: 7 * time.Second}.withDefaults()
	if err != nil || o.AnswerTimeout != 10*time.Millisecond || o.FairWaiterLease != 7*time.Second {
		t.Errorf("%v, %v and %v of 10ms and 7s", err, o.AnswerTimeout, o.FairWaiterLease)
	}
	if o, err := ParseURL("valkeys://host?skip_verify=true"); err != nil || !o.Redis.TLSConfig.InsecureSkipVerify {
		t.Error(err)
	}
}

// What was given is named by codes that no other engine can guess.
func TestGiftCodesAreSecret(t *testing.T) {
	if a, b := newGiftCodes(), newGiftCodes(); a.Code(1) == b.Code(1) || a.Number(a.Code(1)) != 1 || a.Number(b.Code(1)) == 1 {
		t.Error("two engines call what is the first of each by the same code, or one does not know its own")
	}
}
