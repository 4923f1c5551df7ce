package hold

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/cmd/wheellock/internal/guard"
	"github.com/wheellock/wheellock/engine/elect"
)

// Elect is the command.
func Elect() cli.Command {
	return cli.Command{
		Name: "elect", Args: "NAME -- COMMAND [ARG...]",
		Short: "run a command while this process is the leader",
		Help: `Campaigns for the leadership NAME, and runs COMMAND while it leads. When the
leadership ends, it ends COMMAND and campaigns again. When COMMAND ends by itself,
it resigns, and exits with COMMAND's exit code. TERM and Ctrl-C go to COMMAND, and
when it has ended wheellock exits; while none runs, they end the campaign. In COMMAND's environment are
WHEELLOCK_NAME and WHEELLOCK_TERM, a number that grows with each new leader. Send
it with each write, and have the store refuse lower ones. "wheellock show NAME"
tells who leads. Do not use NAME for anything else.
` + ending + `

  wheellock elect scheduler -- ./scheduler`,
		Define: func(flags *flag.FlagSet) cli.Run {
			s := new(settings)
			s.define(flags)
			return s.elect
		},
	}
}

// errEnded ends the campaign because the command has ended.
var errEnded = errors.New("the command has ended")

func (s *settings) elect(ctx context.Context, env *cli.Env, args []string) (exit int) {
	if err := s.read(env, args); err != nil {
		return env.Usage("%v", err)
	}
	if err := s.findable(); err != nil {
		return env.Fail(err)
	}
	ctx, signals := guard.Catch(context.WithoutCancel(ctx))
	outcome, err := s.campaign(ctx, env, signals)
	signals.Stop(outcome)
	if !errors.Is(err, errEnded) {
		return env.Fail(err)
	}
	return outcome.Exit
}

// campaign leads, again and again.
func (s *settings) campaign(ctx context.Context, env *cli.Env, signals *guard.Signals) (outcome guard.Outcome, err error) {
	e, err := env.Open(ctx, s.options(env))
	if err != nil {
		return outcome, err
	}
	defer e.Close()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	election := elect.New(e, s.name, elect.Options{Identity: s.identity})
	err = election.Run(ctx, func(ctx context.Context, term int64) error {
		env.Event(event{Event: "granted", Named: cli.NamedBy(s.name), Token: term})
		lock := guard.Lock{Lease: s.lease, Deadline: election.Deadline, Done: ctx.Done(), Refused: s.refused(env), Err: func() error {
			if ctx.Err() == nil {
				return nil
			}
			return context.Cause(ctx)
		}}
		o, err := guard.Run(lock, s.command, []string{"WHEELLOCK_NAME=" + s.name, fmt.Sprintf("WHEELLOCK_TERM=%d", term)}, signals)
		if err != nil {
			return err
		}
		outcome = o
		s.ended(env, term, o)
		if o.Lost != nil && !o.Asked {
			return nil // campaigns again
		}
		end(errEnded) // the campaign, too, which would go on if the leadership ended at this moment
		return errEnded
	})
	return outcome, err
}
