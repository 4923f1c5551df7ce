package view

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
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
		Help: `Shows who holds the lock, asks, and frees it for the next one. Whoever got the lock
meanwhile keeps it. Use it for a holder that hangs: a lock whose holder has died frees
itself when its lease is over.

The old holder learns of it by its next renewal, a third of its lease later at most
(at once with WatchLoss, or under "wheellock lock"). Until then two may believe that
they have the lock: only a fencing token protects what they write to.

Exit code: 0 it is free; 1 nobody held it, or it was not to be freed.

  wheellock force stock:7
  wheellock force --yes stock:7
  wheellock force --kind simple job:7`,
		Define: func(flags *flag.FlagSet) cli.Run {
			f := new(force)
			f.kind.define(flags)
			flags.BoolVar(&f.yes, "yes", false, "free it without asking")
			return f.run
		},
	}
}

type force struct {
	yes  bool
	kind kind
}

func (f *force) run(ctx context.Context, env *cli.Env, args []string) (exit int) {
	stdin, isFile := env.Stdin.(*os.File)
	name, err := oneName(args)
	switch {
	case err != nil:
		return env.Usage("%v", err)
	case !f.yes && (!isFile || !term.IsTerminal(int(stdin.Fd()))):
		return env.Usage("standard input is no terminal, so nobody can be asked: --yes frees it without asking")
	}
	r, err := connect(ctx, env, f.kind)
	if err != nil {
		return env.Fail(err)
	}
	defer r.Close()
	if err := r.takesWrites(ctx); err != nil {
		return env.Fail(err)
	}
	e, err := env.Open(ctx, func(*engine.Options) {})
	if e != nil {
		defer e.Close()
	}
	if err = errors.Join(r.mayLookAtOne(ctx), err); err != nil { // all missing rights at once
		return env.Fail(err)
	}
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
	if !f.yes && !ask(ctx, env, fmt.Sprintf("Free %s?", shown(name))) {
		return f.tell(env, name, false)
	}
	freed, err := l.free(ctx, e)
	switch left := l.Holders - int64(len(l.Owners)); {
	case err != nil:
		return env.Fail(err)
	case !freed:
		env.Note("the holder shown above no longer has %s", shown(name))
	case left > 0:
		env.Note("%s had %d more readers than were freed: force it again", shown(name), left)
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

// free takes the lock from its owners, and from no owner that got it since.
func (l *Lock) free(ctx context.Context, e *engine.Engine) (freed bool, err error) {
	m := e.Mutex(l.Name)
	switch l.Kind {
	case engine.KindRead:
		m = e.RWMutex(l.Name).Reader()
	case engine.KindWrite:
		m = e.RWMutex(l.Name).Writer()
	case engine.KindFair:
		m = e.FairMutex(l.Name)
	case engine.KindFenced:
		m = e.FencedMutex(l.Name)
	case engine.KindSimple:
		m = e.SimpleMutex(l.Name)
	}
	owners := make([]string, len(l.Owners))
	for i := range l.Owners {
		owners[i] = l.Owners[i].ID
	}
	return m.ForceUnlockOwners(ctx, owners...)
}

// tell tells what came of it.
func (f *force) tell(env *cli.Env, name string, freed bool) (exit int) {
	switch {
	case env.JSON:
		env.Value(struct {
			cli.Named
			Freed bool `json:"freed"`
		}{cli.NamedBy(name), freed})
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
