package view

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/engine"
)

// Top is the command.
func Top() cli.Command {
	return cli.Command{
		Name: "top", Args: "[PATTERN]",
		Short: "watch which names are hot",
		Help: `Looks every --interval which names are held, by whom, and how many processes wait,
and shows the names first whose owner has changed most often from one look to the next.
A name that is locked and freed between two looks is not seen. At a terminal it redraws
the screen; elsewhere it writes a line for each look.

Each look goes through all keys that match PATTERN with SCAN: about a third of a
millisecond of the server's time for a thousand keys. Up to 10,000 names are followed;
of more, those that come first.

  wheellock top
  wheellock top --interval 10s --count 6 'stock:*' >>locks.log`,
		Define: func(flags *flag.FlagSet) cli.Run {
			t := &top{pattern: "*"}
			flags.DurationVar(&t.interval, "interval", 2*time.Second, "`TIME` between two looks, from 100ms")
			flags.IntVar(&t.count, "count", 0, "end after `N` looks; 0: when Ctrl-C is pressed")
			return t.run
		},
	}
}

// mostNames is how many names top follows.
const mostNames = 10_000

type top struct {
	pattern  string
	interval time.Duration
	count    int

	began   time.Time
	names   map[string]*hot
	looks   int
	more    bool // there are more names than are followed
	changes int64
}

// hot is a name that top follows.
type hot struct {
	*Lock
	Changes int64 `json:"changes"` // of the owner, since top began
	seen    int   // the look that saw it last
}

func (t *top) run(ctx context.Context, env *cli.Env, args []string) (exit int) {
	switch {
	case len(args) > 1:
		return env.Usage("what is %q? top takes one pattern, in quotes", args[1])
	case t.interval < 100*time.Millisecond:
		return env.Usage("--interval %v: must be at least 100ms", t.interval)
	case t.count < 0:
		return env.Usage("--count %d: must not be negative", t.count)
	case len(args) == 1:
		t.pattern = args[0]
	}
	r, err := dial(ctx, env)
	if err != nil {
		return env.Fail(err)
	}
	defer r.Close()
	t.began, t.names = time.Now(), make(map[string]*hot)
	tick := time.NewTicker(t.interval)
	defer tick.Stop()
	for {
		switch err := t.look(ctx, r); {
		case ctx.Err() != nil:
			return cli.ExitOK
		case err != nil && t.looks == 1:
			return env.Fail(err)
		case err != nil: // a master that changes, say
			env.Note("%v", err)
		default:
			t.show(env, r.place)
		}
		if t.looks == t.count {
			return cli.ExitOK
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return cli.ExitOK
		}
	}
}

// look looks once at everything.
func (t *top) look(ctx context.Context, r *redis) error {
	t.looks++
	t.more, t.changes = false, 0
	r.findMasters(ctx)
	clients := r.clients(ctx)
	err := r.each(ctx, t.pattern, func(locks []*Lock) {
		channels := make([]string, len(locks))
		for i, l := range locks {
			channels[i] = l.channels()[0] // the kind of what is held is known
		}
		if len(locks) == 0 {
			return
		}
		waiting := r.subscribers(ctx, channels)
		for i, l := range locks {
			l.Waiting = waiting[channels[i]]
			if l.Kind == engine.KindFair {
				l.Waiting = max(l.Waiting, processes(r.queue(ctx, l.Name)))
			}
			for i := range l.Owners {
				l.Owners[i].know(clients)
			}
			t.take(l)
		}
	})
	for name, h := range t.names {
		if h.seen < t.looks && len(t.names) > mostNames/2 {
			delete(t.names, name)
		}
	}
	return err
}

// take compares a lock with what the look before saw.
func (t *top) take(l *Lock) {
	h := t.names[l.Name]
	switch {
	case h == nil && len(t.names) >= mostNames:
		t.more = true
		return
	case h == nil:
		h = &hot{}
		t.names[l.Name] = h
	case len(h.Owners) > 0 && len(l.Owners) > 0 && h.Owners[0].ID != l.Owners[0].ID:
		h.Changes++
		t.changes++
	}
	h.Lock, h.seen = l, t.looks
}

// sorted are the names that are held now, the hottest first.
func (t *top) sorted() []*hot {
	var all []*hot
	for _, h := range t.names {
		if h.seen == t.looks {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b *hot) int {
		return cmp.Or(cmp.Compare(b.Changes, a.Changes), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// mostListed is how many names a line or a JSON value has.
const mostListed = 20

func (t *top) show(env *cli.Env, place string) {
	all := t.sorted()
	waiting := int64(0)
	for _, h := range all {
		waiting += h.Waiting
	}
	if env.JSON {
		env.Value(struct {
			Time    time.Time `json:"time"`
			Held    int       `json:"held"`
			Waiting int64     `json:"waiting"`
			Changes int64     `json:"changes"` // since the look before
			Hottest []*hot    `json:"hottest"`
		}{time.Now(), len(all), waiting, t.changes, all[:min(len(all), mostListed)]})
		return
	}
	columns, lines := env.Size()
	if columns == 0 || os.Getenv("TERM") == "dumb" {
		line := fmt.Sprintf("t=%.1fs held=%d waiting=%d changes=%d", time.Since(t.began).Seconds(), len(all), waiting, t.changes)
		for i, h := range all[:min(len(all), 3)] {
			line += fmt.Sprintf(" hot%d=%q", i+1, h.Name)
		}
		fmt.Fprintln(env.Stdout, line)
		return
	}
	t.draw(env, place, all, waiting, columns, lines)
}

const topForm = "%7s %7s %6s  %-7s %-*s %s"

// draw redraws the screen, in one write so that it does not flicker.
func (t *top) draw(env *cli.Env, place string, all []*hot, waiting int64, width, height int) {
	holder := narrow(20, 6, width)
	more := ""
	if t.more {
		more = "+"
	}
	lines := []string{
		fmt.Sprintf("wheellock top  %s  every %v  Ctrl-C ends", place, t.interval),
		fmt.Sprintf("%d%s held  %s  %d changes of owner seen", len(all), more, plural(waiting, "process waits", "processes wait"), t.changes),
		"",
		fmt.Sprintf(topForm, "CHANGES", "WAITING", "TTL", "KIND", holder, "HOLDER", "NAME"),
	}
	for _, h := range all {
		if len(lines) == height-1 {
			break
		}
		waiting := fmt.Sprint(h.Waiting)
		if h.Kind == engine.KindPermits {
			waiting = "-"
		}
		lines = append(lines, fmt.Sprintf(topForm, fmt.Sprint(h.Changes), waiting, left(h.TTL), h.Kind, holder, cut(h.holder(), holder), shown(h.Name)))
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	for _, line := range lines {
		b.WriteString(cut(line, width) + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	_, _ = env.Stdout.Write([]byte(b.String()))
}
