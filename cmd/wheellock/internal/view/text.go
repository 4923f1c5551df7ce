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

// holderWidth is how wide the column of holders is beside that of names: as wide as its texts in a pipe (screen 0) or where there is
// room, and otherwise what names leave of the screen, or half of it.
func holderWidth(screen, others int, holders, names []string) int {
	holder, name := longest(holders), longest(names)
	if room := screen - others; screen > 0 && holder+name > room {
		return max(min(holder, max(room-name, room/2)), 8)
	}
	return holder
}

func longest(texts []string) (columns int) {
	for _, text := range texts {
		columns = max(columns, utf8.RuneCountInString(text))
	}
	return columns
}

// cut shortens a text to so many columns; 0: it may have any.
func cut(text string, columns int) string {
	if runes := []rune(text); columns > 0 && len(runes) > columns {
		return string(runes[:columns-1]) + "…"
	}
	return text
}

// cutMiddle shortens a text to so many columns. Identities differ in their ends: "program@host-7:pid".
func cutMiddle(text string, columns int) string {
	runes := []rune(text)
	if len(runes) <= columns {
		return text
	}
	end := (columns - 1) * 2 / 3
	return string(runes[:columns-1-end]) + "…" + string(runes[len(runes)-end:])
}
