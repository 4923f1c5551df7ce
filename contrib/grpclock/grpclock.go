// Package grpclock has interceptors for grpc-go: of all calls with the same key, one at a time is served, in all processes that share a
// Redis; or so many at a time.
//
//	limit, err := grpclock.Unary(e, grpclock.Options{Key: tenantOf, N: func(tenant string) int { return 20 }})
//	...
//	server := grpc.NewServer(grpc.ChainUnaryInterceptor(authenticate, limit))
package grpclock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/wheellock/wheellock/contrib/internal/serving"
	"github.com/wheellock/wheellock/engine"
)

// Options say which calls exclude each other, or count together, and what the others get. Key is required.
type Options struct {
	// Key returns the key of a call, such as its tenant. method is the full name, "/package.Service/Method"; request is nil for a stream, whose
	// messages come later. A call with the empty key is served without a lock.
	Key func(ctx context.Context, method string, request any) string

	// N returns how many calls of a key may be served at once, in all processes that share the Redis: as [engine.Engine.Limit] has it. It is
	// asked for each call, so a number that changes takes effect with the next one. Default nil: one, by a lock.
	N func(key string) int

	// Lock returns the lock of a key, if N is nil. Default nil: the engine's Mutex. A lock of the engine's FencedMutex has a token, see [HoldOf].
	Lock func(key string) engine.Locker

	// Wait is how long a call waits while others are served, if its own deadline does not come first. Default 0: it does not wait.
	Wait time.Duration

	// WaitForRedis has calls wait as long also while Redis is known to be out of reach. Default false: they get Unavailable at once
	// ([engine.WithFailFast]).
	WaitForRedis bool

	// Here is how many calls of a key this process serves at once while Redis cannot serve; about N divided by the number of processes. Calls that
	// came in before the outage do not count. Default 0: none, they get Unavailable.
	Here int

	// Prefix comes before the key in the name of the lock. Default "grpc:"; with N "limit:", as contrib/httplock has it.
	Prefix string
}

// Unary makes an interceptor of unary calls. The error is [engine.ErrInvalid] and says what is wrong with the options.
//
// A handler gets a context that ends when the lock, or permit, is lost; its cause is then [engine.ErrLost], and if the handler returns
// [context.Canceled], or that code, the call gets Aborted. The lock is released when the handler has returned, also by a panic; the answer
// waits for the release, 100 ms at most. Instead of its turn a call may get:
//
//   - Aborted, or with N ResourceExhausted: others are served. A RetryInfo says about how long calls took lately in this process.
//   - Unavailable: Redis cannot serve, or the engine is closed.
//   - Canceled or DeadlineExceeded: its context ended while it waited.
//   - InvalidArgument: the key is no name for a lock, for instance because it is too long.
//   - Internal: in Redis there is something else under the lock's name, or N returned a number that is no limit, such as 0.
func Unary(e *engine.Engine, o Options) (grpc.UnaryServerInterceptor, error) {
	g, err := newGuard(e, o)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
		err = g.serve(ctx, o.Key(ctx, info.FullMethod, request), func(ctx context.Context) (err error) {
			answer, err = handle(ctx, request)
			return err
		})
		return answer, err
	}, nil
}

// Stream makes an interceptor of streams, as [Unary] of unary calls: a stream has its turn until its handler returns. A handler that waits for
// a message learns of a lost lock from the context of the stream only.
func Stream(e *engine.Engine, o Options) (grpc.StreamServerInterceptor, error) {
	g, err := newGuard(e, o)
	if err != nil {
		return nil, err
	}
	return func(server any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		return g.serve(s.Context(), o.Key(s.Context(), info.FullMethod, nil), func(ctx context.Context) error {
			return handle(server, stream{s, ctx})
		})
	}, nil
}

// stream is a stream under a lock.
type stream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s stream) Context() context.Context { return s.ctx }

// guard gives calls their turn.
type guard struct {
	o     Options
	lock  func(key string) engine.Locker // nil: N returned no limit
	over  codes.Code                     // if others are served
	times serving.Times
	here  serving.Here
}

func newGuard(e *engine.Engine, o Options) (*guard, error) {
	invalid := func(format string, args ...any) (*guard, error) {
		return nil, fmt.Errorf("%w: grpclock: "+format, append([]any{engine.ErrInvalid}, args...)...)
	}
	switch {
	case e == nil && (o.Lock == nil || o.N != nil):
		return invalid("neither an engine nor Options.Lock")
	case o.Key == nil:
		return invalid("Options.Key is nil")
	case o.N != nil && o.Lock != nil:
		return invalid("both N and Lock")
	case o.Wait < 0:
		return invalid("Wait %v: must not be negative", o.Wait)
	case o.Here < 0:
		return invalid("Here %d: must not be negative", o.Here)
	}
	g := &guard{o: o, lock: o.Lock, over: codes.Aborted}
	switch {
	case o.N != nil:
		g.over = codes.ResourceExhausted
		g.lock = func(key string) engine.Locker {
			if n := o.N(key); n > 0 {
				return e.Limit(cmp.Or(o.Prefix, "limit:")+key, n)
			}
			return nil
		}
	case o.Lock == nil:
		g.lock = func(key string) engine.Locker { return e.Mutex(cmp.Or(o.Prefix, "grpc:") + key) }
	}
	return g, nil
}

// serve makes a call when it has its turn.
func (g *guard) serve(ctx context.Context, key string, call func(context.Context) error) error {
	if key == "" {
		return call(ctx)
	}
	lock := g.lock(key)
	if lock == nil {
		return status.Error(codes.Internal, "grpclock: no limit is set for the key")
	}
	var opts []engine.LockOption
	if !g.o.WaitForRedis {
		opts = append(opts, engine.WithFailFast())
	}
	hold, err := serving.Take(ctx, lock, g.o.Wait, opts...)
	switch {
	case err == nil:
	case serving.IsOutage(ctx, err) && g.here.ComeIn(key, g.o.Here):
		defer g.here.Leave(key)
		return call(ctx)
	default:
		return g.refuse(ctx, err)
	}
	g.times.Serve(ctx, hold, func() {
		err = call(context.WithValue(hold.Context(ctx), holdKey{}, hold))
		if canceled := errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled; canceled && errors.Is(hold.Err(), engine.ErrLost) {
			err = status.Error(codes.Aborted, "grpclock: the lock was lost")
		}
	})
	return err
}

// refuse is the answer to a call that did not get its turn.
func (g *guard) refuse(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	switch (engine.Failure{Err: err}).Outcome() {
	case "held", "wait_timeout":
		over := status.New(g.over, "grpclock: others with the same key are served")
		if detailed, err := over.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(g.times.Free(err))}); err == nil {
			over = detailed
		}
		return over.Err()
	case "invalid":
		if errors.Is(err, engine.ErrInvalid) {
			return status.Error(codes.InvalidArgument, "grpclock: the key is no name for a lock")
		}
		return status.Error(codes.Internal, "grpclock: the name of the lock is used for something else")
	default:
		return status.Error(codes.Unavailable, "grpclock: the locks are out of reach")
	}
}

type holdKey struct{}

// HoldOf returns the hold under which a call is served, for its token, or nil if it has none. ctx is the handler's.
func HoldOf(ctx context.Context) *engine.Hold {
	hold, _ := ctx.Value(holdKey{}).(*engine.Hold)
	return hold
}
