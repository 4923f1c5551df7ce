package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	keys "github.com/wheellock/wheellock/scripts"
)

// standInLine has engines with these identities wait for a mutex, one after the other, and returns their ids.
func standInLine(t *testing.T, server *redistest.Server, name string, whos ...string) (ids []string) {
	t.Helper()
	for i, who := range whos {
		e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Identity = who })
		e.Mutex(name).LockAsync(context.Background())
		redistest.Await(t, who+" to stand in line", func() bool { return places(server, name) == i+1 })
		ids = append(ids, e.ID())
	}
	return ids
}

// places counts the places in the line for a mutex.
func places(server *redistest.Server, name string) (n int) {
	for _, member := range server.MustDo("ZRANGE", keys.LineKey(name), "0", "-1").Texts() {
		if member != "since" {
			n++
		}
	}
	return n
}

// mustHideCodes fails if an output has a code of the line, by which an engine is given the lock.
func mustHideCodes(t *testing.T, server *redistest.Server, name string, outputs ...string) {
	t.Helper()
	for _, member := range server.MustDo("ZRANGE", keys.LineKey(name), "0", "-1").Texts() {
		owner, code, _ := strings.Cut(member, " ")
		for _, output := range outputs {
			if len(code) > 1 && strings.Contains(output, code) {
				t.Errorf("the code of %s stands in\n%s", owner, output)
			}
		}
	}
}

// show prints the engines in line in their order, and top counts them.
func TestShowAndTopOfALine(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	for _, name := range []string{"stock:7", "{stock}:7"} {
		testkit.MustLock(t, e.Mutex(name))
		ids := standInLine(t, server, name, "shop@pod-1:1", "mail@pod-9:1", "shop@pod-2:1")
		text, _ := inside(t, 0, "show", name, "--redis", server.URL())
		before := -1
		for _, want := range []string{"waiting    3 processes\n", "place 1    shop@pod-1:1\n", "place 2    mail@pod-9:1\n", "place 3    shop@pod-2:1\n"} {
			at := strings.Index(text, want)
			if at <= before {
				t.Errorf("show %s has no %q there:\n%s", name, want, text)
			}
			before = at
		}
		json, _ := inside(t, 0, "show", name, "--json", "--redis", server.URL())
		l := decode[row](t, wheellock(t, "show", name, "--json", "--redis", server.URL()).want(t, 0))[0]
		if len(l.Queue) != 3 || l.Queued != 3 || l.Waiting != 3 {
			t.Fatalf("show %s: %+v, want three in line", name, l)
		}
		for i, place := range l.Queue {
			if id, _, _ := strings.Cut(place.ID, ":"); id != ids[i] || strings.Contains(place.ID, " ") {
				t.Errorf("place %d of %s is %q, want %s", i+1, name, place.ID, ids[i])
			}
		}
		mustHideCodes(t, server, name, text, json)
		if _, holder, _ := strings.Cut(text, "held by"); strings.Count(holder, "\n") != 4+2+3 {
			t.Errorf("show %s: want four lines of its holder, lease and waiting, and one for each place:\n%s", name, text)
		}
	}
	top, _ := inside(t, 0, "top", "--count", "1", "--redis", server.URL())
	if !strings.Contains(top, "held=2 waiting=6 ") {
		t.Errorf("top says %q", top)
	}
	mustHideCodes(t, server, "stock:7", top)
}

// While a client of Redisson holds the lock, the first engine in line listens to the lock's channel, too, and is counted once. A waiter of
// Redisson listens there, and has no place.
func TestShowOfALineBehindRedisson(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	outsider := testkit.NewOutsider(t, server.Addr())
	outsider.Take("stock:7", time.Hour)
	standInLine(t, server, "stock:7", "shop@pod-1:1", "shop@pod-2:1")
	listeners := func(want int64) {
		t.Helper()
		redistest.Await(t, fmt.Sprintf("%d to listen to the channel", want), func() bool {
			return server.MustDo("PUBSUB", "NUMSUB", keys.LockChannel("stock:7")).Items[1].Int == want
		})
	}
	is := func(show, top string) {
		t.Helper()
		if text, _ := inside(t, 0, "show", "stock:7", "--redis", server.URL()); !strings.Contains(text, show) || strings.Contains(text, "place 3") {
			t.Errorf("want %q:\n%s", show, text)
		}
		if text, _ := inside(t, 0, "top", "--count", "1", "--redis", server.URL()); !strings.Contains(text, top) {
			t.Errorf("want %q: %s", top, text)
		}
	}
	listeners(1)
	is("waiting    2 processes\n", " waiting=2 ")
	conn, release := outsider.Client.Dedicate()
	defer release()
	defer conn.Close()
	testkit.Must(t, conn.Do(t.Context(), conn.B().Subscribe().Channel(keys.LockChannel("stock:7")).Build()).Error())
	listeners(2)
	is("waiting    3 processes\n", " waiting=3 ")
}

// Of a long line the first places are shown, and how many more there are. What is no place has none, and is not shown.
func TestShowOfALongLine(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.MustDo("EVAL", `local owner = '00000000-0000-8000-8000-000000000000:1'
		redis.call('HSET', 'stock:7', owner, 1)
		redis.call('PEXPIRE', 'stock:7', 60000)
		for i = 1, 1500 do
			redis.call('ZADD', KEYS[1], i, string.format('%08x-0000-8000-8000-000000000000:1 2305843009213693%03d', i, i % 1000))
		end
		redis.call('ZADD', KEYS[1], 4503599627370496, 'since')`, "1", keys.LineKey("stock:7"))
	text, _ := inside(t, 0, "show", "stock:7", "--redis", server.URL())
	if strings.Count(text, "place ") != 10 || !strings.Contains(text, " and 1490 more\n") || !strings.Contains(text, "waiting    1500 processes\n") {
		t.Errorf("of a line of 1500:\n%s", text)
	}
	json, _ := inside(t, 0, "show", "stock:7", "--json", "--redis", server.URL())
	mustHideCodes(t, server, "stock:7", text, json)
	top, _ := inside(t, 0, "top", "--count", "1", "--redis", server.URL())
	if !strings.Contains(top, "held=1 waiting=1500 ") {
		t.Errorf("top says %q", top)
	}

	server.MustDo("DEL", keys.LineKey("stock:7"))
	for i, member := range []string{"since", strange, "x:1 77", "00000000-0000-8000-8000-000000000000:1 77 " + strange} {
		server.MustDo("ZADD", keys.LineKey("stock:7"), fmt.Sprint(i), member)
	}
	text, _ = inside(t, 0, "show", "stock:7", "--redis", server.URL())
	if strings.Contains(text, strange) || strings.Contains(text, "place ") || strings.Contains(text, "77") {
		t.Errorf("of what is no line:\n%q", text)
	}
	server.MustDo("SET", keys.LineKey("stock:7"), "x")
	inside(t, 0, "show", "stock:7", "--redis", server.URL())
	inside(t, 0, "top", "--count", "1", "--redis", server.URL())
}

// Who may not read a line is told so, and not that nobody stands there.
func TestALineThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	testkit.MustLock(t, testkit.Connect(t, server.Addr()).Mutex("stock:7"))
	standInLine(t, server, "stock:7", "shop@pod-1:1")
	call := func(url string, args ...string) *program { return wheellock(t, append(args, "--redis", url)...) }

	url := asUser(server, "~*", "&*", "+@all", "-zrange")
	for _, args := range [][]string{{"ls"}, {"show", "stock:7"}, {"top", "--count", "1"}} {
		call(url, args...).want(t, 69, "grant +zrange\n")
	}
	url = asUser(server, "~stock:*", "~redisson_lock*", "&*", "+@all")
	text := call(url, "show", "stock:7").want(t, 0, "waiting    not known", "{stock:7}:wheellock:line").stdout.String()
	if strings.Contains(text, "place ") {
		t.Errorf("show: %s", text)
	}
	call(url, "top", "--count", "1").want(t, 0, "held=1 waiting=? ")
	asked := decode[map[string]any](t, call(url, "show", "--json", "stock:7").want(t, 0))[0]
	if _, told := asked["waiting"]; told {
		t.Errorf("show --json: %v", asked)
	}
	if got := call(asUser(server, "~*", "&*", "+@read", "+pubsub|numsub"), "show", "stock:7").want(t, 0, "waiting    1 process\n").stdout.String(); !slices.Contains(strings.Fields(got), "place") {
		t.Errorf("show: %s", got)
	}
}

// A simple lock of an engine shows by its value. That of another library is a string like any other, unless --kind says what it is.
func TestSimpleLocks(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Identity = "shop@pod-1:1" })
	testkit.MustLock(t, e.SimpleMutex("job:1"))
	server.MustDo("SET", "job:2", "their token", "PX", "60000")
	server.MustDo("SET", "job:3", "no lock: it has no TTL")
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"show", "job:1"}, 0, "simple lock\n  held by    shop@pod-1:1\n"},
		{[]string{"show", "job:2"}, 1, "not a lock: the key is a string\n             simple locks of other libraries: --kind simple\n"},
		{[]string{"show", "--kind", "simple", "job:2"}, 0, "simple lock\n  held by    their token, whose process is not known\n"},
		{[]string{"ls", "--kind", "simple", "--sort", "name", "job:*"}, 0, "shop@pod-1:1  job:1\n"},
		{[]string{"ls", "job:*"}, 0, "simple   shop@pod-1:1  job:1\n"},
		{[]string{"ls", "job:[23]"}, 0, "HOLDER  NAME\n"},
		{[]string{"top", "--count", "1", "--kind", "simple"}, 0, "held=2 waiting=0 changes=0 hot1=\"job:1\" hot2=\"job:2\"\n"},
		{[]string{"top", "--count", "1"}, 0, "held=1 waiting=0 changes=0 hot1=\"job:1\"\n"},
		{[]string{"show", "--kind", "mutex", "job:2"}, 64, ""},
		{[]string{"force", "--yes", "job:2"}, 1, ""},
		{[]string{"force", "--yes", "--kind", "simple", "job:2"}, 0, "freed job:2\n"},
	} {
		args := append([]string{c.args[0], "--redis", server.URL()}, c.args[1:]...)
		if out := wheellock(t, args...).want(t, c.exit).stdout.String(); !strings.Contains(out, c.want) {
			t.Errorf("%v printed\n%s, want %q", c.args, out, c.want)
		} else if strings.Contains(out, "unless renewed") && strings.Contains(out, "their token") {
			t.Errorf("%v printed\n%s: of a renewal by another library nothing is known", c.args, out)
		}
	}
	if keys := server.Keys(); !slices.Equal(keys, []string{"job:1", "job:3"}) {
		t.Errorf("keys %q", keys)
	}
	server.MustDo("SET", "job:4", strings.Repeat("their long token", 1000), "PX", "60000")
	if out := wheellock(t, "ls", "--redis", server.URL(), "--kind", "simple", "job:4").want(t, 0).stdout.String(); len(out) > 300 {
		t.Errorf("ls is as wide as a value:\n%s", out)
	}
	wheellock(t, "force", "--redis", server.URL(), "--yes", "--kind", "simple", "job:4").want(t, 0, "freed job:4\n")
	env := wheellock(t, "lock", "--redis", server.URL(), "job:4", "--", os.Args[0], "lock", "--redis", server.URL(), "--kind", "simple", "job:2", "--", "env").
		want(t, 0).stdout.String()
	if !strings.Contains(env, "WHEELLOCK_NAME=job:2\n") || strings.Contains(env, "WHEELLOCK_TOKEN") {
		t.Errorf("the environment under a simple lock:\n%s", env)
	}
}
