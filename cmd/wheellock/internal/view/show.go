package view

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/engine"
)

// Show is the command.
func Show() cli.Command {
	return cli.Command{
		Name: "show", Args: "NAME",
		Short: "show who holds a lock, and who waits for it",
		Help: `Shows the kind, the owners with the identity and address of their processes, the
hold count, what the lease has left, the fencing counter, who waits, and the queue of a
fair lock. The leader of an election shows with the time since when it leads.

Exit code: 0 somebody holds it; 1 nobody does.

  wheellock show stock:7`,
		Define: func(*flag.FlagSet) cli.Run { return show },
	}
}

func show(ctx context.Context, env *cli.Env, args []string) (exit int) {
	if len(args) != 1 {
		return env.Usage("name one lock, not %d", len(args))
	}
	r, err := dial(ctx, env)
	if err != nil {
		return env.Fail(err)
	}
	defer r.Close()
	l, err := r.inspect(ctx, args[0])
	if err != nil {
		return env.Fail(err)
	}
	if env.JSON {
		env.Value(l)
	} else {
		l.write(env.Stdout)
	}
	if l.Holders == 0 {
		return cli.ExitNo
	}
	return cli.ExitOK
}

// nouns are the kinds for people.
var nouns = map[engine.Kind]string{
	engine.KindMutex: "mutex (or spin lock)", engine.KindFenced: "fenced lock", engine.KindFair: "fair lock",
	engine.KindRead: "read-write lock, held by readers", engine.KindWrite: "read-write lock, held by a writer",
	engine.KindPermits: "permit semaphore",
}

// write writes all that is known.
func (l *Lock) write(w io.Writer) {
	line := func(what, format string, args ...any) {
		fmt.Fprintf(w, "  %-10s %s\n", what, fmt.Sprintf(format, args...))
	}
	fmt.Fprintln(w, shown(l.Name))
	switch {
	case l.Kind != "":
		line("kind", "%s", nouns[l.Kind])
	case l.Free != nil:
		line("kind", "semaphore or latch, which look the same (or any other number)")
	case l.Foreign != "":
		line("kind", "no lock: the key holds a %s of something else", l.Foreign)
	default:
		line("held by", "nobody")
	}
	if l.Leader != "" {
		line("leader", "%s, for %s", shown(l.Leader), length(time.Since(*l.Since)))
	}
	for i := range l.Owners {
		l.Owners[i].write(line, "held by")
	}
	if more := l.Holders - int64(len(l.Owners)); more > 0 && len(l.Owners) > 0 {
		line("", "and %d more", more)
	}
	if l.Kind == engine.KindPermits {
		line("held", "%d permits", l.Holders)
	}
	if l.Free != nil {
		line("free", "%d", *l.Free)
	}
	if len(l.Owners) > 0 {
		line("lease", "%s left, if nobody renews it", left(l.TTL))
	}
	if l.Token > 0 {
		line("token", "%d is the last", l.Token)
	}
	line("waiting", "%s", plural(l.Waiting, "process", "processes"))
	for i := range l.Queue {
		l.Queue[i].write(line, fmt.Sprintf("place %d", i+1))
	}
}

// write writes an owner in one line or two.
func (o *Owner) write(line func(what, format string, args ...any), what string) {
	switch {
	case o.Detached && o.Identity != "":
		line(what, "nobody: %s left it taken (min hold, or detached)", shown(o.Identity))
		line("", "id %s", shown(o.ID))
		return
	case o.Detached:
		line(what, "nobody: left taken (min hold, or detached) as %s", shown(o.ID))
		return
	case o.Identity == "":
		line(what, "%s, whose process is not known", shown(o.ID))
	default:
		line(what, "%s", shown(o.Identity))
		line("", "from %s, connected for %s", o.Address, length(time.Since(*o.Connected)))
		line("", "id %s", shown(o.ID))
	}
	if o.Count > 0 {
		line("", "hold count %d", o.Count)
	}
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
