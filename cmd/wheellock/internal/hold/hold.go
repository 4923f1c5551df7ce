// Package hold has the commands that run a program under a lock: lock and elect.
package hold

import (
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/wheellock/wheellock/cmd/internal/notes"
	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/cmd/wheellock/internal/guard"
	"github.com/wheellock/wheellock/engine"
)

// ending is what the help of both commands says of the end.
const ending = `
The command gets the signals that wheellock gets, except those that are ignored when
wheellock is started, as under nohup, and at a terminal it has the terminal. It runs in a process group of its own, and ends before the lock does:

  renewed     every third of the lease; usually two thirds of it are left
  TERM        to the group when a third of the lease is left: Redis has not
              answered for at least as long
  KILL        when a tenth of the lease is left, a second at most

Then the lock ends, and only then can anybody else have it. If somebody frees the
lock by force the group gets TERM at once, or at the next renewal if wheellock may
not use CLIENT TRACKING or the server has no RESP3, and KILL as much later. What leaves
the process group is not ended, nor what COMMAND leaves running when it ends. If wheellock itself is killed, on Linux the
command is killed with it; elsewhere, and whatever the command started, goes on,
and the lock ends one lease later at most. A process that was stopped, or hangs in
the kernel, may write after that: have the store compare the token.

Two things keep wheellock from ending COMMAND in time. A COMMAND that runs as
another user, as under sudo, gets no signal from a wheellock that is not root, which
then says so, and it goes on if wheellock is killed: put sudo before wheellock, not
before COMMAND. And while wheellock alone is stopped (SIGSTOP), the lock ends and
COMMAND goes on; it is ended when wheellock goes on.`

// settings are the flags of both commands.
type settings struct {
	name     string
	command  []string
	lease    time.Duration
	identity string
}

func (s *settings) define(flags *flag.FlagSet) {
	flags.DurationVar(&s.lease, "lease", 30*time.Second, "how long the lock outlives a wheellock that dies; `TIME` from 1s")
	flags.StringVar(&s.identity, "identity", "", "`TEXT` that others see as the holder; wheellock@host:pid if left out")
}

// read checks what both commands need.
func (s *settings) read(env *cli.Env, args []string) error {
	if len(args) == 0 && len(env.After) > 1 && strings.HasPrefix(env.After[0], "-") && env.After[1] == "--" { // a name that is no flag
		args, env.After = env.After[:1], env.After[2:]
	}
	switch {
	case len(args) == 0:
		return errors.New("name the lock: " + env.Name + " NAME -- COMMAND")
	case redisflags.NoURL(args[0]) != nil:
		return redisflags.NoURL(args[0])
	case len(args) > 1 && !env.Dashes:
		return fmt.Errorf("put -- before the command: %s %s -- %s", env.Name, args[0], args[1])
	case len(args) > 1:
		return fmt.Errorf("what is %q? one name stands before --", args[1])
	case len(env.After) == 0:
		return errors.New("say after -- which command to run")
	case s.lease < guard.MinLease || s.lease > engine.MaxLease:
		return fmt.Errorf("--lease %v: must be from %v to %v", s.lease, guard.MinLease, engine.MaxLease)
	}
	s.name, s.command = args[0], env.After
	return nil
}

// findable complains of a command that there is not, before anything is locked for it.
func (s *settings) findable() error {
	_, err := exec.LookPath(s.command[0])
	return err
}

// options are those of an engine for one lock.
func (s *settings) options(env *cli.Env) func(*engine.Options) {
	return func(o *engine.Options) {
		o.Lease, o.Identity, o.Logger = s.lease, s.identity, notes.Logger(env.Note)
	}
}

// event is what --json tells on standard error.
type event struct {
	Event string `json:"event"`
	cli.Named
	Token int64  `json:"token,omitempty"`
	Exit  *int   `json:"exit,omitempty"`
	Error string `json:"error,omitempty"`
}

// refused returns what tells that the command cannot be ended, and what to do about it.
func (s *settings) refused(env *cli.Env) func(group int) {
	return func(group int) {
		env.Note("cannot end the command: the system refuses it, because process group %d is another user's, as under sudo. It may run on "+
			"without %q. End it as that user, with: kill -KILL -- -%[1]d. In future run %[3]s itself as that user, and not the command alone",
			group, s.name, env.Name)
	}
}

// ended tells how the command ended.
func (s *settings) ended(env *cli.Env, token int64, o guard.Outcome) {
	e := event{Event: "ended", Named: cli.NamedBy(s.name), Token: token, Exit: &o.Exit}
	if o.Lost != nil {
		e.Event, e.Error = "lost", o.Lost.Error()
		if !env.JSON {
			env.Note("lost %q, and ended the command", s.name)
		}
	}
	env.Event(e)
}
