package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// count is a line of the table.
type count struct{ mutants, units, explorer, explained, survived, open int }

func (c *count) add(o count) {
	c.mutants += o.mutants
	c.units += o.units
	c.explorer += o.explorer
	c.explained += o.explained
	c.survived += o.survived
	c.open += o.open
}

// percent is how many of those that were tried, or are explained, were killed.
func (c *count) percent() float64 {
	return 100 * float64(c.units+c.explorer) / float64(max(c.mutants-c.open, 1))
}

func (c *count) row(out io.Writer, name string) {
	fmt.Fprintf(out, "| %s | %d | %d | %d | %d | %d | %.1f |\n", name, c.mutants, c.units, c.explorer, c.explained, c.survived, c.percent())
}

// report prints the table and every survivor. It answers whether the target is met.
func (p *plan) report(out io.Writer, results *Results, explained Explained, elapsed time.Duration) bool {
	groups := make(map[string]*count)
	var names []string
	var survivors []*Mutant
	for _, m := range p.all {
		c := groups[m.Group]
		if c == nil {
			c = new(count)
			groups[m.Group], names = c, append(names, m.Group)
		}
		c.mutants++
		switch r, known := results.of(m); {
		case r.Killed && r.Explore:
			c.explorer++
		case r.Killed:
			c.units++
		case explained.reason(m) != "":
			c.explained++
		case !known:
			c.open++
		default:
			c.survived++
			survivors = append(survivors, m)
		}
	}
	slices.Sort(names)
	fmt.Fprintf(out, "\n| %s | mutants | killed by unit tests | killed by explorer | explained | survived | %% killed |\n|---|---:|---:|---:|---:|---:|---:|\n",
		map[string]string{"lua": "script", "go": "package"}[p.name])
	var sum count
	for _, name := range names {
		groups[name].row(out, name)
		sum.add(*groups[name])
	}
	sum.row(out, "**all**")
	fmt.Fprintf(out, "\n%v\n", elapsed.Round(time.Second))
	if len(survivors) > 0 {
		fmt.Fprintf(out, "\nsurvivors:\n%s\n", inLines(survivors))
	}
	if sum.open > 0 {
		fmt.Fprintf(out, "%d were not tried\n", sum.open)
	}
	met := sum.percent() >= float64(p.least)
	if !met {
		fmt.Fprintf(out, "fewer than %d %% are killed\n", p.least)
	}
	return met && sum.survived == 0 && sum.open == 0
}

func inLines(mutants []*Mutant) string {
	var texts []string
	for _, m := range mutants {
		texts = append(texts, m.String())
	}
	return strings.Join(texts, "\n")
}
