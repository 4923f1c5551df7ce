// Command wheellock uses locks from the command line, and shows them:
//
//	wheellock lock backup -- ./backup.sh
//	wheellock elect scheduler -- ./scheduler
//	wheellock ls 'stock:*'
//	wheellock show stock:7
//	wheellock force stock:7
//	wheellock top
//	wheellock watch stock:7
//	wheellock doctor
//
// wheellock -h explains it, wheellock COMMAND -h a command. docs/COMMANDS.md has examples.
//
// main.go finds the command, help.go and completion.go help to write one. The packages below are internal/cli (what commands
// share), internal/hold (lock, elect), internal/guard (the process that they run) internal/view (ls, show, force, top, watch) and
// internal/doctor.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/wheellock/wheellock/cmd/internal/flagset"
	"github.com/wheellock/wheellock/cmd/internal/notes"
	"github.com/wheellock/wheellock/cmd/internal/signals"
	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/cmd/wheellock/internal/doctor"
	"github.com/wheellock/wheellock/cmd/wheellock/internal/hold"
	"github.com/wheellock/wheellock/cmd/wheellock/internal/view"
)

// commands are all commands, in the order of the help.
func commands() []cli.Command {
	return []cli.Command{hold.Lock(), hold.Elect(), view.Ls(), view.Show(), view.Force(), view.Top(), view.Watch(), doctor.Command(), completion()}
}

func main() {
	signals.Keep()
	cli.Fit(os.Stdout)
	os.Exit(run(signals.Context(os.Interrupt, syscall.SIGTERM), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is wheellock without the process around it. Flags that all commands have may stand before the command.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (exit int) {
	env := &cli.Env{Name: "wheellock", Stdin: stdin, Stdout: stdout, Stderr: stderr}
	flags := flag.NewFlagSet("wheellock", flag.ContinueOnError)
	env.Define(flags)
	version := false
	flags.BoolVar(&version, "version", false, "")
	switch err := flagset.Parse(flags, args); {
	case errors.Is(err, flag.ErrHelp), err == nil && flags.NArg() == 0 && !version:
		help(stdout)
		return cli.ExitOK
	case err != nil:
		return env.Usage("%v", err)
	case version:
		fmt.Fprintln(stdout, notes.Version("wheellock"))
		return cli.ExitOK
	}
	name, rest := flags.Arg(0), flags.Args()[1:]
	switch {
	case name == completeRole:
		return complete(stdout, rest)
	case name == "help" && len(rest) > 0:
		name, rest = rest[0], []string{"-h"}
	case name == "help":
		help(stdout)
		return cli.ExitOK
	}
	var names []string
	for _, c := range commands() {
		if c.Name == name {
			return c.Execute(ctx, env, rest)
		}
		names = append(names, c.Name)
	}
	return env.Usage("there is no command %q%s", name, flagset.Suggest(name, names))
}
