package view

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
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
the screen; elsewhere it writes a line for each look. A change is one of owner since the
look before; of one name all are counted since top began.

Each look asks first for the names that processes wait for, and then goes through all
keys that match PATTERN with SCAN: about a third of a millisecond of the server's time
for a thousand keys, and two more for a thousand strings. Up to 10,000 names are
followed: those that are waited for, and then those that come first. With more the count
is shown as 10000+. At a terminal q or Ctrl-C ends it.

Simple locks of engines show by their values. Those of other libraries look like any
value: --kind simple follows all strings of PATTERN that have a TTL, and nothing else.

  wheellock top
  wheellock top --interval 10s --count 6 'stock:*' >>locks.log`,
		Define: func(flags *flag.FlagSet) cli.Run {
			t := new(top)
			t.kind.define(flags)
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
	kind     kind

	began   time.Time
	names   map[string]*hot
	looks   int
	took    time.Duration // of the last look
	more    bool          // there are more names than are followed, or masters that were not asked
	first   bool          // those that are waited for are among those that are followed
	changes int64
}

// hot is a name that top follows.
type hot struct {
	*Lock
	Changes int64 `json:"changes"` // of the owner, since top began
	seen    int   // the look that saw it last
}

func (t *top) run(ctx context.Context, env *cli.Env, args []string) (exit int) {
	var err error
	switch t.pattern, err = onePattern(args); {
	case err != nil:
		return env.Usage("%v", err)
	case t.interval < 100*time.Millisecond:
		return env.Usage("--interval %v: must be at least 100ms", t.interval)
	case t.count < 0:
		return env.Usage("--count %d: must not be negative", t.count)
	}
	r, err := dial(ctx, env, t.kind, (*redis).mayLook)
	if err != nil {
		return env.Fail(err)
	}
	defer r.Close()
	if columns, _ := env.Size(); columns > 0 && !env.JSON && !dumb() {
		var restore func()
		ctx, restore = quits(ctx, env.Stdin)
		defer restore()
	}
	t.began, t.names = time.Now(), make(map[string]*hot)
	told := false
	note := func(format string, args ...any) {
		if !told {
			env.Note(format, args...)
		}
		told = true
	}
	tick := time.NewTicker(t.interval)
	defer tick.Stop()
	for {
		err := t.look(ctx, r, note)
		nothing := len(r.masters) == 0
		switch {
		case ctx.Err() != nil:
			return cli.ExitOK
		case nothing && t.looks == 1:
			return env.Fail(err)
		case !nothing:
			t.show(env, r)
		}
		exit = cli.ExitOK
		if err != nil { // a master that changes, say
			env.Note("not everything was looked at: %v", err)
			exit = cli.CodeOf(err)
		}
		if t.looks == t.count || env.Unwritten() != nil {
			return exit
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return cli.ExitOK
		}
	}
}

// look looks once at everything.
func (t *top) look(ctx context.Context, r *redis, note func(format string, args ...any)) error {
	t.looks++
	t.more, t.changes = false, 0
	began := time.Now()
	defer func() { t.took = time.Since(began) }()
	if err := r.findMasters(ctx); err != nil {
		return err
	}
	clients := r.clients(ctx)
	found := func(locks []*Lock) {
		r.countWaiting(ctx, locks)
		for _, l := range locks {
			for i := range l.Owners {
				l.Owners[i].know(clients)
			}
			t.take(l)
		}
	}
	var waitedFor []string
	waitedFor, t.first = r.waitedFor(ctx, t.pattern)
	for names := range slices.Chunk(waitedFor, perScan) {
		locks, err := r.holding(ctx, names)
		t.first = t.first && err == nil // then eachOf finds out why, and what can be seen nevertheless
		found(locks)
		if !r.simple {
			locks, err = r.simpleOfEngines(ctx, names)
			t.first = t.first && err == nil
			found(locks)
		}
	}
	unread := r.unread
	err := r.eachOf(ctx, t.pattern, t.follows, found)
	if err == nil {
		err = r.behind(ctx, note)
	}
	t.more = t.more || r.unread > unread || err != nil
	for name, h := range t.names {
		if h.seen < t.looks && len(t.names) > mostNames/2 {
			delete(t.names, name)
		}
	}
	return err
}

// follows reports whether a name is to be looked at: it is followed and was not looked at yet, or there is room for it.
func (t *top) follows(name string) bool {
	h := t.names[name]
	if h == nil && len(t.names) >= mostNames {
		t.more = true
		return false
	}
	return h == nil || h.seen < t.looks
}

// take compares a lock with what the look before saw.
func (t *top) take(l *Lock) {
	switch h := t.names[l.Name]; {
	case h == nil && len(t.names) >= mostNames:
		t.more = true
		return
	case h == nil:
		t.names[l.Name] = &hot{Lock: l, seen: t.looks}
		return
	case h.seen == t.looks: // SCAN may return a key twice
		return
	case len(h.Owners) > 0 && len(l.Owners) > 0 && h.Owners[0].ID != l.Owners[0].ID:
		h.Changes++
		t.changes++
		fallthrough
	default:
		h.Lock, h.seen = l, t.looks
	}
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
		return cmp.Or(cmp.Compare(b.Changes, a.Changes), cmp.Compare(b.waits(), a.waits()), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// number is a number that may not be known.
func number(n *int64) string {
	if n == nil {
		return "?"
	}
	return fmt.Sprint(*n)
}

// mostListed is how many names a line or a JSON value has.
const mostListed = 20

func (t *top) show(env *cli.Env, r *redis) {
	all := t.sorted()
	sum := int64(0)
	waiting := &sum // nil: not known
	for _, h := range all {
		sum += h.waits()
		if h.Waiting == nil || t.more && !t.first {
			waiting = nil
		}
	}
	if env.JSON {
		env.Value(struct {
			Time      time.Time `json:"time"`
			Held      int       `json:"held"`
			Truncated bool      `json:"truncated,omitempty"` // more are held than are followed
			Unasked   []string  `json:"unasked,omitempty"`   // masters of a cluster that did not answer
			Waiting   *int64    `json:"waiting,omitempty"`
			Changes   int64     `json:"changes"` // since the look before
			Took      int64     `json:"took_ms"` // the look
			Hottest   []*hot    `json:"hottest"`
		}{time.Now(), len(all), t.more, slices.Sorted(maps.Keys(r.unasked)), waiting, t.changes, t.took.Milliseconds(), all[:min(len(all), mostListed)]})
		return
	}
	held := fmt.Sprint(len(all))
	if t.more {
		held += "+"
	}
	columns, lines := env.Size()
	if columns == 0 || dumb() {
		line := fmt.Sprintf("t=%.1fs held=%s waiting=%s changes=%d", time.Since(t.began).Seconds(), held, number(waiting), t.changes)
		if t.took > t.interval {
			line += " look=" + length(t.took)
		}
		for i, h := range all[:min(len(all), 3)] {
			line += fmt.Sprintf(" hot%d=%q", i+1, h.Name)
		}
		fmt.Fprintln(env.Stdout, line)
		return
	}
	t.draw(env, r, held, all, waiting, columns, lines)
}

// dumb reports whether the terminal understands no escapes.
func dumb() bool { return os.Getenv("TERM") == "dumb" }

const topForm = "%7s %7s %6s  %-7s %-*s %s"

// draw redraws the screen, in one write so that it does not flicker.
func (t *top) draw(env *cli.Env, r *redis, held string, all []*hot, waiting *int64, width, height int) {
	every := fmt.Sprintf("every %v", t.interval)
	if t.took > t.interval {
		every = fmt.Sprintf("a look takes %s", length(t.took))
	}
	waits := "who waits is not known"
	if waiting != nil {
		waits = cli.Plural(*waiting, "process waits", "processes wait")
	}
	lines := []string{
		fmt.Sprintf("wheellock top  %s  %s  q ends", r.place, every),
		fmt.Sprintf("%s held  %s  %d changes in this look (CHANGES: in all)", held, waits, t.changes),
		"",
	}
	if !r.simple {
		lines[2] = simpleOfOthers
	}
	all = all[:max(0, min(len(all), height-2-len(lines)))]
	holders, names := []string{"HOLDER"}, []string{"NAME"}
	for _, h := range all {
		holders, names = append(holders, h.holder()), append(names, shown(h.Name))
	}
	holder := holderWidth(width, len(fmt.Sprintf(topForm, "", "", "", "", 0, "", "")), holders, names)
	lines = append(lines, fmt.Sprintf(topForm, "CHANGES", "WAITING", "TTL", "KIND", holder, "HOLDER", "NAME"))
	for i, h := range all {
		waiting := number(h.Waiting)
		if h.Kind == engine.KindPermits {
			waiting = "-"
		}
		lines = append(lines, fmt.Sprintf(topForm, fmt.Sprint(h.Changes), waiting, left(h.TTL), h.Kind, holder, cutMiddle(holders[i+1], holder), names[i+1]))
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	for _, line := range lines {
		b.WriteString(cut(line, width) + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[J")
	_, _ = env.Stdout.Write([]byte(b.String()))
}
