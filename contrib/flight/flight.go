// Package flight computes a value once for a whole fleet of processes, and gives it to everybody who asks: golang.org/x/sync's
// singleflight across processes. When a cached value expires, one process computes it anew and the others wait for it.
//
//	group, err := flight.New(e, client, flight.Options{Keep: time.Minute})
//	...
//	page, shared, err := group.Do(ctx, "page:/", func(ctx context.Context) ([]byte, error) { return render(ctx, "/") })
//
// The process that computes is the writer of a RWMutex. The others wait as its readers, and then read the value in Redis. A value
// that is in Redis costs one GET.
package flight

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/contrib/internal/guarded"
	"github.com/wheellock/wheellock/engine"
)

// ErrTooLong means that fn returned more than [Options].MaxBytes. Nothing was stored.
var ErrTooLong = errors.New("flight: the result is too long")

const (
	defaultMaxBytes = 1 << 20
	mostBytes       = 512 << 20 // the longest string that Redis keeps
)

// Options say how long results stand, and how long they may be.
type Options struct {
	// Keep is how long a result is served after it was computed, in whole milliseconds; 1 ms at least.
	Keep time.Duration
	// MaxBytes is the length of the longest result, up to 512 MiB. Default 0: 1 MiB.
	MaxBytes int
	// NameMapper is that of the engine's Options: a value is stored only by the process that has the key of the lock. Default nil.
	NameMapper func(name string) string
}

// A Group computes and shares the values of keys, with all processes that use the same Redis. Any goroutine may call its methods.
type Group struct {
	e      *engine.Engine
	client rueidis.Client
	opts   Options
	local  calls
}

// New makes a Group. The client must be connected to the Redis of the engine, to the same database, and must read from the master.
// Groups on one Redis share the values of equal keys. The error is [engine.ErrInvalid] and says what is wrong.
func New(e *engine.Engine, client rueidis.Client, o Options) (*Group, error) {
	switch {
	case e == nil || client == nil:
		return nil, fmt.Errorf("flight: %w: the engine or the client is nil", engine.ErrInvalid)
	case o.Keep < time.Millisecond || o.Keep%time.Millisecond != 0:
		return nil, fmt.Errorf("flight: %w: Keep is %v; must be whole milliseconds, 1ms at least", engine.ErrInvalid, o.Keep)
	case o.MaxBytes < 0 || o.MaxBytes > mostBytes:
		return nil, fmt.Errorf("flight: %w: MaxBytes is %d; must be from 0 to %d", engine.ErrInvalid, o.MaxBytes, mostBytes)
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	return &Group{e: e, client: client, opts: o}, nil
}

// Do returns the value of key: the one in Redis, or else what fn returns, which all others who ask meanwhile get too. Of all
// processes, at most one runs fn for a key at a time, and none while a value stands. shared tells that this call's fn did not run.
// The value may be shared with other callers, so nobody may change it.
//
// A value that fn has computed and that could not be stored, because Redis refuses it or does not answer, is returned with the error, to all
// callers of this process that share the call. So it is if something that is no string stands under the key of the value, which stays as
// it is: the error then Is [engine.ErrForeignKey].
//
// ctx bounds this caller's wait; the error is then that of [engine.Mutex.Lock], or the cause of ctx. fn gets a context with the values
// of the first caller's ctx, but not with its deadline. It ends when every caller of this process has left, or when the lock is lost.
// If the lock was lost before fn returned, nothing is stored, and the error Is [engine.ErrLost], and what fn returned: ask again.
//
// An error of fn goes to the callers of this process that share the call. The next process that waits runs its own fn. So it does if
// this process dies; that takes as long as [engine.Options].Lease. A panic of fn is repeated in the callers, by an error that has fn's
// stack, and Is what fn panicked with if that is an error; if all have left, it ends the program.
//
// fn may call Do for another key. For its own key Do would wait for itself: with the context of fn, it returns [engine.ErrDeadlock].
// If two keys need each other, and two callers begin one each, both wait for ever: let keys need each other in one direction only.
//
// Other errors are [engine.ErrInvalid] for a key that makes no name for a lock (longer than about 1,000 bytes), [ErrTooLong], and
// [engine.ErrUnavailable] or the client's error if Redis does not serve.
func (g *Group) Do(ctx context.Context, key string, fn func(context.Context) ([]byte, error)) (value []byte, shared bool, err error) {
	if r, nested := ctx.Value(inside{g.e, key}).(*run); nested && !r.over.Load() {
		return nil, false, fmt.Errorf("flight: %w: Do was called by the function that computes the same key", engine.ErrDeadlock)
	}
	return g.local.do(ctx, key, func(ctx context.Context) ([]byte, bool, error) { return g.fetch(ctx, key, fn) })
}

// Forget deletes the value of key, so that the next Do computes it. A process that computes at this moment stores its value all the same.
func (g *Group) Forget(ctx context.Context, key string) error {
	_, result := g.names(key)
	return g.client.Do(ctx, g.client.B().Del().Key(result).Build()).Error()
}

// fetch gets the value for this process. stored tells that another one has computed it.
func (g *Group) fetch(ctx context.Context, key string, fn func(context.Context) ([]byte, error)) (value []byte, stored bool, err error) {
	name, result := g.names(key)
	value, stored, foreign := g.read(ctx, result)
	if stored || foreign != nil && !errors.Is(foreign, engine.ErrForeignKey) {
		return value, stored, foreign
	}
	lock := g.e.RWMutex(name)
	hold, err := lock.Writer().TryLock(ctx)
	if errors.Is(err, engine.ErrHeld) {
		if value, stored, err = g.await(ctx, lock, result); stored || err != nil && !errors.Is(err, engine.ErrForeignKey) {
			return value, stored, err
		}
		hold, err = lock.Writer().Lock(ctx, engine.WithFailFast()) // whoever computed has failed
	}
	if err != nil {
		return nil, false, err
	}
	defer hold.UnlockAsync()
	value, stored, foreign = g.read(ctx, result)
	if stored || foreign != nil && !errors.Is(foreign, engine.ErrForeignKey) { // stored since the first look
		return value, stored, foreign
	}
	if value, err = g.compute(ctx, hold, key, fn); err != nil {
		return nil, false, err
	}
	if err = foreign; err == nil {
		err = g.store(ctx, hold, result, value)
	}
	if errors.Is(err, engine.ErrLost) || errors.Is(err, ErrTooLong) {
		value = nil
	}
	return value, false, err
}

// inside is the key of the run in the context of fn.
type inside struct {
	e   *engine.Engine
	key string
}

// run is one call of fn.
type run struct{ over atomic.Bool }

// compute calls fn under the lock.
func (g *Group) compute(ctx context.Context, hold *engine.Hold, key string, fn func(context.Context) ([]byte, error)) ([]byte, error) {
	r := new(run)
	defer r.over.Store(true)
	value, err := fn(hold.Context(context.WithValue(ctx, inside{g.e, key}, r)))
	if lost := hold.Err(); lost != nil && err != nil {
		return nil, fmt.Errorf("flight: %w: %w", lost, err)
	} else if lost != nil {
		return nil, fmt.Errorf("flight: the value was computed, but not stored: %w", lost)
	}
	return value, err
}

// await waits for the process that computes now, as a reader beside all others, and reads.
func (g *Group) await(ctx context.Context, lock *engine.RWMutex, result string) (value []byte, stored bool, err error) {
	hold, err := lock.Reader().Lock(ctx, engine.WithFailFast())
	if err != nil {
		return nil, false, err
	}
	defer hold.UnlockAsync()
	return g.read(ctx, result)
}

func (g *Group) read(ctx context.Context, result string) (value []byte, found bool, err error) {
	value, err = g.client.Do(ctx, g.client.B().Get().Key(result).Build()).AsBytes()
	switch {
	case rueidis.IsRedisNil(err):
		return nil, false, nil
	case err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE"):
		return nil, false, fmt.Errorf("flight: %w: %q: %w", engine.ErrForeignKey, result, err)
	case err != nil:
		return nil, false, fmt.Errorf("flight: read the value: %w", err)
	}
	return value, true, nil
}

func (g *Group) store(ctx context.Context, hold *engine.Hold, result string, value []byte) error {
	if len(value) > g.opts.MaxBytes {
		return fmt.Errorf("%w: %d bytes, MaxBytes is %d", ErrTooLong, len(value), g.opts.MaxBytes)
	}
	lock := strings.TrimSuffix(result, suffix)
	stored, err := guarded.Set(ctx, g.client, hold, lock, result, value, g.opts.Keep)
	switch {
	case err != nil:
		return fmt.Errorf("flight: store the value: %w", err)
	case !stored:
		return fmt.Errorf("flight: the value was computed, but not stored: %q in Redis is not our lock: %w", lock, engine.ErrLost)
	}
	return nil
}

// braces are written otherwise in names: what stands between the first two decides the hash slot.
var braces = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")

// suffix makes the key of a value from that of its lock.
const suffix = ":value"

// names are the lock of a key, and the key in Redis of its value. That of the lock is in the same hash slot: nothing between braces
// would be no hash tag, so the empty key is written as a "%", which no other is.
func (g *Group) names(key string) (lock, result string) {
	tag := "%"
	if key != "" {
		tag = braces.Replace(key)
	}
	lock = "flight:{" + tag + "}"
	if g.opts.NameMapper != nil {
		return lock, g.opts.NameMapper(lock) + suffix
	}
	return lock, lock + suffix
}
