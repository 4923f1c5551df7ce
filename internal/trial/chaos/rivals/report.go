package rivals

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// result is what a run found out. Durations are in ns.
type result struct {
	Began      time.Time
	Lasted     time.Duration
	Stood      time.Duration // the longest time that the machine did not let the process run
	Lease      time.Duration
	Redis      string
	Versions   []string
	Cancelled  []cancelled
	Broken     []broken
	Partitions []partitioned
	Deleted    []deleted
	Stranded   []stranded
}

// versions are those of the libraries, as go.mod has them.
func versions() (all []string) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		return []string{err.Error()}
	}
	for line := range strings.Lines(string(text)) {
		for _, module := range []string{"redis/rueidis ", "bsm/redislock ", "go-redsync/redsync/", "redis/go-redis/"} {
			if strings.HasPrefix(line, "\tgithub.com/"+module) {
				all = append(all, strings.TrimSpace(line))
			}
		}
	}
	return all
}

// two shows a pair of figures.
func two(a, b any) string { return fmt.Sprintf("%v, %v", a, b) }

// markdown is the whole result as tables.
func (r *result) markdown() string {
	p := &figures.Page{}
	fmt.Fprintf(p, "%s, %v, in which the machine stood still for up to %v; Redis %s, a lease of %v; %s\n", r.Began.UTC().Format(time.DateOnly),
		r.Lasted.Round(time.Second), r.Stood.Round(time.Millisecond), r.Redis, r.Lease, strings.Join(r.Versions, ", "))
	p.Table("Calls cancelled in flight, while waiting", figures.Right, "cancelled", "keys without a holder after 2 s", "not looked for",
		"they block the name for: median, worst", "granted all the same", "returned after the context's end: p99, worst")
	for _, c := range r.Cancelled {
		p.Row(c.Rival, two(c.Calls[inFlight], c.Calls[waiting]), two(c.Orphans[inFlight], c.Orphans[waiting]), c.Void, c.Blocks.block(c.Stay),
			c.Granted, two(c.Late.show(c.Late.P99), c.Late.show(c.Late.Worst)))
	}
	p.Table("Calls whose connection was reset, whose answer was lost", figures.Right, "acquires hit", "told an error", "keys without a holder after 2 s",
		"releases hit", "told an error", "keys left after 2 s", "not looked for", "they block the name for: median, worst")
	for _, b := range r.Broken {
		pair := func(of [breaks]int, first int) string { return two(of[first], of[first+1]) }
		p.Row(b.Rival, pair(b.Hits, acquireReset), pair(b.Failed, acquireReset), pair(b.Orphans, acquireReset),
			pair(b.Hits, releaseReset), pair(b.Failed, releaseReset), pair(b.Orphans, releaseReset), b.Void, b.Blocks.block(b.Stay))
	}
	p.Table("Holders partitioned for longer than the lease", figures.Right, "partitions", "told before the next grant", "told after it", "never told",
		"not counted", "told before it by: smallest, median", "two believed to hold for: median, worst")
	for _, d := range r.Partitions {
		p.Row(d.Rival, d.Rounds, d.Before, d.After, d.Never, d.Void, two(d.Margin.show(d.Margin.Smallest), d.Margin.show(d.Margin.Median)),
			two(d.Both.show(d.Both.Median), d.Both.show(d.Both.Worst)))
	}
	p.Table("Until a holder is told of a loss", figures.Right, "of what", "holders", "never told", "not counted", "told after: median, worst")
	for _, d := range r.Deleted {
		p.Row(d.Rival, "key deleted", d.Rounds, d.Never, d.Void, two(d.Noticed.show(d.Noticed.Median), d.Noticed.show(d.Noticed.Worst)))
	}
	for _, d := range r.Partitions {
		p.Row(d.Rival, "partition", d.Rounds, d.Never, d.Void, two(d.Noticed.show(d.Noticed.Median), d.Noticed.show(d.Noticed.Worst)))
	}
	p.Table("Waiters whose connections were killed when the name became free", figures.Right, "waits", "connections killed", "told an error",
		"longer than half a lease", "not granted in two", "not counted", "granted after: median, p99, worst")
	for _, s := range r.Stranded {
		p.Row(s.Rival, s.Rounds, s.Killed, s.Failed, s.Long, s.NeverIn, s.Void,
			fmt.Sprintf("%s, %s, %s", s.Waits.show(s.Waits.Median), s.Waits.show(s.Waits.P99), s.Waits.show(s.Waits.Worst)))
	}
	p.Table("What was set, and what is promised", figures.Left, "settings", "promise")
	for _, e := range everybody {
		p.Row(e.name, e.settings, e.promise)
	}
	return p.String()
}

// block shows for how long orphans block their names, and how many are there still after a lease.
func (s spread) block(stay int) string {
	text := two(s.show(s.Median), s.show(s.Worst))
	if stay > 0 {
		text += fmt.Sprintf("; %d for longer than a lease", stay)
	}
	return text
}
