package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/scripts"
)

// mustNotOpen checks that Open fails soon with an error of the class that has all the words. On a busy machine the answer that says why
// may be late: then it is asked again.
func mustNotOpen(t *testing.T, opts engine.Options, class error, words ...string) error {
	t.Helper()
	began := time.Now()
	e, err := engine.Open(testkit.Soon(t), opts)
	for range 5 {
		if errors.Is(err, class) || errors.Is(err, engine.ErrRefused) || !errors.Is(err, engine.ErrUnavailable) {
			break
		}
		began = time.Now()
		e, err = engine.Open(testkit.Soon(t), opts)
	}
	if err == nil {
		t.Error("Open succeeded")
		e.Close()
		return nil
	}
	if !errors.Is(err, class) || !errors.Is(err, engine.ErrUnavailable) && class != engine.ErrInvalid {
		t.Errorf("Open: %v, want %v", err, class)
	}
	testkit.Mentions(t, err, words...)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("Open failed only after %v", took)
	}
	return err
}

// lateContext has a deadline, and has not ended by it yet.
type lateContext struct {
	context.Context
	deadline time.Time
}

func (c lateContext) Deadline() (time.Time, bool) { return c.deadline, true }

func TestFaultOpenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	t.Run("without a server", func(t *testing.T) {
		const addr = "127.0.0.1:1" // a port that was free a moment ago may be somebody's
		mustNotOpen(t, testkit.OptionsFor(addr), engine.ErrNotSent, addr, "redis-server running", "Options.Redis.InitAddress")
		mustNotOpen(t, testkit.OptionsFor("127.0.0.1"), engine.ErrNotSent, "127.0.0.1", "host:port", "ParseURL")
		mustNotOpen(t, testkit.OptionsFor("redis://127.0.0.1:1"), engine.ErrInvalid, "host:port", "ParseURL")
	})
	t.Run("with a server that is full", func(t *testing.T) {
		server := redistest.Start(t)
		server.MustDo("CONFIG", "SET", "maxclients", "1")
		mustNotOpen(t, testkit.OptionsFor(server.Addr()), engine.ErrRefused, "maxclients")
	})
	t.Run("with a server in protected mode", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		testkit.Must(t, err)
		defer listener.Close()
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte("-DENIED Redis is running in protected mode\r\n")) // as it does to connections from elsewhere
				c.Close()
			}
		}()
		mustNotOpen(t, testkit.OptionsFor(listener.Addr().String()), engine.ErrRefused, "protected mode")
	})
	t.Run("with a server that does not answer", func(t *testing.T) {
		server := redistest.Start(t)
		server.Freeze()
		defer server.Thaw()
		mustNotOpen(t, testkit.OptionsFor(server.Addr()), engine.ErrUnavailable, server.Addr(), "no answer within")
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		if _, err := engine.Open(ctx, testkit.OptionsFor(server.Addr())); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Open with a context that ends: %v", err)
		}
	})
	t.Run("with an answer that is lost: the server is not asked once more, for what it is", func(t *testing.T) {
		server := redistest.Start(t)
		proxy := redistest.NewProxy(t, server.Addr())
		proxy.SwallowReply(redistest.Swallow{Match: "SCRIPT", Times: -1})
		mustNotOpen(t, testkit.OptionsFor(proxy.Addr()), engine.ErrUnavailable, proxy.Addr())
		if stats := server.MustDo("INFO", "commandstats").Text; strings.Contains(stats, "cmdstat_role:") {
			t.Error("it was asked for its ROLE")
		}
	})
	t.Run("with a deadline that the client sees before the context ends", func(t *testing.T) {
		_, err := engine.Open(lateContext{context.Background(), time.Now()}, testkit.OptionsFor(redistest.Start(t).Addr()))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Open: %v, want the context's error", err)
		}
	})
	t.Run("with something that is no Redis", func(t *testing.T) {
		mustNotOpen(t, testkit.OptionsFor(notRedis(t)), engine.ErrUnavailable, "127.0.0.1", ": the server broke the protocol")
	})
	t.Run("with two servers that are no cluster", func(t *testing.T) {
		opts := testkit.OptionsFor(redistest.Start(t).Addr())
		opts.Redis.InitAddress = append(opts.Redis.InitAddress, redistest.Start(t).Addr())
		mustNotOpen(t, opts, engine.ErrRefused, "name one server")
	})
	t.Run("with a server in place of a sentinel", func(t *testing.T) {
		opts := testkit.OptionsFor(redistest.Start(t).Addr())
		opts.Redis.Sentinel.MasterSet = redistest.MasterName
		mustNotOpen(t, opts, engine.ErrRefused, "check Redis.Sentinel.MasterSet", "sentinels")
	})
	t.Run("with a sentinel that wants a password", func(t *testing.T) {
		opts := testkit.OptionsFor(redistest.Start(t, "--requirepass", "secret").Addr())
		opts.Redis.Sentinel.MasterSet = redistest.MasterName
		mustNotOpen(t, opts, engine.ErrRefused, "set Redis.Password", "Redis.Sentinel.Password for the sentinels")
	})
	t.Run("with a wrong URL", func(t *testing.T) {
		for _, url := range []string{
			"redis://user:" + canary + "@host:63x9/0", "redis://:" + canary + "@host/x", "http://:" + canary + "@host", canary,
			"redis://:" + canary + "%zz@host", "unix://:" + canary,
		} {
			mustNotParse(t, url, "redis://user:password@host:port/db")
		}
		for url, says := range map[string]string{
			"127.0.0.1:6379":                                            "no scheme: begin it with redis://",
			"localhost:6379":                                            "no scheme: begin it with redis://",
			"localhost":                                                 "no scheme: begin it with redis://",
			"http://:" + canary + "@host":                               "its scheme is none of redis, rediss",
			"redis://:a@" + canary + ":c/d@host":                        ": as %3A, / as %2F, @ as %40",
			"redis://:" + canary + "%@host":                             "in a password write % as %25",
			"redis://:#" + canary + "@host:6379":                        "%23",
			"redis://:6#" + canary + "@host":                            "%23",
			"redis://host:6379/0#" + canary:                             "%23",
			"redis://:6380?" + canary + "@host":                         "%3F",
			"redis://host?datbase=" + canary:                            "client_name, db, dial_timeout",
			"redis://host?db=1;" + canary:                               "parameters cannot be read",
			"redis:" + canary + "@host:6379":                            "no scheme: begin it with redis://",
			"unix://" + canary + "/redis.sock":                          "unix:///path",
			"redis://:" + canary + "@host?dial_timeout=" + canary:       "dial_timeout: want a time with its unit",
			"redis://" + canary + "::1:6380":                            "as redis-1:6379 or [::1]:6379",
			"redis://:" + canary + "@fe80::1:6380":                      "as redis-1:6379 or [::1]:6379",
			"redis://:" + canary + "@a:6380,b:6380":                     "and others as addr=",
			"redis://:" + canary + "@a:6380,b":                          "and others as addr=",
			"redis://:" + canary + "@host:70000":                        "a port from 1 to 65535",
			"redis://:" + canary + "@host:0":                            "a port from 1 to 65535",
			"redis://:" + canary + "@host:":                             "a port from 1 to 65535",
			"redis://:" + canary + "@host/cache":                        "the number of a database",
			"redis://:" + canary + "@host/0/":                           "the number of a database",
			"redis://:" + canary + "@host/-1":                           "the number of a database",
			"redis://:" + canary + "@host/?db=":                         "db: want the number",
			"redis://:" + canary + "@host/1?db=2":                       "db more than once",
			"redis://:" + canary + "@host?db=1&db=1":                    "db more than once",
			"redis://:" + canary + "@host?write_timeout=0s":             "write_timeout: want a time",
			"redis://:" + canary + "@host?protocol=4":                   "protocol: want 2 or 3",
			"redis://:" + canary + "@host?max_retries=3":                "max_retries: want 0",
			"redis://:" + canary + "@host?client_cache=1":               "client_cache: want 0",
			"redis://:" + canary + "@host?client_name=":                 "client_name: want a name",
			"redis://:" + canary + "@host?master_set=":                  "master_set: want a name",
			"redis://:" + canary + "@host?skip_verify=true":             "skip_verify needs rediss://",
			"redis://:" + canary + "@host?sentinel_tls=false":           "sentinel_tls needs master_set",
			"unix:///run/redis.sock?addr=host:1":                        "addr is not for unix://",
			" redis://:" + canary + "@host":                             "white space around it",
			"redis://:" + canary + "@host\n":                            "white space around it",
			"redis://host:7000?addr=" + canary:                          "host:port for each addr",
			"redis://host:7000?addr=:7000":                              "host:port for each addr",
			"redis://host:7000?addr=host2:7000&addr=u:" + canary + "@h": "host:port for each addr",
		} {
			mustNotParse(t, url, says)
		}
	})
}

// mustNotParse asserts that a URL is refused, in words that do not quote it.
func mustNotParse(t *testing.T, url, says string) {
	t.Helper()
	_, err := engine.ParseURL(url)
	if !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("ParseURL(%q): %v, want ErrInvalid", url, err)
		return
	}
	testkit.Mentions(t, err, says)
	mustNotShow(t, "the error about a URL", err.Error())
}

// notRedis listens and answers every line as a web server would.
func notRedis(t *testing.T) string {
	t.Helper()
	return testkit.Serve(t, func(client net.Conn) {
		client.Read(make([]byte, 1024))
		client.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	})
}

// canary is a password that must turn up nowhere.
const canary = "canary-7f3a9c"

func mustNotShow(t *testing.T, what string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Errorf("%s shows the password: %s", what, text)
		}
	}
}

// shown is a value in every way in which it can get into a log.
func shown(v any) []string {
	var all []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%s", "%x", "%d"} {
		all = append(all, fmt.Sprintf(verb, v))
	}
	if text, err := json.Marshal(v); err == nil {
		all = append(all, string(text))
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("shown", "it", v)
	return append(all, log.String())
}

// A password turns up in no error, log, option or statistic, whether it is right or wrong, the user known or
// not, and also while the server goes and comes and changes its mind.
func TestFaultPasswordIsNeverShown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--requirepass", canary)
	server.MustDo("ACL", "SETUSER", "locks", "on", ">"+canary, "~*", "&*", "+@all")
	proxy := redistest.NewProxy(t, server.Addr())
	var log lockedBuffer
	opts := func(user, password string) engine.Options {
		o := testkit.OptionsFor(proxy.Addr())
		o.Redis.Username, o.Redis.Password = user, password
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		return o
	}
	show := func(what string, v any) { mustNotShow(t, what, shown(v)...) }

	for _, wrong := range []engine.Options{opts("", canary+"-wrong"), opts("locks", canary+"-wrong"), opts("nobody", canary)} {
		show("Options", wrong)
		show("the error of a wrong password", mustNotOpen(t, wrong, engine.ErrRefused, "Redis.Username and Redis.Password"))
	}
	quotes := testkit.OptionsFor(testkit.Serve(t, func(client net.Conn) {
		for asked := make([]byte, 4096); ; {
			n, err := client.Read(asked)
			if err != nil {
				return
			}
			io.WriteString(client, strings.Repeat("-ERR unknown command 'AUTH', with args beginning with: 'locks' '"+canary+"' \r\n", bytes.Count(asked[:n], []byte("*"))))
		}
	}))
	quotes.Redis.Username, quotes.Redis.Password = "locks", canary
	show("the error of a server that does not know AUTH", mustNotOpen(t, quotes, engine.ErrRefused, "unknown command 'AUTH'").Error())
	show("the error of no password", mustNotOpen(t, opts("", ""), engine.ErrRefused, "set Redis.Password"))

	url, err := engine.ParseURL("redis://locks:" + canary + "@" + server.Addr())
	testkit.Must(t, err)
	show("ParseURL", url)
	o := opts("locks", canary)
	e := testkit.MustOpen(t, func(ctx context.Context) (*engine.Engine, error) { return engine.Open(ctx, o) })
	defer e.Close()
	h := testkit.MustLock(t, e.Mutex("held"))
	show("Engine", e)
	show("Stats", e.Stats())
	show("Hold", h)

	// The password is changed behind the engine's back, and changed back.
	server.MustDo("ACL", "SETUSER", "locks", "resetpass", ">another")
	server.MustDo("CLIENT", "KILL", "USER", "locks")
	redistest.Await(t, "a refusal", func() bool {
		_, err = e.Mutex("another").TryLock(testkit.Soon(t))
		show("the error of a changed password", err)
		return errors.Is(err, engine.ErrRefused) || errors.Is(err, engine.ErrNotSent)
	})
	server.MustDo("ACL", "SETUSER", "locks", ">"+canary)
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("another")))
	proxy.SwallowReply(redistest.Swallow{Match: testkit.Digest(scripts.Acquire)}) // breaks the link, which is logged
	testkit.MustUnlock(t, testkit.MustLock(t, e.Mutex("another")))
	testkit.MustUnlock(t, h)
	mustNotShow(t, "the log", log.String())
	if log.String() == "" {
		t.Error("nothing was logged")
	}
}

// lockedBuffer takes the lines of many goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
