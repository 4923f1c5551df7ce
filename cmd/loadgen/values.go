package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/cmd/loadgen/internal/load"
)

// A reader sets what a flag is for from its text, or says what it wants.
type reader func(text string) error

func duration(d *time.Duration) reader {
	return func(text string) (err error) {
		if *d, err = time.ParseDuration(text); err != nil {
			return errors.New("want a time with its unit, such as 500us, 5ms or 1m30s")
		}
		return nil
	}
}

// handoff reads a duration that may be "off", which 0 means too.
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
		v, err := number(text)
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
		if *f, err = number(text); err != nil {
			return errors.New("want a number, such as 0.99 or 20k")
		}
		return nil
	}
}

// number reads a number with its suffix. What is no number, such as NaN, or larger than anything can be asked for, is refused
// here, so that no reader converts it.
func number(text string) (float64, error) {
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
