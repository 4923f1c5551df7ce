package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// explain writes the help of a command.
func (c *Command) explain(w io.Writer) {
	fmt.Fprintf(w, "wheellock %s: %s\n\n  wheellock %[1]s [flags] %[3]s\n", c.Name, c.Short, c.Args)
	if c.Help != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.Help))
	}
	own := flag.NewFlagSet("", flag.ContinueOnError)
	c.Define(own)
	WriteFlags(w, "Flags", own)
	shared := flag.NewFlagSet("", flag.ContinueOnError)
	new(Env).Define(shared)
	WriteFlags(w, "Flags of all commands", shared)
}

// column is where the texts of flags begin, and width where lines end.
const (
	column = 24
	width  = 80
)

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
	var b strings.Builder
	line := fmt.Sprintf("  %-*s", column-2, term)
	for _, word := range strings.Fields(text) {
		if len(line) >= column && len([]rune(line))+1+len([]rune(word)) > width && strings.TrimSpace(line) != "" {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = strings.Repeat(" ", column)
		}
		if !strings.HasSuffix(line, " ") {
			line += " "
		}
		line += word
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	return b.String()
}
