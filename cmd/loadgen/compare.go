package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/wheellock/wheellock/cmd/internal/output"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
)

// compareHelp is what compare -h prints.
const compareHelp = `loadgen compare A.json B.json sets two results side by side, which --json wrote.

Each figure is the median of a side's runs. ± is how far the run farthest from
it is. Measure each side with --repeat 5: a side of one run has no ±.

  change   of the median, from A to B
  better   the runs of A and those of B are apart, and B has the better ones
  worse    the other way round
  overlap  some run of A is as good as some run of B: the change may be chance

The loads must be the same: what is asked for, by how many, how fast, for how
long it is held. The server, the machine, --async, --handoff, --duration,
--warmup and --seed may differ; the report says which do.

Exit code: 0 they were compared; 2 want two files of one load; 3 one cannot be
read.
`

// compare sets two files side by side. Its exit code does not depend on which is better: --fail is for that, with a limit that the user
// chose.
func (s *session) compare(args []string) (exit int) {
	if len(args) == 1 && slices.Contains([]string{"-h", "-help", "--help"}, args[0]) {
		io.WriteString(s.stdout, compareHelp)
		return exitOK
	}
	if len(args) != 2 {
		s.complain(fmt.Sprintf("compare wants two files that --json wrote, not %d; loadgen compare -h explains it", len(args)))
		return exitUsage
	}
	var sides [2]report.Side
	for i, path := range args {
		runs, err := report.ReadJSON(path)
		if err != nil {
			s.complain(err.Error())
			return exitFailed
		}
		sides[i] = report.Side{Name: path, Runs: runs}
	}
	width, _ := output.Size(s.stdout)
	if err := report.Compare(s.stdout, sides[0], sides[1], width); err != nil {
		s.complain(err.Error())
		return exitUsage
	}
	return exitOK
}
