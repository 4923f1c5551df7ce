package report

import (
	"strings"
	"unicode/utf8"
)

// usualWidth is how wide text is where no terminal says how much fits.
const usualWidth = 80

// Wrap writes a text behind head and breaks it between words, so that it fits into so many places; 0 are those of a usual terminal.
// The lines after the first begin below the text. What fits stays as it is.
func Wrap(head, text string, places int) string {
	if places <= 0 {
		places = usualWidth
	}
	indent := utf8.RuneCountInString(head)
	if indent+utf8.RuneCountInString(text) <= places {
		return head + text
	}
	var out strings.Builder
	out.WriteString(head)
	used, begun := indent, false
	for _, word := range strings.Fields(strings.ReplaceAll(text, " · ", "\x00· ")) { // a line does not begin with a dot
		length := utf8.RuneCountInString(word)
		switch {
		case begun && used+1+length > places:
			out.WriteString("\n" + strings.Repeat(" ", indent))
			used = indent
		case begun:
			out.WriteByte(' ')
			used++
		}
		out.WriteString(strings.ReplaceAll(word, "\x00", " "))
		used, begun = used+length, true
	}
	return out.String()
}
