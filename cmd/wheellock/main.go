// Command wheellock uses locks from the command line, and shows them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/cmd/wheellock/internal/hold"
)

// commands are all commands, in the order of the help.
func commands() []cli.Command {
	return []cli.Command{hold.Lock(), hold.Elect()}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	exit := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(exit)
}

// run is wheellock without the process around it. Flags that all commands have may stand before the command.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (exit int) {
	env := &cli.Env{Name: "wheellock", Stdin: stdin, Stdout: stdout, Stderr: stderr}
	flags := flag.NewFlagSet("wheellock", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	env.Define(flags)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp), err == nil && flags.NArg() == 0:
		help(stdout)
		return cli.ExitOK
	case err != nil:
		return env.Usage("%v", err)
	}
	for _, c := range commands() {
		if c.Name == flags.Arg(0) {
			return c.Execute(ctx, env, flags.Args()[1:])
		}
	}
	return env.Usage("there is no command %q", flags.Arg(0))
}

func help(w io.Writer) {
	fmt.Fprintln(w, "wheellock uses locks on Redis from the command line, and shows them.")
	for _, c := range commands() {
		fmt.Fprint(w, cli.Entry(c.Name, c.Short))
	}
}
