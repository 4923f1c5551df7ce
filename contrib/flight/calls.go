package flight

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// calls are the calls of one process, by key. Callers of one key share a call.
type calls struct {
	mu   sync.Mutex // guards the rest
	live map[string]*call
}

// errExited is the error of a call whose fn ended its goroutine, as testing.T.FailNow does.
var errExited = errors.New("flight: fn called runtime.Goexit")

// call is what callers of one key wait for.
type call struct {
	callers int                // guarded by calls.mu
	stop    context.CancelFunc // ends the context of the call
	done    chan struct{}      // closed when the rest is set

	value    []byte
	stored   bool
	err      error
	panicked *panicError // nil: fn did not
}

// panicError is what callers panic with: the panic of fn, and where it was, for their own stacks do not say.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

func (p *panicError) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// do has the call of a key made, or joins the one that is being made. shared tells that fetch did not run for this caller, or found a
// value that is stored.
func (cs *calls) do(ctx context.Context, key string, fetch func(context.Context) ([]byte, bool, error)) (value []byte, shared bool, err error) {
	c, joined := cs.join(ctx, key, fetch)
	select {
	case <-c.done:
	case <-ctx.Done():
		cs.leave(key, c)
		select {
		case <-c.done: // in the same moment: this may be the last caller that hears of a panic
		default:
			return nil, false, fmt.Errorf("flight: %w", context.Cause(ctx))
		}
	}
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.value, joined || c.stored, c.err
}

func (cs *calls) join(ctx context.Context, key string, fetch func(context.Context) ([]byte, bool, error)) (c *call, joined bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c, joined = cs.live[key]; joined {
		c.callers++
		return c, true
	}
	c = &call{callers: 1, done: make(chan struct{}), err: errExited}
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	if cs.live == nil {
		cs.live = map[string]*call{}
	}
	cs.live[key] = c
	go cs.run(ctx, key, c, fetch)
	return c, false
}

// leave ends the call if nobody waits for it any more. The next caller makes a new one.
func (cs *calls) leave(key string, c *call) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c.callers--; c.callers == 0 {
		c.stop()
		cs.forget(key, c)
	}
}

// forget takes a call out. The caller has mu.
func (cs *calls) forget(key string, c *call) {
	if cs.live[key] == c {
		delete(cs.live, key)
	}
}

func (cs *calls) run(ctx context.Context, key string, c *call, fetch func(context.Context) ([]byte, bool, error)) {
	defer c.stop()
	defer func() {
		if p := recover(); p != nil {
			c.panicked = &panicError{p, debug.Stack()}
		}
		cs.mu.Lock()
		defer cs.mu.Unlock()
		cs.forget(key, c)
		close(c.done)
		if c.panicked != nil && c.callers == 0 {
			panic(c.panicked) // no caller is left to repeat it
		}
	}()
	c.value, c.stored, c.err = fetch(ctx)
}
