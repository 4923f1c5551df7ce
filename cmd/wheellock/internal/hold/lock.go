package hold

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/cmd/wheellock/internal/guard"
	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/engine"
)

// Lock is the command.
func Lock() cli.Command {
	return cli.Command{
		Name: "lock", Args: "NAME -- COMMAND [ARG...]",
		Short: "run a command while holding a lock",
		Help: `Waits for the lock NAME, runs COMMAND, frees the lock, and exits with COMMAND's
exit code, or 128 plus the signal that ended it. In COMMAND's environment are
WHEELLOCK_NAME and, of a fenced lock, WHEELLOCK_TOKEN, a number that grows with
each new holder. Send it with each write, and have the store refuse lower ones.
All who use a name must want the same kind:

  --kind fenced   one holder, with a token; Redisson's RLock and RFencedLock
  --kind fair     one holder; who asks first gets it first, in all processes
  --kind rw       one writer; with --shared, readers instead, any number at once
  --kind simple   one holder; the lock that redis-py, node-redlock and others
                  share
  --permits N     N holders at once, as in a semaphore. N is that of the last
                  call, and nothing is set up: give all the same N
` + ending + `

  wheellock lock backup -- pg_dump -f /backup/shop.sql shop
  wheellock lock --try --min-hold 5m nightly -- ./report.sh || [ $? -eq 75 ]
  wheellock lock --wait 10m --lease 5s deploy -- make deploy
  wheellock lock --permits 4 import -- ./import.sh
  wheellock lock --shared catalogue -- ./report.sh`,
		Define: func(flags *flag.FlagSet) cli.Run {
			l := new(lock)
			l.define(flags)
			flags.StringVar(&l.kind, "kind", "", "`KIND` of the lock: fenced, fair, rw or simple; fenced if left out")
			flags.BoolVar(&l.shared, "shared", false, "hold a read-write lock for reading, beside other readers")
			flags.Func("permits", "let `N` hold it at once, from 1", func(text string) (err error) {
				if l.permits, err = strconv.Atoi(text); err != nil || l.permits < 1 {
					return errors.New("want a whole number from 1")
				}
				return nil
			})
			flags.DurationVar(&l.wait, "wait", 0, "give up after `TIME`, with exit code 75; 0: never")
			flags.DurationVar(&l.minHold, "min-hold", 0, "keep the name taken until `TIME` after the grant, even if COMMAND ends\nearlier, so that a job that others start later does not run again; 0: no")
			flags.StringVar(&l.note, "note", "", "`TEXT` that says what the lock is for: show, ls and failures to get it have it")
			flags.BoolVar(&l.try, "try", false, "do not wait at all: exit code 75 if somebody else has the lock")
			return l.run
		},
	}
}

type lock struct {
	settings
	kind    string
	shared  bool
	permits int // 0: it is no semaphore
	note    string
	wait    time.Duration
	minHold time.Duration
	try     bool
}

func (l *lock) run(ctx context.Context, env *cli.Env, args []string) (exit int) {
	err := l.read(env, args)
	switch {
	case err != nil:
	case l.permits > 0 && l.shared:
		err = errors.New("--permits with --shared: the one counts holders, the other lets any number read")
	case l.permits > 0 && l.kind != "":
		err = fmt.Errorf("--permits with --kind %s: a semaphore is of no other kind", l.kind)
	case l.shared && l.kind != "" && l.kind != rw:
		err = fmt.Errorf("--shared with --kind %s: only a lock of kind rw has readers", l.kind)
	case l.kind != "" && !slices.Contains(kinds, l.kind):
		err = fmt.Errorf("--kind %s: want %s", l.kind, strings.Join(kinds, ", "))
	case l.minHold > 0 && (l.permits > 0 || l.shared || l.kind == rw):
		err = errors.New("--min-hold keeps only locks of kind fenced, fair and simple")
	case l.note != "" && l.permits > 0:
		err = errors.New("--note with --permits: permits have no note")
	case l.wait < 0:
		err = fmt.Errorf("--wait %v: must not be negative", l.wait)
	case l.minHold < 0 || l.minHold > engine.MaxLease:
		err = fmt.Errorf("--min-hold %v: must be from 0 to %v", l.minHold, engine.MaxLease)
	case l.try && l.wait > 0:
		err = errors.New("--try with --wait: the one does not wait, the other does")
	}
	if err != nil {
		return env.Usage("%v", err)
	}
	if err := l.findable(); err != nil {
		return env.Fail(err)
	}
	ctx, signals := guard.Catch(context.WithoutCancel(ctx))
	outcome, err := l.hold(ctx, env, signals)
	signals.Stop(outcome)
	switch {
	case err != nil:
		return env.Fail(err)
	case outcome.Lost != nil:
		return cli.ExitLost
	}
	return outcome.Exit
}

// openTime is how long a server may refuse to serve yet, because it loads its data, if the lock is not waited for any longer.
const openTime = 5 * time.Second

// open opens an engine, and gives up as the flags say.
func (l *lock) open(ctx context.Context, env *cli.Env) (*engine.Engine, error) {
	if l.try || l.wait > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, max(l.wait, openTime))
		defer stop()
	}
	return env.Open(ctx, l.options(env))
}

// hold takes the lock and runs the command.
func (l *lock) hold(ctx context.Context, env *cli.Env, signals *guard.Signals) (guard.Outcome, error) {
	e, err := l.open(ctx, env)
	if err != nil {
		return guard.Outcome{}, err
	}
	defer e.Close()
	h, err := l.take(ctx, env, e)
	if err != nil {
		return guard.Outcome{}, err
	}
	names := []string{"WHEELLOCK_NAME=" + l.name}
	token, fenced := h.Token()
	if fenced {
		names = append(names, fmt.Sprintf("WHEELLOCK_TOKEN=%d", token))
	}
	env.Event(event{Event: "granted", Named: cli.NamedBy(l.name), Token: token})
	o, err := guard.Run(guard.Lock{Lease: l.lease, Deadline: h.Deadline, Err: h.Err, Done: h.Done(), Refused: l.refused(env)}, l.command, names, signals)
	unlocked := h.Unlock(context.Background())
	switch {
	case err != nil:
		return o, err
	case o.Lost == nil && errors.Is(unlocked, engine.ErrLost): // just before the command's end
		o.Lost = unlocked
	case o.Lost == nil && unlocked != nil:
		env.Note("the command has ended; %s. The lock is free after %v at the latest", redisflags.Explain(unlocked), l.lease)
	}
	l.ended(env, token, o)
	return o, nil
}

// rw is the kind of a read-write lock, and kinds are all.
const rw = "rw"

var kinds = []string{string(engine.KindFenced), string(engine.KindFair), rw, string(engine.KindSimple)}

// locker returns the lock, and views of it by which its holder can be found: there are none of a semaphore.
func (l *lock) locker(e *engine.Engine) (lock engine.Locker, views []*engine.Mutex) {
	m, readWrite := e.FencedMutex(l.name), e.RWMutex(l.name)
	switch {
	case l.permits > 0:
		return e.Limit(l.name, l.permits), nil
	case l.shared:
		return readWrite.Reader(), []*engine.Mutex{readWrite.Writer(), readWrite.Reader()}
	case l.kind == rw:
		return readWrite.Writer(), []*engine.Mutex{readWrite.Writer(), readWrite.Reader()}
	case l.kind == string(engine.KindFair):
		m = e.FairMutex(l.name)
	case l.kind == string(engine.KindSimple):
		m = e.SimpleMutex(l.name)
	}
	return m, []*engine.Mutex{m}
}

// take waits for the lock as the flags say.
func (l *lock) take(ctx context.Context, env *cli.Env, e *engine.Engine) (*engine.Hold, error) {
	locker, views := l.locker(e)
	var options []engine.LockOption
	if l.minHold > 0 {
		options = append(options, engine.WithMinHold(l.minHold))
	}
	if l.note != "" {
		options = append(options, engine.WithNote(l.note))
	}
	lock := locker.Lock
	if l.try {
		lock = locker.TryLock
	} else if term.IsTerminal(int(os.Stderr.Fd())) {
		waiting, granted := context.WithCancel(ctx)
		defer granted()
		go l.waits(waiting, env, views, e)
	}
	if l.wait > 0 {
		options = append(options, engine.WithWait(l.wait))
	}
	h, err := lock(ctx, options...)
	if errors.Is(err, engine.ErrHeld) {
		if state, found := inspect(ctx, views); found {
			err = fmt.Errorf("%w; %s", err, holderOf(ctx, e, state))
		}
	}
	return h, err
}

// inspect finds the holder.
func inspect(ctx context.Context, views []*engine.Mutex) (state engine.State, found bool) {
	for _, view := range views {
		if state, err := view.Inspect(ctx); err == nil && state.Locked {
			return state, true
		}
	}
	return engine.State{}, false
}

// waits prints, after a second, the holder of the lock that is waited for. It asks until it knows the holder.
func (l *lock) waits(ctx context.Context, env *cli.Env, views []*engine.Mutex, e *engine.Engine) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		if state, found := inspect(ctx, views); found && !state.Ours {
			env.Note("waiting for %q: %s", l.name, holderOf(ctx, e, state))
			return
		}
		if l.permits == 0 {
			continue
		}
		if held, err := e.PermitSemaphore(l.name).Acquired(ctx); err == nil && held >= int64(l.permits) {
			env.Note("waiting for %q: all of its %s are held", l.name, cli.Plural(int64(l.permits), "permit", "permits"))
			return
		}
	}
}

// holderOf says which owner the lock has, by its identity, or its id if it has none.
func holderOf(ctx context.Context, e *engine.Engine, state engine.State) string {
	if strings.HasSuffix(state.Owner, gate.DetachedSuffix) {
		return "nobody holds it any more, and it stays taken until its lease ends (min hold, or detached)"
	}
	owner := state.Owner
	if holder, err := e.Holder(ctx, state.Owner); err == nil && holder.Connections > 0 {
		owner = holder.Identity
	}
	if state.Note != "" {
		owner += ", for " + state.Note
	}
	return "the owner is " + owner
}
