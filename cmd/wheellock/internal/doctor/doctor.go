// Package doctor is the command doctor: it examines a Redis, how it is set up and how it behaves, for what is wrong for locks.
//
// A check is a value in a table (checks.go) and a function in a file that is named for its concern. It is about one server (node.go)
// or about the deployment (deployment.go), and returns findings (finding.go). Of what it may not ask, the report says that doctor
// could not look. sampling.go makes the round trips that several checks judge; text.go writes the report.
//
// doctor writes what the engine writes when it opens, and takes and frees locks of a name of its own. All keys have a TTL.
package doctor

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/engine"
)

// minLease is the shortest Options.Lease.
const minLease = 100 * time.Millisecond

// settings are the flags of doctor.
type settings struct {
	lease  time.Duration
	during time.Duration
	prefix string
}

// Command is the command doctor.
func Command() cli.Command {
	return cli.Command{
		Name: "doctor", Args: "[URL]",
		Short: "find what is wrong for locks with a Redis, and say what to set",
		Help:  help(),
		Define: func(flags *flag.FlagSet) cli.Run {
			s := &settings{}
			flags.DurationVar(&s.lease, "lease", 30*time.Second, "the `TIME` that is Options.Lease of your engines")
			flags.DurationVar(&s.during, "during", time.Second, "watch round trips and the server's clock for this `TIME`")
			flags.StringVar(&s.prefix, "prefix", "", "begin names with `TEXT`, if the user may use only such names")
			return s.run
		},
	}
}

func (s *settings) run(ctx context.Context, env *cli.Env, args []string) (exit int) {
	switch {
	case len(args) > 1 || env.Dashes:
		return env.Usage("one URL at most")
	case len(args) == 1:
		env.Redis.URL = args[0]
	}
	if s.lease < minLease || s.lease > engine.MaxLease {
		return env.Usage("--lease %v: must be from %v to %v", s.lease, minLease, engine.MaxLease)
	}
	if s.during < 10*time.Millisecond || s.during > time.Hour {
		return env.Usage("--during %v: must be from 10ms to 1h", s.during)
	}
	opts, err := env.Options(ctx)
	if err != nil {
		return env.Fail(err)
	}
	opts.Lease = s.lease
	report := examine(ctx, opts, s)
	if ctx.Err() != nil {
		return env.Fail(context.Cause(ctx))
	}
	if env.JSON {
		env.Value(report)
	} else {
		fmt.Fprint(env.Stdout, cli.Printable(report.String()))
	}
	return report.exit()
}

// examine makes all checks.
func examine(ctx context.Context, opts engine.Options, s *settings) *Report {
	d := &deployment{ctx: ctx, opts: opts, settings: s}
	defer d.close()
	findings := append(d.connect(), d.check()...)
	report := &Report{Deployment: d.String(), Findings: findings}
	for _, n := range d.nodes {
		report.servers = append(report.servers, n.addr)
	}
	slices.Sort(report.servers)
	report.sum()
	return report
}
