package wheelcron

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/go-co-op/gocron/v2"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/elect"
)

// ErrNotLeader means that another process leads, or nobody yet.
var ErrNotLeader = errors.New("wheelcron: not the leader")

// Elector is a gocron.Elector: of all processes with one of the same name, one leads, and runs all jobs. Any number of schedulers of
// the process may use it.
type Elector struct {
	leads atomic.Pointer[context.Context] // of the last term of this process; nil: it has not led yet
	stop  context.CancelFunc
	done  chan struct{} // closed when the campaign is over
	err   error         // why; set before done is closed
}

var _ gocron.Elector = (*Elector)(nil)

// NewElector begins to campaign, until Close. The options are those of an election. The error is [engine.ErrInvalid] if there is no
// engine; what is wrong with name and options is the error of IsLeader. gocron drops that error: if the campaign is over before Close,
// the Logger of the options gets a record.
func NewElector(e *engine.Engine, name string, opts elect.Options) (*Elector, error) {
	if e == nil {
		return nil, fmt.Errorf("%w: wheelcron: an Elector without an engine", engine.ErrInvalid)
	}
	ctx, stop := context.WithCancel(context.Background())
	el := &Elector{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(el.done)
		el.err = elect.New(e, name, opts).Run(ctx, func(ctx context.Context, _ int64) error {
			el.leads.Store(&ctx)
			<-ctx.Done()
			return ctx.Err()
		})
		if ctx.Err() == nil && opts.Logger != nil { // gocron drops the error of IsLeader
			opts.Logger.Error("wheelcron: the campaign is over, no job runs here any more", "election", name, "error", el.err)
		}
	}()
	return el, nil
}

// IsLeader returns nil if this process leads. It asks nobody, and it never says so once another process can lead. A run that begins
// as the leader's is not stopped when the leadership ends.
//
// The error Is [ErrNotLeader]. It also says why the campaign is over, if it is: by Close or the engine's, or because the election
// is invalid or Redis refuses for a reason that does not pass.
func (el *Elector) IsLeader(context.Context) error {
	if term := el.leads.Load(); term != nil && (*term).Err() == nil {
		return nil
	}
	select {
	case <-el.done:
		return fmt.Errorf("%w: %w", ErrNotLeader, el.err)
	default:
		return ErrNotLeader
	}
}

// Close gives the leadership up, for good, and returns when another process can lead. It may be repeated.
func (el *Elector) Close() {
	el.stop()
	<-el.done
}
