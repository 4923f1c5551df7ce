package doctor

import (
	"fmt"
	"strings"
)

// lineWidth is where lines of the report end. What is to be typed stays in one line.
const lineWidth = 80

// String is the report for people: the worst first, and each finding once, with the checks and servers that it is of.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.Deployment)
	type place struct {
		severity    Severity
		found, harm string
	}
	at := map[place]string{}
	var order []place
	set := map[place][]string{}
	count := map[Severity]int{}
	for _, f := range r.Findings {
		p := place{f.Severity, f.Found, f.Harm}
		if count[f.Severity]++; at[p] == "" {
			order = append(order, p)
		} else {
			at[p] += ", "
		}
		at[p] += f.Check
		if r.several && f.Server != "" {
			at[p] += " at " + f.Server
		}
		set[p] = f.Set
	}
	for _, p := range order {
		if p.severity == OK && p.found != "" {
			wrapped(&b, "ok: ", at[p]+": "+p.found)
			continue
		}
		wrapped(&b, string(p.severity)+": ", at[p])
		wrapped(&b, "    ", p.found)
		wrapped(&b, "    harm: ", p.harm)
		for _, s := range set[p] {
			fmt.Fprintln(&b, "    set:  "+s)
		}
	}
	fmt.Fprintf(&b, "\nerrors: %d, warnings: %d, notes: %d, could not look: %d\n", count[Error], count[Warning], count[Note], count[Unknown])
	return b.String()
}

// wrapped writes a text in lines, after a label. Nothing is written of no text.
func wrapped(b *strings.Builder, label, text string) {
	line := label
	for _, word := range strings.Fields(text) {
		if len(line)+len(word) > lineWidth && strings.TrimSpace(line) != strings.TrimSpace(label) {
			fmt.Fprintln(b, strings.TrimRight(line, " "))
			line = strings.Repeat(" ", len(label))
		}
		line += word + " "
	}
	if text != "" {
		fmt.Fprintln(b, strings.TrimRight(line, " "))
	}
}
