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
}

const defaultMinHold = 500 * time.Millisecond

// ErrRan means that another scheduler has run the job since it was last due in this one.
var ErrRan = errors.New("wheelcron: another scheduler has run the job since it was last due here")

// Locker is a gocron.Locker. Each scheduler needs one of its own.
type Locker struct {
	e      *engine.Engine
	prefix string
	how    []engine.LockOption
	made   int64 // when, in the unit of tokens

	mu   sync.Mutex       // guards seen
	seen map[string]int64 // by job: its last token when it was last due here
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
	l := &Locker{e: e, prefix: opts.Prefix, made: time.Now().UnixMicro(), seen: make(map[string]int64)}
	if opts.MinHold > 0 {
		l.how = []engine.LockOption{engine.WithMinHold(opts.MinHold)}
	}
	return l, nil
}

// Lock takes the lock of a job for one run. It does not wait: if another scheduler has it, the error is [engine.ErrHeld], and
// gocron leaves this run out. So it does if Redis cannot serve, and with [ErrRan] if another scheduler had the lock since the previous
// Lock of the job, or since NewLocker before the first: schedulers that are late, or that count a DurationJob from a start of their
// own, ask when the run of this period is over.
//
// Therefore two schedulers that have a job every hour run it an hour apart, whoever runs it. What tells is the fencing token, which
// each run makes larger. Before the first Lock the time of NewLocker stands for it, and after a Lock that Redis did not answer the time of
// that, because a token is not below the time of its grant; for the run after these alone the clocks of this process and of Redis must agree. An
// [engine.Options].FenceTTL must be longer than the pause between two runs: when the token has expired, nothing tells.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	m := l.e.FencedMutex(l.prefix + job)
	before, err := m.Inspect(ctx)
	if err != nil {
		l.see(job, time.Now().UnixMicro())
		return nil, err
	}
	switch ran := before.Token > l.see(job, before.Token); {
	case ran && before.Locked: // it may be free by the time of a TryLock, which would then get the same run once more
		return nil, &engine.HeldError{Name: m.Name(), TTL: before.TTL}
	case ran:
		return nil, ErrRan
	}
	hold, err := m.TryLock(ctx, l.how...)
	if after, unknown := m.Inspect(ctx); unknown == nil {
		l.see(job, after.Token)
	} else {
		l.see(job, math.MaxInt64) // rather a run too many than one too few
	}
	if err != nil {
		return nil, err
	}
	return run{hold}, nil
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
type run struct{ hold *engine.Hold }

// Unlock frees the job, at once or at the end of MinHold, and does not wait for that. The error is [engine.ErrLost] if the lock was
// lost before. ctx may have ended, as gocron's has when the scheduler shuts down.
func (r run) Unlock(ctx context.Context) error { return r.hold.Unlock(context.WithoutCancel(ctx)) }
