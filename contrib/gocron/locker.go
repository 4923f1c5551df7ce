// Package wheelcron lets several schedulers of github.com/go-co-op/gocron/v2, in several processes, run each job once: a [Locker] has
// each run of a job taken by one of them, an [Elector] has one of them run all jobs.
//
//	locker, err := wheelcron.NewLocker(e, wheelcron.LockerOptions{})
//	...
//	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
package wheelcron

import (
	"context"
	"fmt"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/wheellock/wheellock/engine"
)

// LockerOptions say how runs of jobs are locked. The zero value works.
type LockerOptions struct {
	// MinHold is how long a job stays locked at least, counted from the grant of the lock, also if the run takes less, or its process
	// ends ([engine.WithMinHold]). It has to be longer than the schedulers are apart in time: a scheduler whose clock is late by more
	// finds the job free and runs it again. And it has to be shorter than the pause between two runs, of which the second would be
	// left out. At most [engine.MaxLease]. Default 500ms; negative: none.
	MinHold time.Duration

	// Prefix and the name of a job are the name of its lock. Default "gocron:".
	Prefix string
}

const defaultMinHold = 500 * time.Millisecond

// Locker is a gocron.Locker. Any number of schedulers may use it.
type Locker struct {
	e      *engine.Engine
	prefix string
	how    []engine.LockOption
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
	l := &Locker{e: e, prefix: opts.Prefix}
	if opts.MinHold > 0 {
		l.how = []engine.LockOption{engine.WithMinHold(opts.MinHold)}
	}
	return l, nil
}

// Lock takes the lock of a job for one run. It does not wait: if another scheduler has it, the error is [engine.ErrHeld], and
// gocron leaves this run out. So it does if Redis cannot serve.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	hold, err := l.e.Mutex(l.prefix+job).TryLock(ctx, l.how...)
	if err != nil {
		return nil, err
	}
	return run{hold}, nil
}

// run is the lock of one run of a job.
type run struct{ hold *engine.Hold }

// Unlock frees the job, at once or at the end of MinHold, and does not wait for that. The error is [engine.ErrLost] if the lock was
// lost before. ctx may have ended, as gocron's has when the scheduler shuts down.
func (r run) Unlock(ctx context.Context) error { return r.hold.Unlock(context.WithoutCancel(ctx)) }
