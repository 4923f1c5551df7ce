package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/wheellock/wheellock/cmd/internal/output"
)

// explain writes the help of a command.
func (c *Command) explain(w io.Writer) {
	fmt.Fprintf(w, "wheellock %s: %s\n\n  wheellock %[1]s [flags] %[3]s\n", c.Name, c.Short, c.Args)
	if c.Help != "" {
		fmt.Fprintf(w, "\n%s", Text(c.Help))
	}
	own := flag.NewFlagSet("", flag.ContinueOnError)
	c.Define(own)
	WriteFlags(w, "Flags", own)
	shared := flag.NewFlagSet("", flag.ContinueOnError)
	new(Env).Define(shared)
	WriteFlags(w, "Flags of all commands", shared)
}

// column is where the texts of flags begin.
const column = 24

// width is where lines end: see Fit.
var width = 80

// Fit has lines end where the terminal ends, if that is narrow. It comes before all else.
func Fit(stdout io.Writer) {
	if columns, _ := output.Size(stdout); columns >= 2*column {
		width = min(width, columns)
	}
}

// WriteFlags writes what flags mean.
func WriteFlags(w io.Writer, title string, flags *flag.FlagSet) {
	heading := "\n" + title + "\n"
	flags.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" && f.Name != "redis" {
			text += "; " + f.DefValue
		}
		fmt.Fprint(w, heading, Entry("--"+strings.TrimSpace(f.Name+" "+value), text))
		heading = ""
	})
}

// Entry is a term and what it means, in as many lines as that needs.
func Entry(term, text string) string {
	return Lines(fmt.Sprintf("  %-*s", column-2, term), text, strings.Repeat(" ", column))
}

// Text breaks the lines of a text anew, but not where a paragraph is indented.
func Text(text string) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			b.WriteString("\n")
		}
		if strings.HasPrefix(paragraph, " ") {
			b.WriteString(paragraph + "\n")
		} else {
			b.WriteString(Lines("", paragraph, ""))
		}
	}
	return b.String()
}

// Lines puts the words of a text behind first, and in further lines behind indent.
func Lines(first, text, indent string) string {
	var b strings.Builder
	line, begun := first, false
	for word := range strings.FieldsSeq(text) {
		if begun && len([]rune(line+" "+word)) > width {
			b.WriteString(line + "\n")
			line, begun = indent, false
		}
		if begun || line != "" && !strings.HasSuffix(line, " ") {
			line += " "
		}
		line, begun = line+word, true
	}
	return b.String() + line + "\n"
}

// Plural is a number of things, each of which is a one.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
