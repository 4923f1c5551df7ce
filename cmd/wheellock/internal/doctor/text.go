package doctor

import (
	"fmt"
	"strings"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
)

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
			b.WriteString(cli.Lines("ok: ", at[p]+": "+p.found, "    "))
			continue
		}
		b.WriteString(cli.Lines(string(p.severity)+": ", at[p], "    "))
		if p.found != "" {
			b.WriteString(cli.Lines("    ", p.found, "    "))
		}
		if p.harm != "" {
			b.WriteString(cli.Lines("    harm: ", p.harm, "          "))
		}
		for _, s := range set[p] { // in one line, to be copied
			b.WriteString("    set:  " + s + "\n")
		}
	}
	fmt.Fprintf(&b, "\nerrors: %d, warnings: %d, notes: %d, could not look: %d\n", count[Error], count[Warning], count[Note], count[Unknown])
	return b.String()
}
