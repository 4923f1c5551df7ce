package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// A reader sets what a flag is for from its text, or says what it wants. Package flag puts the flag's name and its text in front of the
// error, so that the error needs only what would be right.
type reader func(text string) error

func duration(d *time.Duration) reader {
	return func(text string) (err error) {
		if *d, err = time.ParseDuration(text); err != nil {
			return errors.New("want a time with its unit, such as 500us, 5ms or 1m30s")
		}
		return nil
	}
}

// handoff reads a duration that may be "off", which 0 means too. The engine takes 0 for its default and a negative time for off, so off
// becomes -1.
func handoff(d *time.Duration) reader {
	return func(text string) error {
		if text != "off" && duration(d)(text) != nil {
			return errors.New("want a time with its unit, such as 10ms, or off")
		}
		if text == "off" || *d <= 0 {
			*d = -1
		}
		return nil
	}
}

// count reads a whole number, that may have a k or M behind it.
func count(n *int) reader {
	return func(text string) error {
		v, err := figures.Parse(text)
		if err != nil || v != float64(int(v)) {
			return errors.New("want a whole number, such as 64 or 10k")
		}
		*n = int(v)
		return nil
	}
}

// decimal reads a number, that may have a k or M behind it.
func decimal(f *float64) reader {
	return func(text string) (err error) {
		if *f, err = figures.Parse(text); err != nil {
			return errors.New("want a number, such as 0.99 or 20k")
		}
		return nil
	}
}

func kind(k *load.Kind) reader {
	return func(text string) error {
		if *k = load.Kind(text); slices.Contains(load.Kinds, *k) {
			return nil
		}
		var words []string
		for _, known := range load.Kinds {
			words = append(words, string(known))
		}
		return errors.New("want one of " + strings.Join(words, " "))
	}
}

// growing reads a value, or from which to which it grows.
func growing[N int | float64](one func(*N) reader, from, most *N, want string) reader {
	return func(text string) error {
		first, last, grow := strings.Cut(text, "..")
		if !grow {
			*from = 0
			return one(most)(text)
		}
		if one(from)(first) != nil || one(most)(last) != nil || *from <= 0 {
			return errors.New("want " + want + ", from which to which it grows")
		}
		return nil
	}
}

// threshold adds one that parse reads.
func threshold(all *[]report.Threshold, parse func(text string) (report.Threshold, error)) reader {
	return func(text string) error {
		t, err := parse(text)
		if err == nil {
			*all = append(*all, t)
		}
		return err
	}
}

// list adds one more.
func list(all *[]string) reader {
	return func(text string) error {
		*all = append(*all, text)
		return nil
	}
}
