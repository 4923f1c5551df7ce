package main

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/wheellock/wheellock/cmd/internal/flagset"
	"github.com/wheellock/wheellock/cmd/internal/output"
	"github.com/wheellock/wheellock/cmd/loadgen/internal/report"
)

// compareHelp is what compare -h prints.
const compareHelp = `loadgen compare A.json B.json sets two results side by side, which --json wrote.

  loadgen compare [--fail EXPRESSION]... A.json B.json

Each figure is the median of a side's runs. ± is how far the run farthest from
it is. Measure each side with --repeat 5: a side of one run has no ±.

  change   of the median, from A to B
  better   the runs of A and those of B are apart, and B has the better ones
  worse    the other way round
  overlap  some run of A is as good as some run of B: the change may be chance

The loads must be the same: what is asked for, by how many, how fast, for how
long it is held. The server, the machine, --async, --handoff, --duration,
--warmup and --seed may differ; the report says which do.

  --fail EXPRESSION exit code 4 if it holds of a median. A limit with a sign is
                    one of the change from A to B: 'throughput<-5%' or
                    'acquire.p99>+10%'. Any other is one of B, as in a run:
                    'acquire.p99>5ms'. Give any number of them; loadgen -h names
                    the figures. A figure that was not measured fails too

Exit code: 0 they were compared; 2 the command line is wrong, or the loads are
not the same; 3 a file cannot be read; 4 a --fail held.

  loadgen --repeat 5 --json before.json
  loadgen --repeat 5 --json after.json
  loadgen compare --fail 'throughput<-5%' before.json after.json
`

// compare sets two files side by side. Which is better decides its exit code only by --fail, with a limit that the user chose.
func (s *session) compare(args []string) (exit int) {
	flags := flag.NewFlagSet("loadgen compare", flag.ContinueOnError)
	flags.Func("fail", "", threshold(&s.settings.fail, report.ParseChange))
	paths, err := flagset.Words(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		io.WriteString(s.stdout, compareHelp)
		return exitOK
	case err == nil && len(paths) != 2:
		err = fmt.Errorf("compare wants two files that --json wrote, not %d", len(paths))
	}
	if err != nil {
		s.complain(err.Error() + "; loadgen compare -h explains it")
		return exitUsage
	}
	var sides [2]report.Side
	for i, path := range paths {
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
	for _, t := range s.settings.fail {
		if why := t.ExceededBy(sides[0].Runs, sides[1].Runs); why != "" {
			fmt.Fprintln(s.stdout, "\n"+report.Wrap("", why, width))
			exit = exitThreshold
		}
	}
	return exit
}
