package view

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/engine"
)

// Force is the command.
func Force() cli.Command {
	return cli.Command{
		Name: "force", Args: "NAME",
		Short: "free a lock that somebody else holds",
		Help: `Shows who holds the lock, asks, and frees it for the next one. Use it for a holder
that hangs: a lock whose holder has died frees itself when its lease is over.

The old holder learns of it by its next renewal, a third of its lease later at most
(at once with WatchLoss, or under "wheellock lock"). Until then two may believe that
they have the lock: only a fencing token protects what they write to.

Exit code: 0 it is free; 1 nobody held it, or it was not to be freed.

  wheellock force stock:7
  wheellock force --yes stock:7`,
		Define: func(flags *flag.FlagSet) cli.Run {
			f := new(force)
			flags.BoolVar(&f.yes, "yes", false, "free it without asking")
			return f.run
		},
	}
}

type force struct{ yes bool }

func (f *force) run(ctx context.Context, env *cli.Env, args []string) (exit int) {
	stdin, isFile := env.Stdin.(*os.File)
	switch {
	case len(args) != 1:
		return env.Usage("name one lock, not %d", len(args))
	case !f.yes && (!isFile || !term.IsTerminal(int(stdin.Fd()))):
		return env.Usage("standard input is no terminal, so nobody can be asked: --yes frees it without asking")
	}
	name := args[0]
	r, err := dial(ctx, env)
	if err != nil {
		return env.Fail(err)
	}
	defer r.Close()
	l, err := r.inspect(ctx, name)
	if err != nil {
		return env.Fail(err)
	}
	if !f.yes || !env.JSON {
		l.write(env.Stderr)
	}
	if len(l.Owners) == 0 {
		if l.Holders > 0 {
			env.Note("the permits of a semaphore are not freed by name: they end with their leases, or by their ids")
		}
		return f.tell(env, name, false)
	}
	if !f.yes {
		if !ask(ctx, env, fmt.Sprintf("Free %s?", shown(name))) {
			return f.tell(env, name, false)
		}
		now, err := r.inspect(ctx, name) // a person takes a while
		if err != nil {
			return env.Fail(err)
		}
		if !slices.EqualFunc(l.Owners, now.Owners, func(a, b Owner) bool { return a.ID == b.ID }) {
			env.Note("another one has %s now", shown(name))
			return f.tell(env, name, false)
		}
	}
	freed, err := l.free(ctx, env)
	if err != nil {
		return env.Fail(err)
	}
	return f.tell(env, name, freed)
}

// ask asks a question with yes or no. Ctrl-C is no.
func ask(ctx context.Context, env *cli.Env, question string) (yes bool) {
	fmt.Fprintf(env.Stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(env.Stdin).ReadString('\n') // the end of the input is no
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case line := <-answer:
		return line == "y" || line == "yes"
	case <-ctx.Done():
		fmt.Fprintln(env.Stderr)
		return false
	}
}

// free takes the lock from whoever has it.
func (l *Lock) free(ctx context.Context, env *cli.Env) (freed bool, err error) {
	e, err := env.Open(ctx, func(*engine.Options) {})
	if err != nil {
		return false, err
	}
	defer e.Close()
	switch l.Kind {
	case engine.KindRead:
		return e.RWMutex(l.Name).Reader().ForceUnlock(ctx)
	case engine.KindWrite:
		return e.RWMutex(l.Name).Writer().ForceUnlock(ctx)
	case engine.KindFair:
		return e.FairMutex(l.Name).ForceUnlock(ctx)
	case engine.KindFenced:
		return e.FencedMutex(l.Name).ForceUnlock(ctx)
	}
	return e.Mutex(l.Name).ForceUnlock(ctx)
}

// tell tells what came of it.
func (f *force) tell(env *cli.Env, name string, freed bool) (exit int) {
	switch {
	case env.JSON:
		env.Value(struct {
			Name  string `json:"name"`
			Freed bool   `json:"freed"`
		}{name, freed})
	case freed:
		fmt.Fprintf(env.Stdout, "freed %s\n", shown(name))
	default:
		fmt.Fprintf(env.Stdout, "freed nothing\n")
	}
	if freed {
		return cli.ExitOK
	}
	return cli.ExitNo
}
