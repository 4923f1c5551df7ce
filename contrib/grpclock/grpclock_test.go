package grpclock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/wheellock/wheellock/contrib/grpclock"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// service is the health service of gRPC, whose Check and Watch do what a test wants. Its key is what is asked for.
type service struct {
	healthpb.UnimplementedHealthServer
	check func(ctx context.Context, key string) error
	watch func(s healthpb.Health_WatchServer) error
	ended func(error) // sees how unary calls end at the server, of which a client that has left knows nothing; nil: nobody does
}

func (s service) Check(ctx context.Context, r *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, s.check(ctx, r.GetService())
}

func (s service) Watch(_ *healthpb.HealthCheckRequest, stream healthpb.Health_WatchServer) error {
	return s.watch(stream)
}

// keyOf is what a unary call asks for. A stream has the key "stream".
func keyOf(_ context.Context, method string, request any) string {
	if r, unary := request.(*healthpb.HealthCheckRequest); unary {
		return r.GetService()
	}
	if method != healthpb.Health_Watch_FullMethodName {
		return ""
	}
	return "stream"
}

// serve starts a server behind the interceptors, on a loopback port, and returns a client of it.
func serve(t *testing.T, e *engine.Engine, o grpclock.Options, s service) healthpb.HealthClient {
	t.Helper()
	o.Key = keyOf
	unary, err := grpclock.Unary(e, o)
	testkit.Must(t, err)
	stream, err := grpclock.Stream(e, o)
	testkit.Must(t, err)
	recovering := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = status.Error(codes.Internal, fmt.Sprint(p))
			}
			if s.ended != nil {
				s.ended(err)
			}
		}()
		return handle(ctx, request)
	}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(recovering, unary), grpc.ChainStreamInterceptor(stream))
	healthpb.RegisterHealthServer(server, s)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	over := make(chan error, 1)
	go func() { over <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	testkit.Must(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	return healthpb.NewHealthClient(conn)
}

func check(ctx context.Context, client healthpb.HealthClient, key string) error {
	_, err := client.Check(ctx, &healthpb.HealthCheckRequest{Service: key})
	return err
}

// wants makes a call and checks its code.
func wants(t *testing.T, client healthpb.HealthClient, key string, want codes.Code) {
	t.Helper()
	if err := check(testkit.Soon(t), client, key); status.Code(err) != want {
		t.Errorf("a call of %.20q gets %v, want %v", key, err, want)
	}
}

// retryOf is the delay in a RetryInfo, or 0.
func retryOf(err error) time.Duration {
	for _, detail := range status.Convert(err).Details() {
		if info, is := detail.(*errdetails.RetryInfo); is {
			return info.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

// Hundreds of calls of four keys, at once, to two processes: never more than n of a key are inside. If they wait, all are served; if not, the others
// are told to come again.
func TestCallsAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		n    int
		over codes.Code
	}{"exclusive": {1, codes.Aborted}, "a limit": {3, codes.ResourceExhausted}} {
		for _, wait := range []time.Duration{0, testkit.Patience} {
			t.Run(fmt.Sprint(name, ", waiting for ", wait), func(t *testing.T) {
				t.Parallel()
				const calls, keys = 400, 4
				redis := redistest.Start(t)
				o := grpclock.Options{Wait: wait}
				if c.over == codes.ResourceExhausted {
					o.N = func(string) int { return c.n }
				}
				var inside [keys]atomic.Int64
				var served, refused atomic.Int64
				s := service{check: func(_ context.Context, key string) error {
					i, _ := strconv.Atoi(key)
					if now := inside[i].Add(1); now > int64(c.n) {
						t.Errorf("%d calls of key %s at once", now, key)
					}
					time.Sleep(100 * time.Microsecond) // sleeps: how long the call takes
					inside[i].Add(-1)
					return nil
				}}
				var clients []healthpb.HealthClient
				for range 2 {
					e := testkit.Connect(t, redis.Addr(), func(o *engine.Options) { o.AnswerTimeout = testkit.Patience }) // of a busy machine
					clients = append(clients, serve(t, e, o, s))
				}
				var wg sync.WaitGroup
				for i := range calls {
					wg.Go(func() {
						switch err := check(testkit.Soon(t), clients[i%2], strconv.Itoa(i/2%keys)); {
						case err == nil:
							served.Add(1)
						case status.Code(err) == c.over && retryOf(err) > 0:
							refused.Add(1)
						default:
							t.Error(err)
						}
					})
				}
				wg.Wait()
				t.Logf("%d served, %d told to come again", served.Load(), refused.Load())
				if served.Load() == 0 || wait > 0 && refused.Load() > 0 {
					t.Errorf("%d were served, %d told to come again", served.Load(), refused.Load())
				}
			})
		}
	}
}

// A stream has its turn until its handler returns, with messages under way; a client that leaves makes room.
func TestStreams(t *testing.T) {
	t.Parallel()
	e := testkit.Connect(t, redistest.Start(t).Addr())
	client := serve(t, e, grpclock.Options{N: func(string) int { return 1 }}, service{watch: func(s healthpb.Health_WatchServer) error {
		if hold := grpclock.HoldOf(s.Context()); hold == nil || hold.Name() != "limit:stream" {
			t.Errorf("the hold is %v", hold)
		}
		if err := s.Send(&healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}); err != nil {
			return err
		}
		<-s.Context().Done()
		return s.Context().Err()
	}})
	for range 2 {
		ctx, leave := context.WithCancel(testkit.Soon(t))
		first, err := client.Watch(ctx, &healthpb.HealthCheckRequest{})
		testkit.Must(t, err)
		if _, err := first.Recv(); err != nil {
			t.Fatal(err)
		}
		second, err := client.Watch(testkit.Soon(t), &healthpb.HealthCheckRequest{})
		testkit.Must(t, err)
		if _, err := second.Recv(); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("another stream gets %v", err)
		}
		leave()
		redistest.Await(t, "the permit to be back", func() bool {
			held, err := e.PermitSemaphore("limit:stream").Acquired(context.Background())
			return err == nil && held == 0
		})
	}
}

// While Redis cannot serve, calls get Unavailable, at once if that is known, also those that would wait; or so many of a key are let in.
func TestOutages(t *testing.T) {
	t.Parallel()
	for _, here := range []int{0, 2} {
		t.Run(fmt.Sprint(here, " here"), func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			e := testkit.Connect(t, redis.Addr())
			var client, patient healthpb.HealthClient
			depth := atomic.Int64{}
			var deepest atomic.Int64
			s := service{check: func(ctx context.Context, key string) error {
				deepest.Store(depth.Add(1))
				defer depth.Add(-1)
				if key == "deep" {
					if err := check(ctx, client, key); status.Code(err) != codes.Unavailable && err != nil {
						t.Error(err)
					}
				}
				return nil
			}}
			client = serve(t, e, grpclock.Options{Here: here}, s)
			patient = serve(t, e, grpclock.Options{Here: here, N: func(string) int { return 5 }, Wait: time.Hour}, s)
			want := codes.Unavailable
			if here > 0 {
				want = codes.OK
			}
			redis.Freeze()
			wants(t, client, "a", want)
			redis.Thaw()
			redis.Kill()
			redistest.Await(t, "the outage to be known", func() bool { return !e.Up() })
			for range 2 { // what has left makes room
				wants(t, client, "a", want)
				wants(t, patient, "a", want)
				wants(t, client, "deep", want)
			}
			if got := deepest.Load(); got != int64(here) {
				t.Errorf("%d calls of a key were inside, want %d", got, here)
			}
			e.Close()
			wants(t, patient, "a", codes.Unavailable)
		})
	}
}

// A call whose lock is lost is aborted; one that panics frees its lock; one without a key is served beside others; what can be no lock has a
// code that says whose fault it is.
func TestAnswers(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	redis.MustDo("SET", "grpc:text", "x")
	e := testkit.Connect(t, redis.Addr(), func(o *engine.Options) { o.MaxHold = 100 * time.Millisecond })
	s := service{check: func(ctx context.Context, key string) error {
		switch key {
		case "lost", "lost, as a code":
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, engine.ErrLost) {
				t.Errorf("the cause is %v", cause)
			}
			if key == "lost" {
				return ctx.Err()
			}
			return status.FromContextError(ctx.Err()).Err()
		case "panic":
			panic("in the handler")
		case "own":
			return status.Error(codes.NotFound, "own")
		case "":
			if hold := grpclock.HoldOf(ctx); hold != nil {
				t.Errorf("without a key the hold is %v", hold)
			}
		}
		return nil
	}}
	client := serve(t, e, grpclock.Options{}, s)
	for key, want := range map[string]codes.Code{
		"lost": codes.Aborted, "lost, as a code": codes.Aborted, "own": codes.NotFound, "": codes.OK, "text": codes.Internal,
		strings.Repeat("a", 1100): codes.InvalidArgument,
	} {
		wants(t, client, key, want)
	}
	for range 2 {
		wants(t, client, "panic", codes.Internal)
	}
	redistest.Await(t, "all locks to be free", func() bool { return len(redis.Keys()) == 1 })

	none := serve(t, e, grpclock.Options{N: func(string) int { return 0 }}, s)
	wants(t, none, "a", codes.Internal)
	fenced := serve(t, nil, grpclock.Options{Lock: func(key string) engine.Locker { return e.FencedMutex(key) }}, service{check: func(ctx context.Context, _ string) error {
		if token, is := grpclock.HoldOf(ctx).Token(); !is || token == 0 {
			t.Errorf("the token is %d", token)
		}
		return nil
	}})
	wants(t, fenced, "fenced", codes.OK)
}

// A client whose deadline passes, or that leaves, while its call waits is answered, and leaves nothing behind.
func TestClientsThatLeave(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	e := testkit.Connect(t, redis.Addr())
	ended := make(chan error, 2)
	client := serve(t, e, grpclock.Options{Wait: time.Hour}, service{check: func(context.Context, string) error {
		t.Error("the handler runs")
		return nil
	}, ended: func(err error) { ended <- err }})
	hold := testkit.MustLock(t, e.Mutex("grpc:a"))
	ctx, leave := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- check(ctx, client, "a") }()
	redistest.Await(t, "the call to wait", func() bool { return e.Stats().Waiting == 1 })
	leave()
	if err := testkit.Receive(t, "the call to leave", done); status.Code(err) != codes.Canceled {
		t.Errorf("%v, want Canceled", err)
	}
	if err := testkit.Receive(t, "the call to end", ended); status.Code(err) != codes.Canceled {
		t.Errorf("at the server the call ends with %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := check(ctx, client, "a"); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("%v, want DeadlineExceeded", err)
	}
	redistest.Await(t, "nobody to wait", func() bool { return e.Stats().Waiting == 0 })
	testkit.MustUnlock(t, hold)
}

func TestOptions(t *testing.T) {
	t.Parallel()
	e := testkit.Connect(t, redistest.Start(t).Addr())
	n := func(string) int { return 1 }
	lock := func(key string) engine.Locker { return e.Mutex(key) }
	for want, c := range map[string]struct {
		e *engine.Engine
		o grpclock.Options
	}{
		"engine":          {nil, grpclock.Options{Key: keyOf}},
		"Key is nil":      {e, grpclock.Options{}},
		"both N and Lock": {e, grpclock.Options{Key: keyOf, N: n, Lock: lock}},
		"Wait -1s":        {e, grpclock.Options{Key: keyOf, Wait: -time.Second}},
		"Here -1":         {e, grpclock.Options{Key: keyOf, Here: -1}},
	} {
		_, unary := grpclock.Unary(c.e, c.o)
		_, stream := grpclock.Stream(c.e, c.o)
		for _, err := range []error{unary, stream} {
			if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want one about %s", err, want)
			}
		}
	}
}
