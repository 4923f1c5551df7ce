package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// count is a line of the table.
type count struct {
	mutants, units, explorer, explained, survived, open int
	seconds                                             float64 // that those took which were tried
}

func (c *count) add(o count) {
	c.mutants += o.mutants
	c.units += o.units
	c.explorer += o.explorer
	c.explained += o.explained
	c.survived += o.survived
	c.open += o.open
	c.seconds += o.seconds
}

// percent is how many of those that were tried, or are explained, were killed.
func (c *count) percent() float64 {
	return 100 * float64(c.units+c.explorer) / float64(max(c.mutants-c.open, 1))
}

func (c *count) row(out io.Writer, name string) {
	fmt.Fprintf(out, "| %s | %d | %d | %d | %d | %d | %.1f | %.0f |\n",
		name, c.mutants, c.units, c.explorer, c.explained, c.survived, c.percent(), c.seconds)
}

// tally is the lines of one table, by name.
type tally map[string]*count

func (t tally) of(name string) *count {
	if t[name] == nil {
		t[name] = new(count)
	}
	return t[name]
}

// print prints the table, and answers the sum of its lines.
func (t tally) print(out io.Writer, of string) (sum count) {
	fmt.Fprintf(out, "\n| %s | mutants | killed by unit tests | killed by explorer | explained | survived | %% killed | seconds |\n"+
		"|---|---:|---:|---:|---:|---:|---:|---:|\n", of)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		t[name].row(out, name)
		sum.add(*t[name])
	}
	sum.row(out, "**all**")
	return sum
}

// report prints a table by script or package, one by operator, and every survivor. It answers whether the target is met.
func (p *plan) report(out io.Writer, results *Results, explained Explained, elapsed time.Duration) bool {
	groups, operators := make(tally), make(tally)
	var survivors []*Mutant
	for _, m := range p.all {
		c := count{mutants: 1}
		r, known := results.of(m)
		switch {
		case r.Killed && r.Explore:
			c.explorer = 1
		case r.Killed:
			c.units = 1
		case explained.reason(m) != "":
			c.explained = 1
		case !known:
			c.open = 1
		default:
			c.survived = 1
			survivors = append(survivors, m)
		}
		c.seconds = r.Seconds
		groups.of(m.Group).add(c)
		operators.of(m.Operator).add(c)
	}
	sum := groups.print(out, map[string]string{"lua": "script", "go": "package"}[p.name])
	operators.print(out, "operator")
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
