package report

import (
	"github.com/wheellock/wheellock/internal/load"
	"github.com/wheellock/wheellock/internal/testkit/figures"
)

// Collector adds up the samples of all processes. One goroutine uses it.
type Collector struct {
	queues [][]*load.Sample // samples of each process that wait for those of the others
	gone   []bool           // no more samples will come

	measured  load.Sample   // all that was measured
	steps     []load.Sample // the same, of each step
	unplaced  load.Breaches // outside of the measured time: they count there too
	processes []load.Sample // what was measured in each process
	endings   []*load.Ending
	seconds   []Second
}

// NewCollector makes one for so many processes.
func NewCollector(processes int) *Collector {
	return &Collector{
		queues: make([][]*load.Sample, processes), gone: make([]bool, processes),
		processes: make([]load.Sample, processes), endings: make([]*load.Ending, processes),
	}
}

// Take adds a sample. The n-th samples that all processes send in a phase are of the same interval, since all follow one plan. Take
// returns those intervals that are now complete, each summed over the processes.
func (c *Collector) Take(s *load.Sample) (complete []*load.Sample) {
	c.queues[s.Process] = append(c.queues[s.Process], s)
	if s.Phase == load.Measured {
		c.processes[s.Process].Add(s, true)
	}
	if s.Ending != nil {
		c.endings[s.Process] = s.Ending
	}
	return c.complete()
}

// Gone says that a process has ended. Others do not wait for its samples any more.
func (c *Collector) Gone(process int) (complete []*load.Sample) {
	c.gone[process] = true
	return c.complete()
}

func (c *Collector) complete() (sums []*load.Sample) {
	for {
		first := c.first()
		if first == nil {
			return sums
		}
		sum := &load.Sample{Phase: first.Phase, Step: first.Step, Last: true}
		for i, queue := range c.queues {
			if len(queue) > 0 && queue[0].Phase == sum.Phase {
				sum.Add(queue[0], false)
				c.queues[i] = queue[1:]
			}
		}
		c.file(sum)
		sums = append(sums, sum)
	}
}

// first returns the sample that waits in the earliest phase; nil: there is none, or a process may still send one of it. If a run ends
// early, one process may hear of it before an interval is over, and another after that: the second one sends one sample more of the
// phase, while the first one is in the next phase.
func (c *Collector) first() (first *load.Sample) {
	for i, queue := range c.queues {
		switch {
		case len(queue) > 0 && (first == nil || queue[0].Phase.Before(first.Phase)):
			first = queue[0]
		case len(queue) == 0 && !c.gone[i]:
			return nil
		}
	}
	return first
}

// file puts a sum where it belongs.
func (c *Collector) file(s *load.Sample) {
	if s.Phase != load.Measured {
		figures.Add(&c.unplaced, &s.Counts.Breaches)
		return
	}
	c.measured.Add(s, true)
	for len(c.steps) <= s.Step {
		c.steps = append(c.steps, load.Sample{})
	}
	c.steps[s.Step].Add(s, true)
	c.seconds = append(c.seconds, secondOf(s, c.measured.Elapsed))
}

// Violations is how often a promise was found broken up to now, in memory and in Redis.
func (c *Collector) Violations() int64 { return c.measured.Counts.Broken() + c.unplaced.Broken() }
