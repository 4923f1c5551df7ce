package engine_test

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/enginetest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// FuzzLock: whatever the name and the options, a call gives a Hold or an error, never both, never neither.
func FuzzLock(f *testing.F) {
	f.Add("stock:7", int64(0), int64(0), uint8(0))
	f.Add("stock:7", int64(time.Minute), int64(time.Second), uint8(7))
	f.Add("", int64(9*time.Millisecond), int64(-1), uint8(3))
	f.Add("\x00\xff{}\r\n", int64(10*time.Millisecond+1), int64(1), uint8(15))
	f.Add(testkit.LongName(1024), int64(30*24*time.Hour), int64(math.MaxInt64), uint8(31))
	f.Add(testkit.LongName(1025), int64(math.MinInt64), int64(math.MinInt64), uint8(63))
	redis := enginetest.Start()
	f.Cleanup(redis.Close)
	e, err := redis.Open(f.Context(), engine.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { e.Close() })

	f.Fuzz(func(t *testing.T, name string, lease, wait int64, which uint8) {
		var opts []engine.LockOption
		if which&1 != 0 {
			opts = append(opts, engine.WithLease(time.Duration(lease)))
		}
		if which&2 != 0 {
			opts = append(opts, engine.WithWait(time.Duration(wait)))
		}
		if which&4 != 0 {
			opts = append(opts, engine.WithOwner(engine.NewOwner()))
		}
		if which&8 != 0 {
			opts = append(opts, engine.WithOwner(engine.Owner{}))
		}
		if which&16 != 0 {
			opts = append(opts, engine.LockOption{})
		}
		lock := e.Mutex(name).Lock
		if which&32 != 0 {
			lock = e.Mutex(name).TryLock
		}
		h, err := lock(t.Context(), opts...)
		checkGrant(t, name, h, err)
	})
}

// checkGrant checks what came of a lock that nobody has, and unlocks it.
func checkGrant(t *testing.T, name string, h *engine.Hold, err error) {
	t.Helper()
	if (h == nil) == (err == nil) {
		t.Fatalf("%v and %v: want one of them", h, err)
	}
	if err != nil {
		if !errors.Is(err, engine.ErrInvalid) && !errors.Is(err, engine.ErrWaitTimeout) {
			t.Errorf("the error of a free lock: %v", err)
		}
		if len(err.Error()) > 500 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		return
	}
	if h.Name() != name {
		t.Errorf("Name = %q, want %q", h.Name(), name)
	}
	if err := testkit.Patiently(h.Unlock); err != nil && time.Now().Before(h.Deadline()) {
		t.Errorf("Unlock: %v", err)
	}
}

// FuzzOpen: whatever the options, Open gives an Engine or an error that says which option, never both, never
// neither; and an engine that was opened works.
func FuzzOpen(f *testing.F) {
	f.Add(int64(0), int64(0), int64(0), int64(0), 0, 0, 0, uint8(0), false)
	f.Add(int64(time.Minute), int64(time.Hour), int64(time.Millisecond), int64(time.Second), 1, 1, 1, uint8(3), true)
	f.Add(int64(100*time.Millisecond+1), int64(1), int64(-1), int64(10*time.Millisecond), 1<<20, 1<<20, 1000, uint8(2), false)
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64), math.MaxInt, math.MaxInt, math.MaxInt32, uint8(255), true)
	f.Add(int64(math.MinInt64), int64(math.MinInt64), int64(math.MinInt64), int64(math.MinInt64), math.MinInt, math.MinInt, math.MinInt32, uint8(4), true)
	redis := enginetest.Start()
	f.Cleanup(redis.Close)

	f.Fuzz(func(t *testing.T, lease, maxHold, handoff, pollCap int64, requests, waiters, callbacks int, pubsub uint8, watch bool) {
		opts := engine.Options{
			Lease: time.Duration(lease), MaxHold: time.Duration(maxHold), HandoffTime: time.Duration(handoff), PollCap: time.Duration(pollCap),
			MaxRequests: requests, MaxWaitersPerName: waiters, Callbacks: callbacks, PubSub: engine.PubSub(pubsub), WatchLoss: watch,
		}
		_ = fmt.Sprintf("%v %+v", opts, &opts)
		refused := opts
		refused.Redis.ForceSingleClient = true
		refused.Redis.DialCtxFn = func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		e, err := engine.Open(t.Context(), refused)
		if e != nil || !errors.Is(err, engine.ErrInvalid) && !errors.Is(err, engine.ErrNotSent) {
			t.Fatalf("Open without a server = %v, %v", e, err)
		}
		e, err = redis.Open(t.Context(), opts)
		if (e == nil) == (err == nil) {
			t.Fatalf("%v and %v: want one of them", e, err)
		}
		// Under a short lease a server is taken for dead soon, as a busy machine may make it look.
		busy := lease > 0 && time.Duration(lease) < 10*time.Second
		if err != nil {
			if !errors.Is(err, engine.ErrInvalid) && !(busy && errors.Is(err, engine.ErrUnavailable)) {
				t.Errorf("Open: %v", err)
			}
			return
		}
		h, err := e.Mutex("stock:7").Lock(t.Context(), engine.WithWait(time.Second))
		if !busy {
			checkGrant(t, "stock:7", h, err)
		}
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

// FuzzParseURL: a URL makes options that have all of its parts, or an error, and the error never shows the password.
func FuzzParseURL(f *testing.F) {
	const canary = "canary7f3a"
	for _, url := range []string{
		"redis://127.0.0.1:6379", "redis://user:" + canary + "@127.0.0.1:6379/3?dial_timeout=1s&write_timeout=1s&client_name=gateway",
		"rediss://:" + canary + "@redis.example:6380", "unix:///run/redis.sock?db=1", "valkey://user:" + canary + "@[::1]:6379",
		"redis://user:" + canary + "@host:port/x", "redis://user:" + canary + "@host:6379/notanumber", "://user:" + canary + "@host",
		"redis://user:" + canary + "@%zz", "redis://user:" + canary + "\x7f@host", "http://user:" + canary + "@host",
		"redis://user:" + canary + "@host:6379?dial_timeout=" + canary, "redis://host:26379?addr=host2:26379&master_set=mymaster",
		"rediss://host:26379?master_set=mymaster&sentinel_tls=" + canary, "redis://host:7000?addr=host2:7000&addr=user:" + canary + "@host3", "user:" + canary + "@host", canary, "",
		"redis://h:" + canary + "@host:6379/", "redis:///", "redis://[fe80::1%25eth0]:6379/5?client_cache=0&max_retries=0&protocol=2", "redis://::1:6380", "redis://a:1,b:2",
		"REDISS://host?skip_verify&addr=[::1]:7000&addr=b:7000", "unix://user:" + canary + "@/run/redis.sock?db=3", "redis://user@host/%31", "redis://host/1?db=1&protocol=3",
	} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		for _, url := range []string{url, "redis://user:" + canary + "@" + url, "redis://" + canary + url, url + "?password=" + canary} {
			opts, err := engine.ParseURL(url)
			if err == nil {
				if got, want := used(opts.Redis), written(t, url); got != want {
					t.Errorf("ParseURL(%q) uses\n%s, written is\n%s", url, got, want)
				}
				continue
			}
			if !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("ParseURL(%q): %v, which is not ErrInvalid", url, err)
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("the error of %q shows the password: %v", url, err)
			}
			if opts.Redis.Password != "" || opts.Redis.InitAddress != nil {
				t.Errorf("ParseURL(%q): options and an error", url)
			}
		}
	})
}

// used shows what options have of a URL.
func used(o rueidis.ClientOption) string {
	return fmt.Sprintf("%q %q %q db %d tls %v %v times %v %v resp2 %v name %q set %q cache %v retry %v", o.Username, o.Password, o.InitAddress, o.SelectDB,
		o.TLSConfig != nil, o.TLSConfig != nil && o.TLSConfig.InsecureSkipVerify, o.Dialer.Timeout, o.ConnWriteTimeout, o.AlwaysRESP2, o.ClientName,
		o.Sentinel.MasterSet, o.DisableCache, o.DisableRetry)
}

// written shows the same as it stands in a URL that was taken. Whatever else stands there fails the test.
func written(t *testing.T, text string) string {
	u, err := url.Parse(text)
	if err != nil {
		t.Errorf("%q was taken: %v", text, err)
		return ""
	}
	o := rueidis.ClientOption{Username: u.User.Username(), InitAddress: []string{u.Path}}
	o.Password, _ = u.User.Password()
	private := u.Scheme == "rediss" || u.Scheme == "valkeys"
	if private {
		o.TLSConfig = &tls.Config{}
	}
	db := ""
	if u.Scheme != "unix" {
		o.InitAddress[0] = net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "6379"))
		if host := u.Hostname(); strings.Contains(host, ",") || strings.Contains(host, ":") != strings.HasPrefix(u.Host, "[") {
			t.Errorf("the host of %q was taken", text)
		}
		db = strings.TrimPrefix(u.Path, "/")
	}
	if u.Fragment != "" || u.Opaque != "" || u.Scheme == "unix" && u.Host != "" {
		t.Errorf("%q was taken", text)
	}
	query := u.Query()
	for name, values := range query {
		if len(values) != 1 && name != "addr" {
			t.Errorf("%q has %s %d times", text, name, len(values))
		}
		value := values[0]
		switch name {
		case "addr":
			o.InitAddress = append(o.InitAddress, values...)
		case "db":
			if db = cmp.Or(db, value); db != value {
				t.Errorf("%q has two databases", text)
			}
		case "dial_timeout":
			o.Dialer.Timeout, err = time.ParseDuration(value)
		case "write_timeout":
			o.ConnWriteTimeout, err = time.ParseDuration(value)
		case "client_name":
			o.ClientName = value
		case "master_set":
			o.Sentinel.MasterSet = value
		case "protocol":
			o.AlwaysRESP2 = value == "2"
		case "client_cache":
			o.DisableCache = true
		case "max_retries":
			o.DisableRetry = true
		case "skip_verify":
			if private {
				o.TLSConfig.InsecureSkipVerify, err = strconv.ParseBool(cmp.Or(value, "true"))
			} else {
				err = errors.ErrUnsupported
			}
		case "sentinel_tls":
			_, err = strconv.ParseBool(value)
		default:
			err = errors.ErrUnsupported
		}
		if err != nil {
			t.Errorf("%q was taken, %s=%s: %v", text, name, value, err)
		}
	}
	if db != "" {
		if o.SelectDB, err = strconv.Atoi(db); err != nil {
			t.Errorf("%q was taken: %v", text, err)
		}
	}
	return used(o)
}

// FuzzClusterAnswer: whatever a server says of the nodes of its cluster (CLUSTER SLOTS, and CLUSTER SHARDS from version 8 on), Open gives an
// error that says that Redis cannot serve. The server takes no scripts.
func FuzzClusterAnswer(f *testing.F) {
	f.Add([]byte{}, false)
	f.Add([]byte{1, 5, 1, 0, 1, 1, 0, 3, 0, 1}, false)                // a part of what is right
	f.Add([]byte{1, 2, 3, 12, 15, 14, 13, 0, 6, 19, 17, 18, 9}, true) // and of what is right in version 8
	f.Fuzz(func(t *testing.T, shape []byte, shards bool) {
		said := value(&shape, 0)
		version := "7.0.15"
		if shards {
			version = "8.0.0"
		}
		opts := engine.Options{}
		opts.Redis.InitAddress = []string{"a:7000", "b:7000"}[:1+len(said)%2]
		opts.Redis.DialCtxFn = func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				defer far.Close()
				for in := bufio.NewReader(far); ; {
					answer := "-ERR no\r\n"
					switch command := resp.Read(in); {
					case command.Lost() != nil || len(command.Items) == 0:
						return
					case command.Items[0].Text == "HELLO":
						answer = "%2\r\n+version\r\n+" + version + "\r\n+proto\r\n:3\r\n"
					case command.Items[0].Text == "CLUSTER":
						answer = said
					}
					if _, err := far.Write([]byte(answer)); err != nil {
						return
					}
				}
			}()
			return near, nil
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		e, err := engine.Open(ctx, opts)
		if e != nil || !errors.Is(err, engine.ErrUnavailable) || ctx.Err() != nil {
			t.Errorf("told %q, Open = %v, %v; want ErrUnavailable", said, e, err)
		}
	})
}

// leaves are what value knows besides lists and maps.
var leaves = strings.Fields(`_ :0 :1 :100 :16383 :16384 :-1 :7000 :70000 +a +? +:: +slots +nodes +endpoint +port +role +master +replica +health +online +id +ip +hostname -ERR ,1.5 #t`)

// value makes a value of RESP3 of a shape.
func value(shape *[]byte, depth int) string {
	if len(*shape) == 0 {
		return "*0\r\n"
	}
	b := int((*shape)[0])
	*shape = (*shape)[1:]
	if n := b % 8; b < 48 && depth < 6 || depth == 0 {
		begin, count := "*", n
		if b/8%3 == 2 {
			begin, count = "%", 2*n
		}
		said := fmt.Sprintf("%s%d\r\n", begin, n)
		for range count {
			said += value(shape, depth+1)
		}
		return said
	}
	if b%5 == 0 {
		return "$0\r\n\r\n"
	}
	return leaves[b%len(leaves)] + "\r\n"
}
