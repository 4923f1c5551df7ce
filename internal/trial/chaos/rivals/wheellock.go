package rivals

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
)

type wheellock struct{ e *engine.Engine }

func openWheellock(watchLoss bool) func(login) (rival, error) {
	return func(l login) (rival, error) {
		e, err := engine.Open(background, engine.Options{
			Redis:     rueidis.ClientOption{InitAddress: []string{l.addr}, Username: l.user, Password: l.password},
			Lease:     l.lease,
			WatchLoss: watchLoss,
		})
		return wheellock{e}, err
	}
}

func (w wheellock) lock(ctx context.Context, name string) (hold, error) {
	return ours(w.e.Mutex(name).Lock(ctx))
}

func (w wheellock) try(ctx context.Context, name string) (hold, error) {
	return ours(w.e.Mutex(name).TryLock(ctx))
}

func ours(h *engine.Hold, err error) (hold, error) {
	if err != nil {
		return hold{}, err
	}
	return hold{h.Done(), h.Unlock}, nil
}

func (w wheellock) key(name string) string { return name }

func (w wheellock) close() { _ = w.e.Close() }
