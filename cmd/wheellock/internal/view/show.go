package view

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/scripts"
)

// Show is the command.
func Show() cli.Command {
	return cli.Command{
		Name: "show", Args: "NAME",
		Short: "show who holds a lock, and who waits for it",
		Help: `Shows the kind, the owners with the identity and address of their processes, what they
say that the lock is for, the hold count, when the lease expires, the fencing counter, how many processes wait, and
in which order: the queue of a fair lock, or the engines in line for another. Redisson's
waiters are counted, and have no places in line; who polls for a simple lock leaves no
trace. A fenced lock shows how long its
process has it, and the leader of an election since when it leads.

With --again it looks twice. If the lease went up, the holder is alive and renews it.
If it only went down, the holder is dead, or its lease is fixed: wait.

Exit code: 0 somebody holds it; 1 nobody does.

  wheellock show stock:7
  wheellock show --again 11s stock:7`,
		Define: func(flags *flag.FlagSet) cli.Run {
			s := new(show)
			s.kind.define(flags)
			flags.DurationVar(&s.again, "again", 0, "look again after `TIME`, and tell whether the lease was renewed. A holder renews every\nthird of its lease: 10s, unless its program has set another lease")
			return s.run
		},
	}
}

type show struct {
	again time.Duration
	kind  kind
}

func (s *show) run(ctx context.Context, env *cli.Env, args []string) (exit int) {
	name, err := oneName(args)
	if s.again < 0 {
		err = fmt.Errorf("--again %v: must not be negative", s.again)
	}
	if err != nil {
		return env.Usage("%v", err)
	}
	r, err := dial(ctx, env, s.kind, (*redis).mayLookAtOne)
	if err != nil {
		return env.Fail(err)
	}
	defer r.Close()
	l, err := r.inspect(ctx, name)
	if err != nil {
		return env.Fail(err)
	}
	if s.again > 0 && len(l.Owners) > 0 {
		if l, err = s.lookAgain(ctx, r, l); err != nil {
			return env.Fail(err)
		}
	}
	if env.JSON {
		env.Value(l)
	} else {
		l.write(env.Stdout)
	}
	if err := r.behind(ctx, env.Note); err != nil {
		return env.Fail(err)
	}
	if l.Holders == 0 {
		return cli.ExitNo
	}
	return cli.ExitOK
}

// lookAgain looks a second time.
func (s *show) lookAgain(ctx context.Context, r *redis, before *Lock) (*Lock, error) {
	select {
	case <-time.After(s.again):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	l, err := r.inspect(ctx, before.Name)
	if err != nil || len(l.Owners) == 0 {
		return l, err
	}
	switch {
	case l.Owners[0].ID != before.Owners[0].ID:
		l.Renewal = "another owner has it now"
	case l.TTL < 0: // nobody renews what has no end
	case l.TTL > before.TTL-s.again.Milliseconds()/2:
		l.Renewal = "renewed: the holder is alive"
	default:
		l.Renewal = fmt.Sprintf("not renewed in %v", s.again)
	}
	return l, nil
}

// nouns are the kinds for people.
var nouns = map[engine.Kind]string{
	engine.KindMutex: "mutex (or spin lock)", engine.KindFenced: "fenced lock", engine.KindFair: "fair lock",
	engine.KindRead: "read-write lock, held by readers", engine.KindWrite: "read-write lock, held by a writer",
	engine.KindPermits: "permit semaphore", engine.KindSimple: "simple lock",
}

// Of many holders, and of a queue or a line, the first are shown to people, so that all fits a terminal of 24 lines. One holder has several lines.
const (
	mostShown   = 10
	leastPlaces = 3
)

// write writes what is known.
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
		line("kind", "not a lock: the key is a %s", l.Foreign)
		if l.Foreign == "string" {
			line("", simpleOfOthers)
		}
	default:
		line("held by", "nobody")
	}
	switch {
	case l.Leader != "":
		line("leader", "%s, for %s", shown(l.Leader), length(time.Since(*l.Since)))
	case l.Since != nil:
		line("since", "%s ago, in this process", length(time.Since(*l.Since)))
	}
	owners := l.Owners[:min(len(l.Owners), mostShown)]
	for i := range owners {
		owners[i].write(line, "held by", len(owners) == 1)
	}
	if more := l.Holders - int64(len(owners)); more > 0 && len(owners) > 0 {
		line("", "and %d more", more)
	}
	if l.Kind == engine.KindPermits {
		line("held", "%d permits", l.Holders)
	}
	if l.Free != nil {
		line("free", "%d", *l.Free)
	}
	switch {
	case len(l.Owners) > 0 && l.TTL < 0:
		line("lease", "no expiry: it will never free itself")
	case len(l.Owners) > 0 && (l.Owners[0].Detached || l.Kind == engine.KindSimple && !simpleOwner.MatchString(l.Owners[0].ID)):
		line("lease", "expires in %s", left(l.TTL))
	case len(l.Owners) > 0:
		line("lease", "expires in %s unless renewed", left(l.TTL))
	}
	if l.Renewal != "" {
		line("", "%s", l.Renewal)
	}
	if l.Token > 0 {
		line("token", "%d at most", l.Token)
	}
	switch {
	case l.Waiting == nil:
		line("waiting", "not known: this user may not run PUBSUB NUMSUB, or not read the key %s", shown(scripts.LineKey(l.Name)))
	case l.Queued > int64(len(l.Queue)) && l.Queued > *l.Waiting: // a process may have several places in a queue
		line("waiting", "%d processes or more", *l.Waiting)
	default:
		line("waiting", "%s", cli.Plural(*l.Waiting, "process", "processes"))
	}
	queue := l.Queue[:min(len(l.Queue), max(leastPlaces, mostShown+1-len(owners)))]
	for i := range queue {
		queue[i].write(line, fmt.Sprintf("place %d", i+1), false)
	}
	if more := l.Queued - int64(len(queue)); more > 0 {
		line("", "and %d more", more)
	}
}

// write writes an owner, in one line if it is not to be whole.
func (o *Owner) write(line func(what, format string, args ...any), what string, whole bool) {
	switch {
	case o.Detached && o.Identity != "":
		line(what, "nobody: %s left it taken (min hold, or detached)", shown(o.Identity))
		line("", "id %s", shown(o.ID))
		return
	case o.Detached:
		line(what, "nobody: left taken (min hold, or detached) as %s", shown(o.ID))
		return
	case o.Identity == "":
		line(what, "%s, whose process is not known", cut(shown(o.ID), mostOfMany))
	default:
		line(what, "%s", shown(o.Identity))
	}
	if whole && o.Identity != "" {
		line("", "from %s, connected for %s", o.Address, length(time.Since(*o.Connected)))
		line("", "id %s", shown(o.ID))
	}
	if o.Note != "" {
		line("", "for %s", shown(o.Note))
	}
	if o.Count > 0 && (whole || o.Count > 1) {
		line("", "hold count %d", o.Count)
	}
}
