// Package cli is what the commands of wheellock share: how one is declared (command.go), what it runs in (env.go), and how its help
// reads (help.go).
package cli

import (
	"context"
	"errors"
	"flag"
	"slices"
	"strings"

	"github.com/wheellock/wheellock/cmd/internal/flagset"
	"github.com/wheellock/wheellock/cmd/internal/output"
)

// Command is one command of wheellock.
type Command struct {
	Name  string
	Args  string // what follows its name, such as "NAME -- COMMAND [ARG...]"; without " -- " in it, what follows "--" are words too
	Short string // what it does, in one line
	Help  string // the rest of what -h says; see Text
	// Define declares the flags that only this command has, and returns what runs once they have been read. The text of a flag
	// has its value's name in backquotes, as package flag wants it.
	Define func(*flag.FlagSet) Run
}

// Run does what a command does. args are its words without the flags, up to "--"; what follows that is env.After. The flags of
// all commands are in env. ctx ends with the first Ctrl-C or TERM.
type Run func(ctx context.Context, env *Env, args []string) (exit int)

// Exit codes. Those from 64 on are as in sysexits.h, and not codes that commands under a lock usually end with.
const (
	ExitOK          = 0
	ExitNo          = 1  // the answer is no: nobody has the name, say, or something is wrong with the server
	ExitUsage       = 64 // invalid command line
	ExitUnavailable = 69 // Redis cannot be reached, or refuses
	ExitFailed      = 70 // another failure
	ExitLost        = 74 // the lock was lost, and the command under it was ended
	ExitHeld        = 75 // somebody else has the lock; later it may be free
	ExitCannotRun   = 126
	ExitNotFound    = 127 // there is no such program
	ExitSignal      = 128 // plus the signal
)

// Execute reads the flags of a command and runs it.
func (c *Command) Execute(ctx context.Context, env *Env, args []string) (exit int) {
	env.Name, env.ctx = "wheellock "+c.Name, ctx
	flags := flag.NewFlagSet(env.Name, flag.ContinueOnError)
	run := c.Define(flags)
	env.Define(flags)
	words, err := env.read(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		c.explain(env.Stdout)
		return ExitOK
	case err != nil:
		return env.Usage("%v", err)
	}
	if !strings.Contains(c.Args, " -- ") {
		words = append(words, env.After...)
	}
	out := &output.Stream{Writer: env.Stdout}
	env.Stdout = out
	exit = run(ctx, env, words)
	if err := out.Err(); err != nil && exit < ExitUsage { // it tells of what should have been written
		return env.Fail(err)
	}
	return exit
}

// read reads flags wherever they stand before "--", and returns the other words.
func (e *Env) read(flags *flag.FlagSet, args []string) (words []string, err error) {
	if i := slices.Index(args, "--"); i >= 0 {
		args, e.After, e.Dashes = args[:i], args[i+1:], true
	}
	return flagset.Words(flags, args)
}
