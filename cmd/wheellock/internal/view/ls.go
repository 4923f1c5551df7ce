package view

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/engine"
)

// Ls is the command.
func Ls() cli.Command {
	return cli.Command{
		Name: "ls", Args: "[PATTERN]",
		Short: "list the locks that are held",
		Help: `Lists the names that are held, of engines and of Redisson, with what their lease has
left, their kind and their holder. PATTERN is as in the command SCAN of Redis, such as
"stock:*". The holder is the identity of an engine, or the id that is in Redis.

The kind is found by the keys: a fair lock shows while callers wait for it, and a
fenced lock by its counter. A mutex and a spin lock are the same in Redis. Semaphores
and latches look like any number: ls does not list them, show NAME shows one; nor does
it list permit semaphores that have braces in their names.

It goes through all keys with SCAN, a thousand at a time, and shows what it finds as it
comes. It touches nothing. A name may come twice if Redis moves keys meanwhile.

  wheellock ls 'stock:*'
  wheellock ls --json | jq -r 'select(.ttl_ms < 5000).name'`,
		Define: func(*flag.FlagSet) cli.Run { return ls },
	}
}

func ls(ctx context.Context, env *cli.Env, args []string) (exit int) {
	if len(args) > 1 {
		return env.Usage("what is %q? ls takes one pattern, in quotes", args[1])
	}
	pattern := "*"
	if len(args) == 1 {
		pattern = args[0]
	}
	r, err := dial(ctx, env)
	if err != nil {
		return env.Fail(err)
	}
	defer r.Close()
	clients := r.clients(ctx)
	width, _ := env.Size()
	holder := narrow(30, 8, width)
	if !env.JSON {
		fmt.Fprintf(env.Stdout, lsForm, "TTL", "KIND", holder, "HOLDER", "NAME")
	}
	err = r.each(ctx, pattern, func(locks []*Lock) {
		for _, l := range locks {
			for i := range l.Owners {
				l.Owners[i].know(clients)
			}
			if env.JSON {
				env.Value(l)
				continue
			}
			fmt.Fprint(env.Stdout, cut(strings.TrimRight(l.row(holder), "\n"), width)+"\n")
		}
	})
	if err != nil {
		return env.Fail(err)
	}
	return cli.ExitOK
}

const lsForm = "%7s  %-7s  %-*s  %s\n"

// row is the lock in one line, with so many columns for its holder.
func (l *Lock) row(holder int) string {
	return fmt.Sprintf(lsForm, left(l.TTL), l.Kind, holder, cut(l.holder(), holder), shown(l.Name))
}

// holder is who holds the lock, in a few words.
func (l *Lock) holder() string {
	if len(l.Owners) == 0 {
		return fmt.Sprintf("%d held, %d free", l.Holders, *l.Free)
	}
	who := shown(l.Owners[0].who())
	if more := l.Holders - 1; more > 0 {
		who = fmt.Sprintf("%s +%d", cut(who, 26), more)
	}
	return who
}

// each passes on the locks that are held, as they are found.
func (r *redis) each(ctx context.Context, pattern string, found func([]*Lock)) error {
	err := r.scan(ctx, pattern, "hash", func(keys []string) error {
		locks, err := r.held(ctx, keys)
		found(locks)
		return err
	})
	if err != nil {
		return err
	}
	// The ids of the permits that are held are in a sorted set beside the name.
	return r.scan(ctx, "{"+pattern+"}:timeout", "zset", func(keys []string) error {
		var locks []*Lock
		for _, key := range keys {
			l := &Lock{Named: cli.NamedBy(strings.TrimSuffix(strings.TrimPrefix(key, "{"), "}:timeout"))}
			if err := r.other(ctx, l); err != nil {
				return err
			}
			if l.Kind == engine.KindPermits {
				l.TTL = -1
				locks = append(locks, l)
			}
		}
		found(locks)
		return nil
	})
}
