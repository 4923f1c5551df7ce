package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
)

// String is the report for people: the worst first, and each finding once, with the checks and servers that it is of.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.Deployment)
	type finding struct {
		severity    Severity
		found, harm string
	}
	var order []finding
	at := map[finding]places{}
	var all places
	set := map[finding][]string{}
	count := map[Severity]int{}
	for _, f := range r.Findings {
		same := finding{f.Severity, f.Found, f.Harm}
		if at[same] == nil {
			order = append(order, same)
			count[f.Severity]++
		}
		at[same], all = at[same].with(f.Check, f.Server), all.with(f.Check, f.Server)
		set[same] = f.Set
	}
	for _, f := range order {
		where := at[f].among(all, r.servers, f.severity == OK)
		if f.severity == OK && f.found != "" {
			b.WriteString(cli.Lines("ok: ", where+": "+f.found, "    "))
			continue
		}
		b.WriteString(cli.Lines(string(f.severity)+": ", where, "    "))
		if f.found != "" {
			b.WriteString(cli.Lines("    ", f.found, "    "))
		}
		if f.harm != "" {
			b.WriteString(cli.Lines("    harm: ", f.harm, "          "))
		}
		for _, s := range set[f] { // in one line, to be copied
			b.WriteString("    set:  " + s + "\n")
		}
	}
	fmt.Fprintf(&b, "\nerrors: %d, warnings: %d, notes: %d, could not look: %d\n", count[Error], count[Warning], count[Note], count[Unknown])
	return b.String()
}

// places are checks, and of each the servers at which it has found something; the one server "" is the deployment as a whole.
type places []place

type place struct {
	check   string
	servers []string
}

func (p places) of(check string) int {
	return slices.IndexFunc(p, func(one place) bool { return one.check == check })
}

func (p places) with(check, server string) places {
	i := p.of(check)
	if i < 0 {
		i, p = len(p), append(p, place{check: check})
	}
	if !slices.Contains(p[i].servers, server) {
		p[i].servers = append(p[i].servers, server)
	}
	return p
}

// among names the checks, each with its servers. all are where the checks were made, and servers are all that there are.
func (p places) among(all places, servers []string, ok bool) string {
	var names []string
	for _, one := range p {
		name := one.check
		everywhere := slices.Equal(slices.Sorted(slices.Values(one.servers)), servers)
		switch made := all[all.of(name)].servers; {
		case one.servers[0] == "", ok && len(one.servers) == len(made), everywhere && len(servers) == 1:
		case everywhere:
			name += fmt.Sprintf(" at each of %d servers", len(servers))
		default:
			name += " at " + strings.Join(one.servers, ", ")
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
