package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/scripts"
)

var errUnfound = errors.New("no server was found")

// locks opens an engine, and takes and frees a lock of each kind. A mutex works without the right to the key of its line, so that is looked for.
func locks(d *deployment) ([]Finding, error) {
	at := slices.IndexFunc(d.nodes, func(n *node) bool {
		_, served := n.name()
		return served
	})
	if at < 0 {
		return nil, errUnfound
	}
	name := func() string {
		name, _ := d.nodes[at].name()
		return name
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
	if message, _ := rediserr.Said(d.nodes[at].do("ZCARD", scripts.LineKey(name())).Error()); strings.HasPrefix(message, "NOPERM") {
		return found(Warning, "this user may not use the line for a mutex, such as "+scripts.LineKey(d.prefix+"stock:7")+": "+message,
			"Engines that wait for a mutex have no places in line: each release wakes them all, and is sent twice.", d.patterns()), nil
	}
	return nil, nil
}

// refused is the finding that a user with a prefix may not use names that begin with it.
func (d *deployment) refused(err error) []Finding {
	return found(Error, redisflags.Explain(err), "Locks of some kinds cannot be taken, or their waiters are not woken.",
		d.patterns())
}

// patterns says which patterns this user is to be granted.
func (d *deployment) patterns() string {
	return "grant the key and channel patterns of SECURITY.md for the prefix " + d.prefix
}
