package main

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// duration is a flag.Value that explains itself.
type duration time.Duration

func (d *duration) String() string { return time.Duration(*d).String() }

func (d *duration) Set(text string) error {
	v, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("want a time with its unit, such as 500us, 5ms or 1m30s")
	}
	*d = duration(v)
	return nil
}

// handoff is a duration that may be "off", which 0 means too.
type handoff time.Duration

func (h *handoff) String() string { return time.Duration(*h).String() }

func (h *handoff) Set(text string) error {
	if text != "off" {
		if err := (*duration)(h).Set(text); err != nil {
			return errors.New("want a time with its unit, such as 10ms, or off")
		}
	}
	if text == "off" || *h <= 0 {
		*h = -1
	}
	return nil
}

// count is a whole number, that may have a k or M behind it.
type count int

func (c *count) String() string { return strconv.Itoa(int(*c)) }

func (c *count) Set(text string) error {
	v, err := number(text)
	if err != nil || v != float64(int(v)) {
		return errors.New("want a whole number, such as 64 or 10k")
	}
	*c = count(v)
	return nil
}

// decimal is a number, that may have a k or M behind it.
type decimal float64

func (d *decimal) String() string { return strconv.FormatFloat(float64(*d), 'g', -1, 64) }

func (d *decimal) Set(text string) error {
	v, err := number(text)
	if err != nil {
		return errors.New("want a number, such as 0.99 or 20k")
	}
	*d = decimal(v)
	return nil
}

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
