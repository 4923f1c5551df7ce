package view

import (
	"bufio"
	"context"
	"errors"
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
		Name: "force", Args: "NAME | --holder TEXT [PATTERN]",
		Short: "free a lock that somebody else holds",
		Help: `Shows who holds the lock, asks, and frees it for the next one. Whoever got the lock
meanwhile keeps it. Use it for a holder that hangs: a lock whose holder has died frees
itself when its lease is over.

The old holder learns of it by its next renewal, a third of its lease later at most
(at once with WatchLoss, or under "wheellock lock"). Until then two may believe that
they have the lock: only a fencing token protects what they write to.

With --holder it lists all locks of PATTERN that such holders have, asks once, and
frees these: "wheellock ls --holder TEXT" shows the same list. Text of another holder
may contain TEXT, too: pod-1 is in pod-10. Other readers of a read-write lock keep it.
Of a process that is not connected only the id is known.

Exit code: 0 all are free; 1 nobody held them, or one was not to be freed.

  wheellock force stock:7
  wheellock force --yes stock:7
  wheellock force --holder payments@pod-7:
  wheellock force --kind simple job:7`,
		Define: func(flags *flag.FlagSet) cli.Run {
			f := new(force)
			f.kind.define(flags)
			flags.BoolVar(&f.yes, "yes", false, "free it without asking")
			flags.Func("holder", "free all locks of holders whose identity or id contains `TEXT`", func(text string) error {
				if f.holder = text; text == "" {
					return errors.New("want a text: all holders contain an empty one")
				}
				return nil
			})
			return f.run
		},
	}
}

type force struct {
	holder string
	yes    bool
	kind   kind
}

func (f *force) run(ctx context.Context, env *cli.Env, args []string) (exit int) {
	stdin, isFile := env.Stdin.(*os.File)
	one, may := oneName, (*redis).mayLookAtOne
	if f.holder != "" {
		one, may = onePattern, (*redis).mayLook
	}
	name, err := one(args)
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
	if err = errors.Join(may(r, ctx), err); err != nil { // all missing rights at once
		return env.Fail(err)
	}
	if f.holder != "" {
		return f.freeAll(ctx, env, r, e, name)
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
	return f.free(ctx, env, e, l)
}

// freeAll frees what the holders that are meant have.
func (f *force) freeAll(ctx context.Context, env *cli.Env, r *redis, e *engine.Engine, pattern string) (exit int) {
	var all []*Lock
	missing := r.eachHeldBy(ctx, pattern, f.holder, func(locks []*Lock) { all = append(all, locks...) })
	if len(r.masters) == 0 {
		return env.Fail(missing)
	}
	slices.SortFunc(all, orders["name"])
	all = slices.CompactFunc(all, func(a, b *Lock) bool { return a.Name == b.Name }) // SCAN may return a key twice
	for _, l := range all {
		// Other readers keep it.
		beyond := l.Holders - int64(len(l.Owners))
		l.Owners = slices.DeleteFunc(l.Owners, func(o Owner) bool { return !o.is(f.holder) })
		l.Holders = beyond + int64(len(l.Owners))
	}
	r.noteNameless(env, f.holder)
	if len(all) > 0 && (!f.yes || !env.JSON) {
		list := newTable(env)
		list.json, list.out = false, env.Stderr
		list.add(all)
	}
	switch {
	case len(all) == 0:
		env.Note("nobody whose identity or id contains %s holds a lock", shown(f.holder))
		exit = cli.ExitNo
	case !f.yes && !ask(ctx, env, fmt.Sprintf("Free %s?", cli.Plural(int64(len(all)), "lock", "locks"))):
		all, exit = nil, cli.ExitNo
	}
	if len(all) == 0 && !env.JSON {
		fmt.Fprintln(env.Stdout, "freed nothing")
	}
	for _, l := range all {
		if ctx.Err() != nil {
			return env.Fail(context.Cause(ctx))
		}
		exit = max(exit, f.free(ctx, env, e, l))
	}
	if missing != nil {
		return env.Fail(missing)
	}
	return exit
}

// free frees a lock and tells what came of it.
func (f *force) free(ctx context.Context, env *cli.Env, e *engine.Engine, l *Lock) (exit int) {
	freed, err := l.free(ctx, e)
	switch left := l.Holders - int64(len(l.Owners)); {
	case err != nil:
		return env.Fail(err)
	case !freed:
		env.Note("the holder shown above no longer has %s", shown(l.Name))
	case left > 0:
		env.Note("%s had %d more readers than were freed: force it again", shown(l.Name), left)
	}
	return f.tell(env, l.Name, freed)
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
