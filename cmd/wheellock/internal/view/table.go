package view

import (
	"fmt"
	"io"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/engine"
)

// table is what ls and force --holder print, page by page.
type table struct {
	env     *cli.Env
	json    bool
	out     io.Writer
	screen  int  // columns; 0: not a terminal
	waiting bool // with a column that says how many wait
	holder  int  // columns of the holder; 0: there is no line yet
	rows    int
}

func newTable(env *cli.Env) *table {
	t := &table{env: env, json: env.JSON, out: env.Stdout}
	t.screen, _ = env.Size()
	return t
}

// simpleOfOthers is what looks at all kinds do not find.
const simpleOfOthers = "simple locks of other libraries: --kind simple"

const (
	mostOfSimple = 80 // columns of a holder, more than an engine's has; with --kind simple it is the value of any string

	lsForm      = "%7s  %-7s  %-*s  %s"
	waitingForm = "%7s "
)

// add prints locks. The column of holders may grow from page to page.
func (t *table) add(locks []*Lock) {
	t.rows += len(locks)
	if t.json {
		for _, l := range locks {
			t.env.Value(l)
		}
		return
	}
	holders, names := []string{"HOLDER"}, []string{"NAME"}
	for _, l := range locks {
		holders, names = append(holders, l.holder()), append(names, shown(l.Name)+l.note())
	}
	begun, others := t.holder > 0, len(fmt.Sprintf(lsForm, "", "", 0, "", ""))
	if t.waiting {
		others += len(fmt.Sprintf(waitingForm, ""))
	}
	t.holder = max(t.holder, holderWidth(t.screen, others, holders, names))
	if !begun {
		t.line("WAITING", "TTL", "KIND", holders[0], names[0])
	}
	for i, l := range locks {
		t.line(number(l.Waiting), left(l.TTL), string(l.Kind), holders[i+1], names[i+1])
	}
}

func (t *table) line(waiting, ttl, kind, holder, name string) {
	line := fmt.Sprintf(lsForm, ttl, kind, t.holder, cutMiddle(holder, t.holder), name)
	if t.waiting {
		line = fmt.Sprintf(waitingForm, waiting) + line
	}
	fmt.Fprintln(t.out, cut(line, t.screen))
}

// end prints the heading of an empty table, and at a terminal how many locks it has: others may be held, of kinds that are not found or in keys
// that may not be read.
func (t *table) end(simple bool) {
	if t.holder == 0 {
		t.add(nil)
	}
	if t.screen > 0 && !t.json {
		fmt.Fprintf(t.env.Stdout, "%s\n", cli.Plural(int64(t.rows), "lock is listed", "locks are listed"))
		if !simple {
			fmt.Fprintln(t.env.Stdout, simpleOfOthers)
		}
	}
}

// holder describes the holder of the lock in a few words.
func (l *Lock) holder() string {
	if len(l.Owners) == 0 {
		return fmt.Sprintf("%d held, %d free", l.Holders, *l.Free)
	}
	o := &l.Owners[0]
	who := shown(o.who())
	switch {
	case o.Detached && o.Identity != "":
		who = "nobody (left by " + who + ")"
	case o.Detached:
		who = "nobody (min hold, or detached)"
	case l.Kind == engine.KindSimple:
		who = cutMiddle(who, mostOfSimple)
	}
	if more := l.Holders - 1; more > 0 {
		who = fmt.Sprintf("%s +%d", who, more)
	}
	return who
}
