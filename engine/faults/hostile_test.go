package faults_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/futures"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// spoiler stands between clients and a server, and says things to clients that the server did not say.
type spoiler struct {
	listener net.Listener
	server   string
	running  sync.WaitGroup

	mu      sync.Mutex        // guards the rest
	clients map[net.Conn]bool // whether it was told that it has subscribed
	first   []byte            // goes to a new client in place of the server's first bytes
	instead []byte            // goes to the next client that is answered, in place of the answer
	closed  bool

	rewrite func(answer []byte) []byte // of the server's; nil: as it is
}

func newSpoiler(t *testing.T, server string) *spoiler {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &spoiler{listener: listener, server: server, clients: make(map[net.Conn]bool)}
	s.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			s.running.Go(func() { s.serve(client) })
		}
	})
	t.Cleanup(s.close)
	return s
}

func (s *spoiler) close() {
	s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for client := range s.clients {
		client.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

func (s *spoiler) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", s.server)
	if err != nil {
		return
	}
	defer server.Close()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.clients[client] = false
	first, rewrite := s.first, s.rewrite
	s.mu.Unlock()
	s.running.Go(func() {
		_, _ = io.Copy(server, client)
		server.Close()
	})
	defer func() {
		s.mu.Lock()
		delete(s.clients, client)
		s.mu.Unlock()
	}()
	b := make([]byte, 64<<10)
	var told []byte // the end of what the client was told: a confirmation may come in two pieces
	for {
		n, err := server.Read(b)
		if err != nil {
			return
		}
		answer := b[:n]
		if rewrite != nil {
			answer = rewrite(answer)
		}
		if first != nil {
			answer, first = first, nil
		}
		s.mu.Lock()
		if s.instead != nil {
			answer, s.instead = s.instead, nil
		}
		_, err = client.Write(answer)
		told = append(told, answer...)
		if _, here := s.clients[client]; here && bytes.Contains(told, []byte("\r\nsubscribe\r\n")) {
			s.clients[client] = true
		}
		told = told[max(0, len(told)-32):]
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// listens reports whether a client was told that it has subscribed. The server knows that before: what is said then could
// overtake the confirmation, and be the answer to the question.
func (s *spoiler) listens() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, told := range s.clients {
		if told {
			return true
		}
	}
	return false
}

// say tells every client something that nobody asked for.
func (s *spoiler) say(what []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for client := range s.clients {
		_, _ = client.Write(what)
	}
}

func (s *spoiler) set(first, instead []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first, s.instead = first, instead
}

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
	for range testkit.Times(tb, 1000, 20) { // some of them, changed by chance
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

// hostility is one test of what a server says, in a process of its own.
type hostility struct {
	*testing.T
	server *redistest.Server
	names  int // that were used
}

func short(o *engine.Options) {
	o.Redis.ConnWriteTimeout, o.Redis.Dialer.KeepAlive, o.Redis.Dialer.Timeout = 200*time.Millisecond, 100*time.Millisecond, 300*time.Millisecond
}

// open tries more than once: on a busy machine 200 ms are short for a first answer.
func (h *hostility) open(change ...func(*engine.Options)) (*spoiler, *engine.Engine) {
	s := newSpoiler(h.T, h.server.Addr())
	opts := testkit.OptionsFor(s.listener.Addr().String(), append(change, testkit.LogTo(h), short)...)
	var e *engine.Engine
	redistest.Await(h, "an engine", func() (open bool) {
		var err error
		e, err = engine.Open(h.Context(), opts)
		return err == nil
	})
	h.Cleanup(func() { e.Close() })
	return s, e
}

// works waits until the engine gives locks again.
func (h *hostility) works(e *engine.Engine, what string) {
	h.Helper()
	redistest.Await(h, "a lock after "+strconv.Quote(what[:min(len(what), 40)]), func() bool {
		h.names++
		ctx, cancel := context.WithTimeout(h.Context(), time.Second)
		defer cancel()
		hold, err := e.Mutex("name:" + strconv.Itoa(h.names)).Lock(ctx)
		return err == nil && hold.Unlock(ctx) == nil
	})
}

// stillWaits returns the call of Lock, or another one if it has ended. It may end in two ways: a waiter asks once more when it is
// subscribed, and what the server says at that moment is the answer to its question, a refusal or even a grant.
func (h *hostility) stillWaits(e *engine.Engine, waiter *futures.Future[*engine.Hold]) *futures.Future[*engine.Hold] {
	h.Helper()
	select {
	case <-waiter.Done():
	default:
		return waiter
	}
	if hold, err := waiter.Result(); err == nil {
		_ = hold.Unlock(h.Context())
	} else if !errors.Is(err, engine.ErrRefused) {
		h.Fatalf("the lock that waited: %v", err)
	}
	return e.Mutex("taken").LockAsync(h.Context())
}

// each does it with everything that is hostile, and looks at the memory that each takes.
func (h *hostility) each(do func(what string)) {
	for _, what := range hostile(h) {
		before := allocated()
		do(what)
		if took := allocated() - before; took > mostMemory {
			h.Errorf("%q took %d MB", what[:min(len(what), 40)], took>>20)
		}
	}
}

// Whatever a server says ends at most the connection: the process lives, its memory is bounded, and the engine works again.
func TestBytesOfAServerEndNoMoreThanAConnection(t *testing.T) {
	t.Parallel()
	run := func(name string, test func(h *hostility)) {
		t.Run(name, apart(func(t *testing.T) { test(&hostility{T: t, server: redistest.Start(t)}) }))
	}
	run("to a new connection", func(h *hostility) {
		s := newSpoiler(h.T, h.server.Addr())
		opts := testkit.OptionsFor(s.listener.Addr().String(), short)
		h.each(func(what string) {
			s.set([]byte(what), nil)
			ctx, cancel := context.WithTimeout(h.Context(), 400*time.Millisecond)
			defer cancel()
			if e, err := engine.Open(ctx, opts); err == nil {
				e.Close()
			}
		})
		s.set(nil, nil)
	})
	run("when nothing is asked", func(h *hostility) {
		s, e := h.open()
		h.works(e, "nothing")
		h.each(func(what string) {
			s.say([]byte(what))
			h.works(e, what)
		})
	})
	run("in place of an answer", func(h *hostility) {
		s, e := h.open()
		h.each(func(what string) {
			s.set(nil, []byte(what))
			h.works(e, what)
		})
	})
	for _, resp2 := range []bool{false, true} {
		run(fmt.Sprintf("while somebody listens, in RESP2 %v", resp2), func(h *hostility) {
			s, e := h.open(func(o *engine.Options) { o.Redis.AlwaysRESP2 = resp2 })
			outside := testkit.NewOutsider(h.T, h.server.Addr())
			outside.Take("taken", time.Hour)
			waiter := e.Mutex("taken").LockAsync(h.Context())
			h.each(func(what string) {
				redistest.Await(h, fmt.Sprintf("a subscription, before %q", what), func() bool {
					waiter = h.stillWaits(e, waiter)
					return h.server.Subscriptions().Count() == 1 && s.listens()
				})
				s.say([]byte(what))
				h.works(e, what)
			})
			waiter = h.stillWaits(e, waiter)
			outside.Free("taken")
			mustGet(h.T, waiter)
		})
	}
}
