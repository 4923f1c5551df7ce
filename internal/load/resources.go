package load

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/wheellock/wheellock/engine"
)

// makePlaces lays out the cells, and makes the clients what callers ask for.
func (r *Rig) makePlaces(cells Cells) error {
	r.places = make([]place, r.plan.Names)
	for i := range r.places {
		r.places[i] = place{&cells[i]}
		if r.plan.Kind == Multi { // of names 0 and 1, 1 and 2, ..., the last and 0: each name is in two places
			r.places[i] = append(r.places[i], &cells[(i+1)%r.plan.Names])
		}
		for _, c := range r.clients {
			made, reader, err := r.makeResource(c, r.plan.name(i), i)
			if err != nil {
				return err
			}
			c.resources, c.readers = append(c.resources, made), append(c.readers, reader)
		}
	}
	return nil
}

// limit is the engine's (limit.go).
var limit func(e *engine.Engine, name string, n int) engine.Locker

// makeResource makes the resource of a client under a name, for place i. reader: besides, of a read-write lock.
func (r *Rig) makeResource(c *client, name string, i int) (made, reader resource, err error) {
	if c.library != nil {
		return foreign{c.library, name}, nil, nil
	}
	e := c.engines[0]
	switch r.plan.Kind {
	case Fair:
		return locker{e.FairMutex(name)}, nil, nil
	case Fenced:
		return locker{e.FencedMutex(name)}, nil, nil
	case Spin:
		return locker{e.SpinMutex(name)}, nil, nil
	case Simple:
		return locker{e.SimpleMutex(name)}, nil, nil
	case RW:
		rw := e.RWMutex(name)
		return locker{rw.Writer()}, locker{rw.Reader()}, nil
	case Multi:
		both, err := engine.Multi(e.Mutex(name), e.Mutex(r.plan.name((i+1)%r.plan.Names)))
		return locker{both}, nil, err
	case Quorum:
		most, err := engine.Quorum(name, c.engines...)
		return locker{most}, nil, err
	case Semaphore:
		return semaphore{e.Semaphore(name)}, nil, nil
	case Permits:
		return permits{e.PermitSemaphore(name)}, nil, nil
	case Limit:
		return locker{limit(e, name, r.plan.Permits)}, nil, nil
	case Latch:
		return latch{e.CountDownLatch(name), r.places[i][0]}, nil, nil
	default:
		return locker{e.Mutex(name)}, nil, nil
	}
}

// choose is what a caller asks for under its name. A test that gives callers other names has it made for each call.
func (c *caller) choose() resource {
	if c.fresh != nil {
		return c.fresh.next()
	}
	made, reader := c.client.resources[c.name], c.client.readers[c.name]
	if r := c.rig; r.nameFor != nil {
		made, reader, _ = r.makeResource(c.client, r.nameFor(c.id, c.name), c.name)
	}
	if c.reads {
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
				_, failed[k] = r.clients[0].engines[0].Semaphore(r.plan.name(i)).TrySetPermits(ctx, int64(r.plan.Permits))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("setting the permits: %w", err)
	}
	return nil
}
