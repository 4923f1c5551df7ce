package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/engine"
)

var errUnfound = errors.New("no server was found")

// locks opens an engine, and takes and frees a lock of each kind.
func locks(d *deployment) ([]Finding, error) {
	if len(d.nodes) == 0 {
		return nil, errUnfound
	}
	if slices.ContainsFunc(d.nodes, func(n *node) bool { return n.unfit }) {
		return nil, errors.New("the engine does not open without the commands that are missing")
	}
	ctx, stop := context.WithTimeout(d.ctx, 3*askTime)
	defer stop()
	opts := d.opts
	opts.FenceTTL = time.Second
	e, err := engine.Open(ctx, opts)
	if err != nil {
		return found(Error, "the engine does not open: "+redisflags.Explain(err), "No lock can be taken."), nil
	}
	defer e.Close()
	name := d.nodes[0].name
	for _, lock := range []engine.Locker{e.Mutex(name()), e.FencedMutex(name()), e.RWMutex(name()).Writer(), e.RWMutex(name()).Reader(), e.FairMutex(name())} {
		hold, err := lock.TryLock(ctx)
		if err == nil {
			err = hold.Unlock(ctx)
		}
		switch {
		case err == nil:
		case !strings.Contains(err.Error(), "NOPERM"):
			return found(Error, redisflags.Explain(err), "Locks cannot be taken."), nil
		case d.prefix == "":
			return nil, errors.New("this user may not use doctor's name for locks; say by --prefix with what the names begin that it may use: " + redisflags.Explain(err))
		default:
			return d.refused(err), nil
		}
	}
	return nil, nil
}

// refused is the finding that a user with a prefix may not use names that begin with it.
func (d *deployment) refused(err error) []Finding {
	return found(Error, redisflags.Explain(err), "Locks of some kinds cannot be taken, or their waiters are not woken.",
		"grant the key and channel patterns of SECURITY.md for the prefix "+d.prefix)
}
