package load

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/wheellock/wheellock/engine"
)

// makePlaces makes what callers ask for, one place for each name.
func (r *Rig) makePlaces(cells Cells) error {
	r.places = make([]place, r.plan.Names)
	for i := range r.places {
		p := &r.places[i]
		p.cells = []*cell{&cells[i]}
		var err error
		if p.resource, p.reader, err = r.makeResource(r.plan.name(i), i, p.cells[0]); err != nil {
			return err
		}
		if r.plan.Kind == Multi { // of names 0 and 1, 1 and 2, ..., the last and 0: each name is in two places
			p.cells = append(p.cells, &cells[(i+1)%r.plan.Names])
		}
	}
	return nil
}

// simpleMutex is the engine's (simple.go).
var simpleMutex func(e *engine.Engine, name string) *engine.Mutex

// limit is the engine's (limit.go).
var limit func(e *engine.Engine, name string, n int) engine.Locker

// makeResource makes the resource under a name, for place i. reader: besides, of a read-write lock.
func (r *Rig) makeResource(name string, i int, cell *cell) (made, reader resource, err error) {
	e := r.engines[0]
	switch r.plan.Kind {
	case Fair:
		return locker{e.FairMutex(name)}, nil, nil
	case Fenced:
		return locker{e.FencedMutex(name)}, nil, nil
	case Spin:
		return locker{e.SpinMutex(name)}, nil, nil
	case Simple:
		return locker{simpleMutex(e, name)}, nil, nil
	case RW:
		rw := e.RWMutex(name)
		return locker{rw.Writer()}, locker{rw.Reader()}, nil
	case Multi:
		both, err := engine.Multi(e.Mutex(name), e.Mutex(r.plan.name((i+1)%r.plan.Names)))
		return locker{both}, nil, err
	case Quorum:
		most, err := engine.Quorum(name, r.engines...)
		return locker{most}, nil, err
	case Semaphore:
		return semaphore{e.Semaphore(name)}, nil, nil
	case Permits:
		return permits{e.PermitSemaphore(name)}, nil, nil
	case Limit:
		return locker{limit(e, name, r.plan.Permits)}, nil, nil
	case Latch:
		return latch{e.CountDownLatch(name), cell}, nil, nil
	default:
		return locker{e.Mutex(name)}, nil, nil
	}
}

// resourceFor is what a caller asks for. A test that gives callers other names has it made for each call.
func (r *Rig) resourceFor(caller, name int, reads bool) resource {
	p := &r.places[name]
	made, reader := p.resource, p.reader
	if r.nameFor != nil {
		made, reader, _ = r.makeResource(r.nameFor(caller, name), name, p.cells[0])
	}
	if reads {
		return reader
	}
	return made
}

// setters is how many names get their permits at once.
const setters = 64

// setPermits gives every name its permits, unless another process has: all processes ask, because none knows which is first. It
// comes before any caller runs, since a semaphore without permits lets nobody in.
func (r *Rig) setPermits(ctx context.Context) error {
	if !r.plan.Kind.HasPermits() || r.plan.Kind == Limit {
		return nil
	}
	var wg sync.WaitGroup
	failed := make([]error, min(setters, r.plan.Names))
	for k := range failed {
		wg.Go(func() {
			for i := k; i < r.plan.Names && failed[k] == nil; i += len(failed) {
				_, failed[k] = r.engines[0].Semaphore(r.plan.name(i)).TrySetPermits(ctx, int64(r.plan.Permits))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("setting the permits: %w", err)
	}
	return nil
}
