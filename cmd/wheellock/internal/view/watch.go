package view

import (
	"context"
	"errors"
	"flag"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
)

// Watch is the command.
func Watch() cli.Command {
	return cli.Command{
		Name: "watch", Args: "NAME...",
		Short: "tell what happens to locks, as lines of JSON",
		Help: `Writes a line of JSON for each name at the beginning, and then one for each change:

  held, free   what is at the beginning, and again after "blind"
  granted      an owner has the lock that did not have it
  freed        it was unlocked, or freed by force, or its key was deleted or
               lost by Redis
  lost         its lease ran out: its process has died, hangs or is cut off, or
               the lease was a fixed one
  detached     nobody holds it any more, and it stays taken (min hold)
  waiting      more or fewer processes wait
  blind        Redis could not be asked; what happens until the next line is not
               known

Redis tells this command at once that a key was changed (CLIENT TRACKING), and then it
looks what is there: no holder and no waiter notices it. It looks every --interval
besides. If this user may not use CLIENT TRACKING, or the server has no RESP3, it says
so and sees what it finds every --interval.

What it may miss: looks are 10ms apart or more, so of a name that changes more often
it sees some owners and not all. What goes from caller to caller inside a process does
not change in Redis. An unlock, force and DEL look the same. Waiters of Redisson, which
leave only a subscription, show every --interval, and clients that poll not at all. Of
permits, and of more readers than can be read at once, it tells only how many there
are. A semaphore or latch has no owners: nothing is told of it.

Exit code: 0; 69 if Redis could not be asked at the end.

  wheellock watch stock:7
  wheellock watch --for 10m stock:7 stock:8 >>locks.json
  wheellock watch backup | jq -r 'select(.event == "lost").owner.identity'`,
		Define: func(flags *flag.FlagSet) cli.Run {
			w := new(watch)
			w.kind.define(flags)
			flags.DurationVar(&w.interval, "interval", time.Second, "`TIME` between two looks that Redis did not ask for, from 100ms")
			flags.DurationVar(&w.limit, "for", 0, "end after `TIME`; 0: when Ctrl-C is pressed")
			flags.IntVar(&w.count, "count", 0, "end after `N` lines; 0: when Ctrl-C is pressed")
			return w.run
		},
	}
}

// leastApart is how long two looks are apart at least.
const leastApart = 10 * time.Millisecond

type watch struct {
	interval, limit time.Duration
	count           int
	kind            kind

	env     *cli.Env
	r       *redis
	changed chan struct{} // Redis has told of a change
	names   []string
	seen    map[string]*sight // nil: nothing is known
	looked  time.Time         // when it was last known what is there
	clients map[string]client
	told    int   // how many lines there were
	noted   bool  // that the server is a replica
	blind   error // why the last look failed
}

// sight is what a look saw of a name.
type sight struct {
	*Lock
	asked, read time.Time // when the look began and ended
}

// end is when the lease that was seen is over.
func (s *sight) end() time.Time { return s.asked.Add(time.Duration(s.TTL) * time.Millisecond) }

func (w *watch) run(ctx context.Context, env *cli.Env, args []string) (exit int) {
	for _, name := range args {
		if err := redisflags.NoURL(name); err != nil {
			return env.Usage("%v", err)
		}
	}
	switch {
	case len(args) == 0:
		return env.Usage("name a lock, or several")
	case w.interval < 100*time.Millisecond:
		return env.Usage("--interval %v: must be at least 100ms", w.interval)
	case w.limit < 0:
		return env.Usage("--for %v: must not be negative", w.limit)
	case w.count < 0:
		return env.Usage("--count %d: must not be negative", w.count)
	}
	slices.Sort(args)
	w.env, w.names, w.changed, w.clients = env, slices.Compact(args), make(chan struct{}, 1), make(map[string]client)
	if err := w.dial(ctx); err != nil {
		return env.Fail(err)
	}
	defer w.r.Close()
	if err := w.look(ctx); err != nil && ctx.Err() == nil {
		return env.Fail(err)
	}
	if w.limit > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, w.limit)
		defer end()
	}
	for (w.count == 0 || w.told < w.count) && env.Unwritten() == nil {
		if !w.pause(ctx) {
			break
		}
		err := w.look(ctx)
		if err != nil && ctx.Err() == nil && w.blind == nil {
			env.Value(map[string]any{"time": time.Now(), "event": "blind", "error": redisflags.Explain(err)})
			w.told++
		}
		if err == nil || ctx.Err() == nil {
			w.blind = err
		}
	}
	if w.blind != nil {
		return cli.CodeOf(w.blind)
	}
	return cli.ExitOK
}

// dial connects, so that Redis tells of each key that was read and has changed since, if it can.
func (w *watch) dial(ctx context.Context) (err error) {
	tells := true
	track := func(c *rueidis.ClientOption) {
		if c.AlwaysRESP2 {
			tells = false
			return
		}
		c.DisableCache, c.ClientTrackingOptions = false, []string{"NOLOOP"}
		c.OnInvalidations = func([]rueidis.RedisMessage) { // also when the connection breaks: the next one has read nothing yet
			select {
			case w.changed <- struct{}{}:
			default:
			}
		}
	}
	w.r, err = dial(ctx, w.env, w.kind, (*redis).mayLookAtOne, track)
	if errors.Is(err, rueidis.ErrNoCache) { // what a client says whose CLIENT TRACKING was refused
		tells = false
		w.r, err = dial(ctx, w.env, w.kind, (*redis).mayLookAtOne)
	}
	if err == nil && !tells {
		w.env.Note("Redis tells of no change, because this user may not use CLIENT TRACKING or there is no RESP3: changes show every %v", w.interval)
	}
	return err
}

// note tells once that the server is a replica, as it may have become meanwhile.
func (w *watch) note(format string, args ...any) {
	if !w.noted {
		w.env.Note(format, args...)
	}
	w.noted = true
}

// pause waits until it is time to look again. False: it is over.
func (w *watch) pause(ctx context.Context) bool {
	wait := w.interval
	for _, s := range w.seen {
		if s.Holders > 0 && s.TTL > 0 { // a server may not tell for a while that a key has expired
			wait = min(wait, time.Until(s.end())+leastApart)
		}
	}
	timer := time.NewTimer(max(wait, leastApart))
	defer timer.Stop()
	select {
	case <-w.changed:
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	select {
	case <-time.After(time.Until(w.looked.Add(leastApart))):
		return true
	case <-ctx.Done():
		return false
	}
}

// look looks once, and tells what is new.
func (w *watch) look(ctx context.Context) error {
	asked := time.Now()
	err := w.r.findMasters(ctx)
	var locks []*Lock
	if err == nil {
		locks, err = w.r.lookAt(ctx, w.names)
	}
	if err == nil {
		err = w.r.behind(ctx, w.note)
	}
	if err != nil {
		w.seen = nil
		return err
	}
	w.r.countWaiting(ctx, locks)
	before, read := w.seen, time.Now()
	w.looked, w.seen = read, make(map[string]*sight, len(locks))
	for _, l := range locks {
		w.know(ctx, l)
		s := &sight{l, asked, read}
		w.seen[l.Name] = s
		if before == nil {
			w.begin(s)
		} else {
			w.compare(before[l.Name], s)
		}
	}
	return nil
}

// know adds the engines behind the owners. It asks which there are only if one is new, and of an owner of Redisson once.
func (w *watch) know(ctx context.Context, l *Lock) {
	for i := range l.Owners {
		o := &l.Owners[i]
		if id, _, _ := strings.Cut(o.ID, ":"); ownerField.MatchString(o.ID) || simpleOwner.MatchString(o.ID) {
			if _, asked := w.clients[id]; !asked {
				w.clients[id] = client{} // unless it is found
				maps.Copy(w.clients, w.r.clients(ctx))
			}
		}
		o.know(w.clients)
	}
}
