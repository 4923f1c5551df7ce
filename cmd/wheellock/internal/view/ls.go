package view

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/engine"
)

// Ls is the command.
func Ls() cli.Command {
	return cli.Command{
		Name: "ls", Args: "[PATTERN]",
		Short: "list the locks that are held",
		Help: `Lists the names that are held, of engines and of Redisson, with what their lease has
left, their kind and their holder. PATTERN is as in the command SCAN of Redis, such as
"stock:*". The holder is the identity of an engine, or the id that is in Redis. Behind
the name stands what the holder says that it is for, if it does.

The kind is found by the keys: a fair lock shows while callers wait for it, and a
fenced lock by its counter. A mutex and a spin lock are the same in Redis. Semaphores
and latches look like any number: ls does not list them, show NAME shows one; nor does
it list permit semaphores that have braces in their names. Simple locks of engines
show by their values. Those of other libraries look like any value: --kind simple lists
all strings of PATTERN that have a TTL, and nothing else.

It goes through all keys with SCAN, a thousand at a time, and shows what it finds as it
comes. It touches nothing. A name may come twice if Redis moves keys meanwhile.

  wheellock ls 'stock:*'
  wheellock ls --holder payments@ --sort ttl
  wheellock ls --waited
  wheellock ls --kind simple 'job:*'
  wheellock ls --json | jq -r 'select(.ttl_ms < 5000).name'`,
		Define: func(flags *flag.FlagSet) cli.Run {
			l := new(ls)
			l.kind.define(flags)
			flags.StringVar(&l.sort, "sort", "", "list when all are found, by `ORDER`: name, ttl (what ends first comes first) or holder")
			flags.StringVar(&l.holder, "holder", "", "only locks of holders whose identity or id contains `TEXT`")
			flags.BoolVar(&l.waited, "waited", false, "only locks that processes wait for, and how many do")
			return l.run
		},
	}
}

type ls struct {
	sort, holder string
	waited       bool
	kind         kind
}

// orders are the values of --sort.
var orders = map[string]func(a, b *Lock) int{
	"name": func(a, b *Lock) int { return cmp.Compare(a.Name, b.Name) },
	"ttl": func(a, b *Lock) int {
		return cmp.Or(cmp.Compare(uint64(a.TTL), uint64(b.TTL)), cmp.Compare(a.Name, b.Name))
	}, // -1, no end, is last
	"holder": func(a, b *Lock) int { return cmp.Or(cmp.Compare(a.holder(), b.holder()), cmp.Compare(a.Name, b.Name)) },
}

func (l *ls) run(ctx context.Context, env *cli.Env, args []string) (exit int) {
	pattern, err := onePattern(args)
	order, known := orders[l.sort]
	if l.sort != "" && !known {
		err = fmt.Errorf("--sort %s: want name, ttl or holder", l.sort)
	}
	if err != nil {
		return env.Usage("%v", err)
	}
	r, err := dial(ctx, env, l.kind, (*redis).mayLook)
	if err != nil {
		return env.Fail(err)
	}
	defer r.Close()
	table := newTable(env)
	table.waiting = l.waited
	var all []*Lock
	unknown := 0
	err = r.eachHeldBy(ctx, pattern, l.holder, func(locks []*Lock) {
		if l.waited {
			r.countWaiting(ctx, locks)
			locks = slices.DeleteFunc(locks, func(lock *Lock) bool {
				if lock.Waiting == nil {
					unknown++
				}
				return lock.waits() == 0
			})
		}
		r.notes(ctx, locks)
		switch {
		case order != nil:
			all = append(all, locks...)
		case len(locks) > 0: // the heading is as wide as the first of them
			table.add(locks)
		}
	})
	if len(all) > 0 {
		slices.SortFunc(all, order)
		table.add(all)
	}
	if err == nil {
		err = r.behind(ctx, env.Note)
	}
	if err != nil {
		return env.Fail(err)
	}
	table.end(r.simple)
	r.noteNameless(env, l.holder)
	if r.unread > 0 {
		env.Note("the list is not complete: this user may not read %s", cli.Plural(int64(r.unread), "key", "keys"))
	}
	if unknown > 0 {
		env.Note("the list is not complete: of %s this user may not know who waits (PUBSUB NUMSUB, {NAME}:wheellock:line)", cli.Plural(int64(unknown), "lock", "locks"))
	}
	return cli.ExitOK
}

// eachHeldBy passes on the locks of holders whose id or identity contains a text, as they are found, with what is known of the holders.
func (r *redis) eachHeldBy(ctx context.Context, pattern, holder string, found func([]*Lock)) error {
	clients := r.clients(ctx)
	return r.each(ctx, pattern, func(locks []*Lock) {
		for _, l := range locks {
			for i := range l.Owners {
				l.Owners[i].know(clients)
			}
		}
		found(slices.DeleteFunc(locks, func(l *Lock) bool { return !l.heldBy(holder) }))
	})
}

// noteNameless tells that holders were found by their ids alone, if a text was looked for.
func (r *redis) noteNameless(env *cli.Env, holder string) {
	if holder != "" && r.nameless {
		env.Note("the list is not complete: this user may not know the identities of holders (CLIENT LIST), so only ids were compared")
	}
}

// heldBy reports whether the id or the identity of an owner contains a text.
func (l *Lock) heldBy(text string) bool {
	return text == "" || slices.ContainsFunc(l.Owners, func(o Owner) bool { return o.is(text) })
}

// is reports whether the id or the identity contains a text.
func (o *Owner) is(text string) bool {
	return strings.Contains(o.ID, text) || strings.Contains(o.Identity, text)
}

// waits is how many processes wait, or 0 if that is not known.
func (l *Lock) waits() int64 {
	if l.Waiting == nil {
		return 0
	}
	return *l.Waiting
}

// onePattern is the pattern of a command that takes one at most.
func onePattern(args []string) (pattern string, err error) {
	switch {
	case len(args) == 0:
		return "*", nil
	case redisflags.NoURL(args[0]) != nil:
		return "", redisflags.NoURL(args[0])
	case len(args) > 1:
		return "", fmt.Errorf("what is %q? give one pattern, in quotes", args[1])
	}
	return args[0], nil
}

// oneName is the name of a command that takes one.
func oneName(args []string) (name string, err error) {
	for _, arg := range args {
		if err := redisflags.NoURL(arg); err != nil {
			return "", err
		}
	}
	if len(args) != 1 {
		return "", fmt.Errorf("name one lock, not %d", len(args))
	}
	return args[0], nil
}

// note is the note of its first owner that has one, behind the name.
func (l *Lock) note() string {
	for i := range l.Owners {
		if note := l.Owners[i].Note; note != "" {
			return "  for " + shown(note)
		}
	}
	return ""
}

// each passes on the locks that are held, as they are found.
func (r *redis) each(ctx context.Context, pattern string, found func([]*Lock)) error {
	return r.eachOf(ctx, pattern, func(string) bool { return true }, found)
}

// eachOf passes on the locks among the names that are wanted, master after master. Of the others nothing but the keys is asked for. The
// error is that of notAll.
func (r *redis) eachOf(ctx context.Context, pattern string, want func(name string) bool, found func([]*Lock)) error {
	var asked []master
	for _, m := range r.masters {
		if err := r.eachAt(ctx, &m, pattern, want, found); err != nil {
			r.unasked[m.addr] = err
		} else {
			asked = append(asked, m)
		}
	}
	r.masters = asked
	return r.notAll(ctx)
}

func (r *redis) eachAt(ctx context.Context, m *master, pattern string, want func(name string) bool, found func([]*Lock)) error {
	unwanted := func(name string) bool { return !want(name) }
	as := "hash"
	if r.simple {
		as = "string"
	}
	err := m.scan(ctx, pattern, as, func(keys []string) error {
		keys = slices.DeleteFunc(keys, unwanted)
		if len(keys) == 0 {
			return nil
		}
		locks, err := r.holding(ctx, keys)
		found(locks)
		return err
	})
	if err != nil || r.simple {
		return err
	}
	err = m.scan(ctx, pattern, "string", func(keys []string) error {
		locks, err := r.simpleOfEngines(ctx, slices.DeleteFunc(keys, unwanted))
		found(locks)
		return err
	})
	if err != nil {
		return err
	}
	// The ids of the permits that are held are in a sorted set beside the name.
	return m.scan(ctx, "{"+pattern+"}:timeout", "zset", func(keys []string) error {
		for i, key := range keys {
			keys[i] = strings.TrimSuffix(strings.TrimPrefix(key, "{"), "}:timeout")
		}
		locks, err := r.ofKind(ctx, engine.KindPermits, slices.DeleteFunc(keys, unwanted))
		for _, l := range locks {
			l.TTL = -1
		}
		found(locks)
		return err
	})
}

// holding returns those of names that are held, or, if strings are taken for them, those that are simple locks.
func (r *redis) holding(ctx context.Context, names []string) ([]*Lock, error) {
	if !r.simple {
		return r.held(ctx, names)
	}
	locks, err := r.ofKind(ctx, engine.KindSimple, names)
	return slices.DeleteFunc(locks, func(l *Lock) bool { return l.TTL < 0 }), err
}

// simpleOfEngines returns those of names that are simple locks of engines, by their values. Of the strings of others, which may be
// large, it reads no more than such a value has.
func (r *redis) simpleOfEngines(ctx context.Context, names []string) ([]*Lock, error) {
	ask := make(rueidis.Commands, len(names))
	for i, name := range names {
		ask[i] = r.B().Getrange().Key(name).Start(0).End(mostOfOwner).Build()
	}
	var owned []string
	for i, answer := range r.DoMulti(ctx, ask...) {
		value, err := answer.ToString()
		switch message, _ := rediserr.Said(err); {
		case isRefused(err):
			r.unread++
		case err != nil && !strings.HasPrefix(message, "WRONGTYPE"): // it is of another type now
			return nil, unavailable(err)
		case err == nil && simpleOwner.MatchString(value):
			owned = append(owned, names[i])
		}
	}
	locks, err := r.ofKind(ctx, engine.KindSimple, owned)
	return slices.DeleteFunc(locks, func(l *Lock) bool { return l.TTL < 0 }), err
}

// ofKind returns those of names that others finds to be of a kind.
func (r *redis) ofKind(ctx context.Context, kind engine.Kind, names []string) ([]*Lock, error) {
	var locks []*Lock
	for _, name := range names {
		locks = append(locks, &Lock{Named: cli.NamedBy(name)})
	}
	err := r.others(ctx, locks, mostOfMany)
	if isRefused(err) { // then they are counted
		err = nil
	}
	return slices.DeleteFunc(locks, func(l *Lock) bool { return l.Kind != kind }), err
}
