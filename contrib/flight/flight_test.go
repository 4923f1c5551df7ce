package flight_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/contrib/flight"
	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

func newClient(t testing.TB, server *redistest.Server) rueidis.Client {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true})
	testkit.Must(t, err)
	t.Cleanup(client.Close)
	return client
}

func newGroup(t testing.TB, server *redistest.Server, o flight.Options) (*flight.Group, *engine.Engine) {
	t.Helper()
	e := testkit.Connect(t, server.Addr())
	g, err := flight.New(e, newClient(t, server), o)
	testkit.Must(t, err)
	return g, e
}

func returns(value string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return []byte(value), nil }
}

// wantValue calls Do with an fn that returns offer, and checks what comes.
func wantValue(t *testing.T, g *flight.Group, key, offer, want string) {
	t.Helper()
	value, shared, err := g.Do(testkit.Soon(t), key, returns(offer))
	if string(value) != want || shared != (offer != want) || err != nil {
		t.Errorf("Do(%q) = %q, %v, %v; want %q", key, value, shared, err, want)
	}
}

func TestDo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	g, _ := newGroup(t, server, flight.Options{Keep: time.Hour, MaxBytes: 8})

	t.Run("a value stands for Keep", func(t *testing.T) {
		wantValue(t, g, "a", "one", "one")
		wantValue(t, g, "a", "two", "one")
		if ttl := server.MustDo("PTTL", "flight:{a}:value").Int; ttl <= 59*60_000 || ttl > 60*60_000 {
			t.Errorf("the value stands for %d ms, want an hour", ttl)
		}
		server.MustDo("PEXPIRE", "flight:{a}:value", "-1") // Keep is over
		wantValue(t, g, "a", "two", "two")
	})
	t.Run("Forget has it computed anew", func(t *testing.T) {
		wantValue(t, g, "f", "one", "one")
		testkit.Must(t, g.Forget(testkit.Soon(t), "f"))
		wantValue(t, g, "f", "two", "two")
	})
	t.Run("a value that stands costs one GET", func(t *testing.T) {
		wantValue(t, g, "g", "one", "one")
		redistest.Await(t, "the unlock", func() bool { return server.MustDo("EXISTS", "flight:{g}").Int == 0 })
		server.MustDo("CONFIG", "RESETSTAT")
		wantValue(t, g, "g", "two", "one")
		stats := server.MustDo("INFO", "commandstats").Text
		if !strings.Contains(stats, "cmdstat_get:calls=1,") || strings.Contains(stats, "evalsha") {
			t.Errorf("Do sent more than one GET:\n%s", stats)
		}
	})
	t.Run("a value may be empty, and have any bytes", func(t *testing.T) {
		for _, value := range []string{"", "\x00\xff\r\n"} {
			key := "bytes" + value
			wantValue(t, g, key, value, value)
			if got, shared, err := g.Do(testkit.Soon(t), key, returns("other")); string(got) != value || !shared || err != nil {
				t.Errorf("Do = %q, %v, %v; want %q", got, shared, err, value)
			}
		}
	})
	t.Run("a key may have any bytes, and no key is another's", func(t *testing.T) {
		keys := []string{"", "{", "}", "{}", "{a}", "a}b", "%7B", "%", "a:value", "\xff\x00 \n"}
		for _, key := range keys {
			wantValue(t, g, "x"+key, "x"+key, "x"+key)
		}
		wantValue(t, g, "", "none", "none")
	})
	t.Run("a long key is refused", func(t *testing.T) {
		if _, _, err := g.Do(testkit.Soon(t), strings.Repeat("x", 1100), returns("v")); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%v, want ErrInvalid", err)
		}
	})
	t.Run("a long value is refused and not stored", func(t *testing.T) {
		if value, _, err := g.Do(testkit.Soon(t), "long", returns("123456789")); value != nil || !errors.Is(err, flight.ErrTooLong) {
			t.Errorf("%q, %v, want ErrTooLong", value, err)
		}
		wantValue(t, g, "long", "12345678", "12345678")
	})
	t.Run("an error of fn is returned and not stored", func(t *testing.T) {
		failed := errors.New("no page")
		if _, _, err := g.Do(testkit.Soon(t), "e", func(context.Context) ([]byte, error) { return nil, failed }); !errors.Is(err, failed) {
			t.Errorf("%v, want %v", err, failed)
		}
		wantValue(t, g, "e", "one", "one")
	})
	t.Run("a value of another type is told", func(t *testing.T) {
		server.MustDo("LPUSH", "flight:{list}:value", "1")
		if _, _, err := g.Do(testkit.Soon(t), "list", returns("v")); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("%v, want WRONGTYPE", err)
		}
	})
}

// Callers of one process share a call. It goes on as long as one of them waits.
func TestCallersShare(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	g, _ := newGroup(t, server, flight.Options{Keep: time.Hour})
	began, open := make(chan context.Context, 2), make(chan struct{})
	fn := func(ctx context.Context) ([]byte, error) {
		began <- ctx
		select {
		case <-open:
			return []byte("one"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	type result struct {
		value  string
		shared bool
		err    error
	}
	call := func(ctx context.Context) <-chan result {
		answer := make(chan result, 1)
		go func() {
			value, shared, err := g.Do(ctx, "a", fn)
			answer <- result{string(value), shared, err}
		}()
		return answer
	}
	ctx, cancel := context.WithCancelCause(testkit.Soon(t))
	first := call(ctx)
	<-began
	left := errors.New("the visitor has left")
	joiners := []<-chan result{call(testkit.Soon(t)), call(testkit.Soon(t))}
	redistest.Await(t, "all to share the call", func() bool { return g.Callers("a") == 3 })
	cancel(left)
	if r := <-first; !errors.Is(r.err, left) {
		t.Errorf("the first caller got %+v, want its cause", r)
	}
	close(open)
	for _, joiner := range joiners {
		if r := <-joiner; r != (result{"one", true, nil}) {
			t.Errorf("a caller that joined got %+v", r)
		}
	}

	server.MustDo("DEL", "flight:{a}:value")
	open = make(chan struct{})
	ctx, cancel = context.WithCancelCause(testkit.Soon(t))
	last := call(ctx)
	inside := <-began
	cancel(left)
	if r := <-last; !errors.Is(r.err, left) {
		t.Errorf("the last caller got %+v, want its cause", r)
	}
	<-inside.Done() // nobody waits any more
}

// What was computed and cannot be stored is not lost: the caller gets it with the error.
func TestAValueThatCannotBeStoredIsReturned(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	g, _ := newGroup(t, server, flight.Options{Keep: time.Hour, MaxBytes: 8})
	client := newClient(t, server)
	do := func(args ...string) {
		testkit.Must(t, client.Do(testkit.Soon(t), client.B().Arbitrary(args...).Build()).Error())
	}
	wants := func(what, key string, fn func(context.Context) ([]byte, error), want error, text string) {
		t.Helper()
		value, shared, err := g.Do(testkit.Soon(t), key, fn)
		if len(value) == 0 || shared || err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %q, %v, %v; want the value and an error with %q", what, value, shared, err, text)
		}
	}
	wants("a full Redis", "a", func(context.Context) ([]byte, error) {
		do("CONFIG", "SET", "maxmemory", "1")
		return []byte("value"), nil
	}, nil, "OOM")
	do("CONFIG", "SET", "maxmemory", "0")
	do("LPUSH", "flight:{c}:value", "x")
	wants("a list under its key", "c", returns("value"), engine.ErrForeignKey, "flight:{c}:value")
	if n, err := client.Do(testkit.Soon(t), client.B().Llen().Key("flight:{c}:value").Build()).AsInt64(); n != 1 || err != nil {
		t.Errorf("the list has %d elements, %v; want 1", n, err)
	}
	wantValue(t, g, "a", "one", "one")
}

// A caller that waits for another process hears at once that Redis has gone, and may compute the value without sharing it.
func TestAnOutageEndsTheWaitForAnother(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	first, _ := newGroup(t, server, flight.Options{Keep: time.Hour})
	second, e := newGroup(t, server, flight.Options{Keep: time.Hour})
	computes, goOn := make(chan struct{}), make(chan struct{})
	var both sync.WaitGroup
	both.Go(func() {
		first.Do(testkit.Soon(t), "a", func(context.Context) ([]byte, error) {
			close(computes)
			<-goOn
			return []byte("one"), nil
		})
	})
	<-computes
	both.Go(func() {
		defer close(goOn)
		began := time.Now()
		_, _, err := second.Do(testkit.Soon(t), "a", returns("two"))
		if took := time.Since(began); !errors.Is(err, engine.ErrUnavailable) || took > testkit.Patience/2 {
			t.Errorf("after %v: %v", took, err)
		}
	})
	redistest.Await(t, "the second to wait", func() bool { return e.Stats().Waiting == 1 })
	server.Kill()
	both.Wait()
}

// A value that was computed after the lock was lost is not stored, and a function that ends with its context, because the lock was lost, does
// not look as if its caller had left.
func TestALostLockStoresNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	g, e := newGroup(t, server, flight.Options{Keep: time.Hour})
	for _, returned := range []error{nil, context.Canceled} {
		_, _, err := g.Do(testkit.Soon(t), "a", func(ctx context.Context) ([]byte, error) {
			if freed, err := e.RWMutex("flight:{a}").Writer().ForceUnlock(testkit.Soon(t)); !freed || err != nil {
				t.Errorf("ForceUnlock: %v, %v", freed, err)
			}
			<-ctx.Done()
			return []byte("late"), returned
		})
		if !errors.Is(err, engine.ErrLost) || returned != nil && !errors.Is(err, returned) {
			t.Errorf("%v, want ErrLost and %v", err, returned)
		}
	}
	wantValue(t, g, "a", "one", "one")
}

// A function that asks for its own key gets an error in place of an answer that waits for the function.
func TestDoInsideItsOwnFunction(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	g, e := newGroup(t, server, flight.Options{Keep: time.Hour})
	other, err := flight.New(e, newClient(t, server), flight.Options{Keep: time.Hour})
	testkit.Must(t, err)
	var inner context.Context
	through := func(ctx context.Context) ([]byte, error) { // by way of another key, whose function has the values of ctx
		value, _, err := g.Do(ctx, "b", func(ctx context.Context) ([]byte, error) {
			value, _, err := g.Do(ctx, "a", returns("inner"))
			return value, err
		})
		return value, err
	}
	value, _, err := g.Do(testkit.Soon(t), "a", func(ctx context.Context) ([]byte, error) {
		inner = context.WithoutCancel(ctx)
		for _, nested := range []*flight.Group{g, other} {
			if _, _, err := nested.Do(ctx, "a", returns("inner")); !errors.Is(err, engine.ErrDeadlock) {
				t.Errorf("Do inside of fn: %v, want ErrDeadlock", err)
			}
		}
		testkit.WantIs(t, "Do inside of the fn of another key", testkit.ResultOf(through(ctx)), engine.ErrDeadlock)
		return []byte("outer"), nil
	})
	if string(value) != "outer" || err != nil {
		t.Errorf("%q, %v", value, err)
	}
	if value, shared, err := g.Do(inner, "a", returns("later")); string(value) != "outer" || !shared || err != nil {
		t.Errorf("Do after fn, with its context: %q, %v, %v; want the value", value, shared, err)
	}
}

// With a NameMapper the value stands beside the key that the lock has.
func TestNameMapper(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	prefix := func(name string) string { return "app:" + name }
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.NameMapper = prefix })
	g, err := flight.New(e, newClient(t, server), flight.Options{Keep: time.Hour, NameMapper: prefix})
	testkit.Must(t, err)
	wantValue(t, g, "a", "one", "one")
	wantValue(t, g, "a", "two", "one")
	if value := server.MustDo("GET", "app:flight:{a}:value").Text; value != "one" {
		t.Errorf("the value in Redis is %q", value)
	}
	testkit.Must(t, g.Forget(testkit.Soon(t), "a"))
	wantValue(t, g, "a", "two", "two")
}

// In a cluster the lock and the value of each key are in the same hash slot.
func TestKeysInACluster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 1, 0)
	e := testkit.Join(t, c)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: c.Addrs(), DisableCache: true})
	testkit.Must(t, err)
	t.Cleanup(client.Close)
	g, err := flight.New(e, client, flight.Options{Keep: time.Hour})
	testkit.Must(t, err)
	for _, key := range []string{"", "{", "}", "{}", "%", "a"} {
		wantValue(t, g, key, "x"+key, "x"+key)
		wantValue(t, g, key, "other", "x"+key)
	}
}

// What fn does besides returning reaches all callers, and nobody waits for ever.
// While the hash slot of a key is on its way to another node of a cluster, its value waits for that.
func TestAValueWaitsForItsHashSlot(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 2, 0)
	slot, to := c.Slot("flight:{k}"), c.Nodes[0]
	if c.NodeOf(slot) == to {
		to = c.Nodes[1]
	}
	g, err := flight.New(testkit.Join(t, c), newClient(t, c.Nodes[0]), flight.Options{Keep: time.Hour})
	testkit.Must(t, err)
	_, _, err = g.Do(testkit.Soon(t), "k", func(context.Context) ([]byte, error) {
		move := c.BeginMove(slot, to)
		move.Keys(1) // the lock has gone, and the value is nowhere
		time.AfterFunc(200*time.Millisecond, move.Complete)
		return []byte("one"), nil
	})
	if err != nil {
		t.Error(err)
	}
	wantValue(t, g, "k", "two", "one")
}

func TestFnThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	g, _ := newGroup(t, server, flight.Options{Keep: time.Hour})
	open, failed := make(chan struct{}), errors.New("no page")
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			defer func() {
				err, _ := recover().(error) // with the stack of fn, for the caller's says nothing
				if !errors.Is(err, failed) || !strings.Contains(err.Error(), "no page") || !strings.Contains(err.Error(), t.Name()) {
					t.Errorf("a caller recovered %v", err)
				}
			}()
			_, _, err := g.Do(testkit.Soon(t), "panic", func(context.Context) ([]byte, error) { <-open; panic(failed) })
			t.Errorf("a caller got %v", err)
		})
	}
	redistest.Await(t, "both to share the call", func() bool { return g.Callers("panic") == 2 })
	close(open)
	wg.Wait()
	if _, _, err := g.Do(testkit.Soon(t), "exit", func(context.Context) ([]byte, error) { runtime.Goexit(); return nil, nil }); err == nil {
		t.Error("a call whose goroutine ended has no error")
	}
	wantValue(t, g, "panic", "one", "one")
	wantValue(t, g, "exit", "one", "one")
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e, client := testkit.Connect(t, server.Addr()), newClient(t, server)
	for what, refused := range map[string]func() (*flight.Group, error){
		"no engine": func() (*flight.Group, error) { return flight.New(nil, client, flight.Options{Keep: time.Second}) },
		"no client": func() (*flight.Group, error) { return flight.New(e, nil, flight.Options{Keep: time.Second}) },
		"no Keep":   func() (*flight.Group, error) { return flight.New(e, client, flight.Options{}) },
		"microseconds": func() (*flight.Group, error) {
			return flight.New(e, client, flight.Options{Keep: 1500 * time.Microsecond})
		},
		"negative lengths": func() (*flight.Group, error) {
			return flight.New(e, client, flight.Options{Keep: time.Second, MaxBytes: -1})
		},
	} {
		if _, err := refused(); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
}
