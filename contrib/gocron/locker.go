// Package wheelcron lets several schedulers of github.com/go-co-op/gocron/v2, in several processes, run each job once: a [Locker] has
// each run of a job taken by one of them, an [Elector] has one of them run all jobs.
//
//	locker, err := wheelcron.NewLocker(e, wheelcron.LockerOptions{})
//	...
//	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
package wheelcron

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/wheellock/wheellock/engine"
)

// LockerOptions say how runs of jobs are locked. The zero value works.
type LockerOptions struct {
	// MinHold is how long a job stays locked at least, counted from the grant of the lock, also if the run takes less, or its process
	// ends ([engine.WithMinHold]). It has to be longer than two schedulers take to ask Redis for the same run. And it has to be shorter
	// than the pause between two runs, of which the second would be left out. At most [engine.MaxLease]. Default 500ms; negative: none.
	MinHold time.Duration

	// Prefix and the name of a job are the name of its lock. Default "gocron:".
	Prefix string

	// Logger gets one warning for each name, the first time that a run is left out with [ErrSameName]. Default nil: [slog.Default], because
	// gocron itself tells nobody that a run was left out.
	Logger *slog.Logger
}

const defaultMinHold = 500 * time.Millisecond

// ErrRan means that another scheduler has run the job since it was last due in this one.
var ErrRan = errors.New("wheelcron: another scheduler has run the job since it was last due here")

// ErrSameName means that a run is left out because this very Locker has the lock of the name, for another run: two jobs of the scheduler
// have one name, or a run takes longer than the pause between two, or MinHold is longer than that. The error also Is [engine.ErrHeld].
var ErrSameName = errors.New("wheelcron: this scheduler runs a job of that name already")

// How long a run whose lock got no answer is asked for again, and how often; and until when the lost answer may have been a grant: a command
// does nothing two seconds after it was sent.
const (
	mostLate  = 10 * time.Second
	askAgain  = 200 * time.Millisecond
	mayBeOurs = 2*time.Second + 250*time.Millisecond
)

// Locker is a gocron.Locker. Each scheduler needs one of its own.
type Locker struct {
	e      *engine.Engine
	prefix string
	how    []engine.LockOption
	least  time.Duration // MinHold; 0: none
	log    *slog.Logger
	made   int64 // when, in the unit of tokens

	mu   sync.Mutex       // guards the rest
	seen map[string]int64 // by job: its last token when it was last due here
	own  map[string]*own
}

// own is what a Locker itself has of a job.
type own struct {
	runs   int       // that are made, or are to begin
	until  time.Time // the end of the last MinHold
	warned bool
}

var _ gocron.Locker = (*Locker)(nil)

// NewLocker returns a Locker of an engine. The error is [engine.ErrInvalid] if there is no engine, or MinHold is too long.
func NewLocker(e *engine.Engine, opts LockerOptions) (*Locker, error) {
	if e == nil {
		return nil, fmt.Errorf("%w: wheelcron: a Locker without an engine", engine.ErrInvalid)
	}
	if opts.MinHold > engine.MaxLease {
		return nil, fmt.Errorf("%w: wheelcron: MinHold %v: at most %v", engine.ErrInvalid, opts.MinHold, engine.MaxLease)
	}
	if opts.Prefix == "" {
		opts.Prefix = "gocron:"
	}
	if opts.MinHold == 0 {
		opts.MinHold = defaultMinHold
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	l := &Locker{e: e, prefix: opts.Prefix, least: max(opts.MinHold, 0), log: opts.Logger, made: time.Now().UnixMicro(),
		seen: make(map[string]int64), own: make(map[string]*own)}
	if opts.MinHold > 0 {
		l.how = []engine.LockOption{engine.WithMinHold(opts.MinHold)}
	}
	return l, nil
}

// Lock takes the lock of a job for one run. It does not wait: if another scheduler has it, the error is [engine.ErrHeld], and
// gocron leaves this run out. If this Locker has it, the error is [ErrSameName]. gocron leaves the run out, too, if Redis cannot serve, and with [ErrRan] if another scheduler had the lock since the previous
// Lock of the job, or since NewLocker before the first: schedulers that are late, or that count a DurationJob from a start of their
// own, ask when the run of this period is over.
//
// If the answer to the question for the lock is lost, it may have been a grant, which tells the other schedulers that the job runs here. So Lock
// asks again for up to 10 s, and the run is late; unless the token says that another scheduler had the lock more than two seconds after the
// question. If Redis cannot be reached for longer, or the process dies, nobody may have made this run.
//
// Therefore two schedulers that have a job every hour run it an hour apart, whoever runs it. What tells is the fencing token, which
// each run makes larger. Before the first Lock the time of NewLocker stands for it, and after a Lock that Redis did not answer the time of
// that, because a token is not below the time of its grant; for the run after these alone the clocks of this process and of Redis must agree. An
// [engine.Options].FenceTTL must be longer than the pause between two runs: when the token has expired, nothing tells.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	l.begins(job)
	lock, err := l.lock(ctx, job)
	if err != nil {
		l.ended(job)
	}
	return lock, err
}

func (l *Locker) lock(ctx context.Context, job string) (gocron.Lock, error) {
	m := l.e.FencedMutex(l.prefix + job)
	before, err := m.Inspect(ctx)
	if err != nil {
		l.see(job, time.Now().UnixMicro())
		return nil, err
	}
	switch ran := before.Token > l.see(job, before.Token); {
	case ran && before.Locked: // it may be free by the time of a TryLock, which would then get the same run once more
		return nil, l.refused(job, &engine.HeldError{Name: m.Name(), TTL: before.TTL})
	case ran:
		return nil, ErrRan
	}
	asked := time.Now()
	hold, err := m.TryLock(ctx, l.how...)
	if errors.Is(err, engine.ErrUncertain) {
		hold, err = l.lockLate(ctx, m, before.Token, asked, err)
	}
	if after, unknown := m.Inspect(ctx); unknown == nil {
		l.see(job, after.Token)
	} else {
		l.see(job, math.MaxInt64) // rather a run too many than one too few
	}
	if err != nil {
		return nil, l.refused(job, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own[job].until = time.Now().Add(l.least)
	return run{hold, l, job}, nil
}

// lockLate asks again for a lock of which the answer was lost, until it is known who has had it since; before is the token until then.
func (l *Locker) lockLate(ctx context.Context, m *engine.Mutex, before int64, asked time.Time, err error) (*engine.Hold, error) {
	for end := asked.Add(mostLate); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(askAgain):
		}
		state, unknown := m.Inspect(ctx)
		if unknown != nil {
			continue
		}
		if state.Token > max(before, asked.Add(mayBeOurs).UnixMicro()) {
			return nil, ErrRan
		}
		asked = time.Now()
		var hold *engine.Hold
		if hold, err = m.TryLock(ctx, l.how...); !errors.Is(err, engine.ErrUnavailable) && !errors.Is(err, engine.ErrHeld) {
			return hold, err
		}
	}
	return nil, err
}

// refused is the error of a run that is left out because of err: another one if this Locker itself has the lock.
func (l *Locker) refused(job string, err error) error {
	l.mu.Lock()
	o := l.own[job]
	ours := errors.Is(err, engine.ErrHeld) && (o.runs > 1 || !time.Now().After(o.until))
	warn := ours && !o.warned
	o.warned = o.warned || ours
	l.mu.Unlock()
	if !ours {
		return err
	}
	if warn { // without the mutex: a handler may block
		l.log.Warn("wheelcron: runs are left out: two jobs of this scheduler have one name (gocron.WithName), or a run or MinHold takes longer than the pause between two runs", "job", job)
	}
	return fmt.Errorf("%w: two jobs of this scheduler are called %q, or a run or MinHold takes longer than the pause between two: %w", ErrSameName, job, err)
}

// begins notes that a run of a job is to begin, and ended that it is over, or does not begin.
func (l *Locker) begins(job string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own[job] == nil {
		l.own[job] = new(own)
	}
	l.own[job].runs++
}

func (l *Locker) ended(job string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own[job].runs--
}

// see notes the last token of a job, and returns the one before.
func (l *Locker) see(job string, token int64) (before int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, again := l.seen[job]
	if !again {
		before = l.made
	}
	l.seen[job] = token
	return before
}

// run is the lock of one run of a job.
type run struct {
	hold *engine.Hold
	by   *Locker
	job  string
}

// Unlock frees the job, at once or at the end of MinHold, and does not wait for that. The error is [engine.ErrLost] if the lock was
// lost before. ctx may have ended, as gocron's has when the scheduler shuts down.
func (r run) Unlock(ctx context.Context) error {
	defer r.by.ended(r.job)
	return r.hold.Unlock(context.WithoutCancel(ctx))
}
