package view

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// shown is a text from Redis as a terminal may have it.
func shown(text string) string {
	if text == "" || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// left is a TTL in milliseconds for people.
func left(ms int64) string {
	if ms < 0 {
		return "no end"
	}
	return length(time.Duration(ms) * time.Millisecond)
}

// length is a duration in three digits or so.
func length(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Millisecond)
	}
	return d.String()
}

// narrow is how wide a column is that has so many on a screen of 80, where the screen has fewer: what follows it has to be seen.
func narrow(usual, least, screen int) int {
	if screen == 0 {
		return usual
	}
	return min(max(usual-80+screen, least), usual)
}

// cut shortens a text to so many columns; 0: it may have any.
func cut(text string, columns int) string {
	if runes := []rune(text); columns > 0 && len(runes) > columns {
		return string(runes[:columns-1]) + "…"
	}
	return text
}
