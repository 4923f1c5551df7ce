package faults_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redisnet"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// hostile are what a server never says, at least not there.
func hostile(tb testing.TB) []string {
	kinds := []string{
		"+OK\r\n", "+PONG\r\n", "+QUEUED\r\n", "+\r\n", "-ERR x\r\n", "-BUSY x\r\n", "-LOADING x\r\n", "-MOVED x\r\n", "-ASK\r\n", "-REDIRECT\r\n",
		":1\r\n", ":\r\n", ":x\r\n", ":99999999999999999999999\r\n", "$-1\r\n", "$-5\r\n", "$5\r\nhello\r\n", "$5\r\nhelloxx", "$999999999999\r\n", "$1000000000\r\n", "$?\r\n;4\r\nhell\r\n;0\r\n",
		"*0\r\n", "*-1\r\n", "*-3\r\n", "*1000000000\r\n", "*99999999\r\n", "*?\r\n:1\r\n.\r\n", "*1\r\n*-7\r\n", "*2\r\n:1\r\n", "%1\r\n", "%-1\r\n", "%1000000000\r\n", "~-1\r\n", "~0\r\n", "~99999999\r\n",
		">0\r\n", ">-1\r\n", ">1\r\n", ">2\r\n", ">99999999\r\n", ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", ">3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:1\r\n", ">2\r\n$10\r\ninvalidate\r\n*-9\r\n",
		">1\r\n$9\r\nsubscribe\r\n", "(", "(1\r\n", "=", "=-1\r\n", "=3\r\ntxt\r\n", "|", "|1\r\n", "|-1\r\n", "|1000000000\r\n", ",", ",1\r\n", "#", "#t\r\n", "#tttttt\r\n", "_", "_\r\n", "_xxx\r\n", "!-1\r\n", "!3\r\nERR\r\n", "!5\r\nMOVED\r\n", ";4\r\n", ".\r\n",
		"\r\n", "\x00", "HTTP/1.1 400 Bad Request\r\n\r\n", "+OK", ":1", "$5\r\nhe", strings.Repeat("*1\r\n", 200_000), strings.Repeat(">1\r\n", 1000), strings.Repeat("|1\r\n", 1000), strings.Repeat("+", 300<<10), strings.Repeat("1", 300<<10),
		"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n0\r\n", "*2\r\n$4\r\npong\r\n$0\r\n\r\n", strings.Repeat(":1\r\n", 1000), "$1048577\r\n",
	}
	const signs = "+-:$*%~>(|,#_=!;.?\r\n0123456789x"
	r := rand.New(rand.NewPCG(7, 11))
	for range testkit.Times(tb, 1000, 8) { // some of them, changed by chance
		k := []byte(kinds[r.IntN(len(kinds))])
		k = k[:min(len(k), 64)]
		for range 1 + r.IntN(3) {
			k[r.IntN(len(k))] = signs[r.IntN(len(signs))]
		}
		kinds = append(kinds, string(k))
	}
	return kinds
}

// mostMemory is what one of these may cost, with the connections that are made anew: each has buffers of 256 KB.
const mostMemory = 48 << 20

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// hostility is one test of what a server says. It runs beside no other: it looks at memory.
type hostility struct {
	*virtual.World
	l     *redisnet.Link
	e     *engine.Engine
	names int    // that were used
	only  string // what is said begins with it
}

// connect finds a dead link fast.
func (h *hostility) connect(change ...func(*engine.Options)) {
	h.e, h.l = h.Connect(append(change, func(o *engine.Options) {
		o.Redis.ConnWriteTimeout, o.Redis.Dialer.KeepAlive = time.Second, 100*time.Millisecond
	})...)
}

// works waits until the engine gives locks again.
func (h *hostility) works(what string) {
	h.T.Helper()
	redistest.Await(h.T, "a lock after "+strconv.Quote(what[:min(len(what), 40)]), func() bool {
		h.names++
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		hold, err := h.e.Mutex("name:" + strconv.Itoa(h.names)).Lock(ctx)
		return err == nil && hold.Unlock(ctx) == nil
	})
}

// stillWaits returns the call of Lock, or another one if it has ended. It may end in two ways: a waiter asks once more when it is
// subscribed, and what the server says at that moment is the answer to its question, a refusal or even a grant.
func (h *hostility) stillWaits(waiter *futures.Future[*engine.Hold]) *futures.Future[*engine.Hold] {
	h.T.Helper()
	hold, err := waiter.Result()
	switch {
	case errors.Is(err, futures.ErrPending):
		return waiter
	case err == nil:
		_ = hold.Unlock(context.Background())
	case !errors.Is(err, engine.ErrRefused):
		h.T.Fatalf("the lock that waited: %v", err)
	}
	return h.e.Mutex("taken").LockAsync(context.Background())
}

// each does it with everything that is hostile, and looks at the memory that each takes.
func (h *hostility) each(do func(what string)) {
	for _, what := range hostile(h.T) {
		if !strings.HasPrefix(what, h.only) {
			continue
		}
		before := allocated()
		do(what)
		if took := allocated() - before; took > mostMemory && h.only == "" {
			h.T.Errorf("%q took %d MB", what[:min(len(what), 40)], took>>20)
		}
	}
}

// Whatever a server says ends at most the connection: the process lives, its memory is bounded, and the engine works again.
func TestBytesOfAServerEndNoMoreThanAConnection(t *testing.T) {
	run := func(name string, test func(h *hostility)) {
		t.Run(name, func(t *testing.T) {
			virtual.Test(t, func(w *virtual.World) { test(&hostility{World: w}) })
		})
	}
	run("to a new connection", func(h *hostility) {
		h.l = redisnet.NewLink("client", h.Server)
		opts := testkit.OptionsFor("redis:6379", func(o *engine.Options) { o.Redis.ForceSingleClient = true })
		h.each(func(what string) {
			opts.Redis.DialCtxFn = func(ctx context.Context, addr string, dialer *net.Dialer, c *tls.Config) (net.Conn, error) {
				h.l.Down.Spoil([]byte(what))
				return h.l.Dial(ctx, addr, dialer, c)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if e, err := engine.Open(ctx, opts); err == nil {
				e.Close()
			}
		})
	})
	run("when nothing is asked", func(h *hostility) {
		h.connect()
		h.works("nothing")
		h.each(func(what string) {
			h.l.Say([]byte(what))
			h.works(what)
		})
	})
	run("in place of an answer", func(h *hostility) {
		h.connect()
		h.each(func(what string) {
			h.l.Down.Spoil([]byte(what))
			h.works(what)
		})
	})
	run("while somebody listens", func(h *hostility) { h.whileSomebodyListens() })
}

// With RESP2 a connection that listens hears messages as lists. In real time this takes a tenth of a second for each.
func TestBytesToAListenerInRESP2EndNoMoreThanAConnection(t *testing.T) {
	t.Parallel()
	virtual.InRealTime(t, func(w *virtual.World) {
		h := &hostility{World: w, only: "*"}
		h.whileSomebodyListens(func(o *engine.Options) { o.Redis.AlwaysRESP2 = true })
	})
}

func (h *hostility) whileSomebodyListens(change ...func(*engine.Options)) {
	h.connect(change...)
	h.Take("taken", 24*time.Hour)
	waiter := h.e.Mutex("taken").LockAsync(context.Background())
	h.each(func(what string) {
		redistest.Await(h.T, fmt.Sprintf("a subscription, before %q", what), func() bool {
			waiter = h.stillWaits(waiter)
			return h.Listeners("taken") == 1
		})
		time.Sleep(5 * time.Millisecond) // sleeps: until the client knows that, which nobody can see: what is said before it is could be the answer to its question
		h.l.Say([]byte(what))
		h.works(what)
	})
	waiter = h.stillWaits(waiter)
	h.Free("taken")
	mustGet(h.T, waiter)
}
