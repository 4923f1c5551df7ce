package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/testkit/resp"
	keys "github.com/wheellock/wheellock/scripts"
)

// strange is a name that would clear a terminal.
const strange = "\x1b[2J"

// everyKind has one lock of each kind held, and returns the kinds by name as ls shows them. Keys that are no locks are there too.
func everyKind(t *testing.T, server *redistest.Server) map[string]string {
	t.Helper()
	e, other := testkit.Connect(t, server.Addr()), testkit.Connect(t, server.Addr())
	for _, l := range []engine.Locker{
		e.Mutex("mutex"), e.Mutex(strange), e.FencedMutex("fenced"), e.FairMutex("fair"), e.RWMutex("read").Reader(),
		other.RWMutex("read").Reader(), e.RWMutex("write").Writer(),
	} {
		testkit.MustLock(t, l)
	}
	other.FairMutex("fair").LockAsync(context.Background())
	permits := e.PermitSemaphore("permits")
	if _, err := permits.TrySetPermits(testkit.Soon(t), 5); err != nil {
		t.Fatal(err)
	}
	if _, err := permits.Acquire(testkit.Soon(t), 2); err != nil {
		t.Fatal(err)
	}
	redistest.Await(t, "a queue", func() bool { return server.MustDo("LLEN", "redisson_lock_queue:{fair}").Int > 0 })
	server.MustDo("HSET", "hash", "field", "1")
	server.MustDo("HSET", "session", "user:1", "1")
	server.MustDo("SET", "number", "5")
	server.MustDo("RPUSH", "list", "x")
	return map[string]string{"mutex": "mutex", strange: "mutex", "fenced": "fenced", "fair": "fair", "read": "read", "write": "write", "permits": "permits"}
}

// row is a lock in JSON.
type row struct {
	Name, Kind string
	Bytes      []byte `json:"name_base64"`
	TTL        int64  `json:"ttl_ms"`
	Holders    int
	Free       *int
	Token      int64
	Waiting    int
	Queued     int
	Foreign    string
	Changes    int
	Owners     []struct{ ID, Identity, Address string }
	Queue      []struct{ ID, Identity string }
}

func TestLs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	want := everyKind(t, server)
	got := make(map[string]string)
	for _, l := range decode[row](t, wheellock(t, "ls", "--json", "--redis", server.URL()).want(t, 0)) {
		got[l.Name] = l.Kind
		if l.Kind != "permits" && (l.TTL < 1000 || l.TTL > 30_000 || !strings.Contains(l.Owners[0].Identity, ".test@")) {
			t.Errorf("%+v: want a TTL of some seconds and this process as the holder", l)
		}
		if l.Name == "read" && l.Holders != 2 {
			t.Errorf("%d readers, want 2", l.Holders)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("ls: %q\nwant %q", got, want)
	}
	text := wheellock(t, "ls", "--redis", server.URL()).want(t, 0, "TTL  KIND     HOLDER", " \"\\x1b[2J\"\n", "2 held, 3 free", " +1 ").stdout.String()
	if strings.Contains(text, strange) || strings.Count(text, "\n") != len(want)+1 {
		t.Errorf("ls:\n%q\nwant a line for each, that a terminal may have", text)
	}
	some := decode[row](t, wheellock(t, "ls", "f*", "--json", "--redis", server.URL()).want(t, 0))
	if names := []string{some[0].Name, some[1].Name}; len(some) != 2 || !slices.Contains(names, "fair") || !slices.Contains(names, "fenced") {
		t.Errorf("ls f*: %v", some)
	}
}

// The hashes and strings of others may be large. They are not read.
func TestLsDoesNotReadTheHashesOfOthers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	kinds := everyKind(t, server)
	server.MustDo("EVAL", `for i = 1, 1000 do
		redis.call('HSET', 'session:' .. i, 'cart', string.rep('x', 10000), 'user', string.rep('y', 10000))
		redis.call('SET', 'page:' .. i, string.rep('z', 2000))
	end`, "0")
	sent := func() (bytes int) {
		_, after, _ := strings.Cut(server.MustDo("INFO", "stats").Text, "total_net_output_bytes:")
		fmt.Sscan(after, &bytes)
		return bytes
	}
	before := sent()
	if listed := decode[row](t, wheellock(t, "ls", "--json", "--redis", server.URL()).want(t, 0)); len(listed) != len(kinds) {
		t.Errorf("ls lists %d names, want %d", len(listed), len(kinds))
	}
	if read := sent() - before; before == 0 || read > 1_000_000 {
		t.Errorf("ls read %d bytes, of hashes and strings of 22,000,000", read)
	}
}

// Of more keys than a page of SCAN has, a lock that is freed while ls looks is listed with what its lease had left, or not at all.
func TestLsOfLocksThatEnd(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.MustDo("EVAL", `for i = 1, 5000 do
		redis.call('HSET', 'lock:' .. i, string.format('%08x-0000-4000-8000-000000000000:1', i), 1)
		redis.call('PEXPIRE', 'lock:' .. i, i < 2500 and 1 + math.floor(i / 10) or 60000)
	end`, "0")
	lasting := 0
	for _, l := range decode[row](t, wheellock(t, "ls", "--json", "--redis", server.URL()).want(t, 0)) {
		if l.TTL < 0 {
			t.Fatalf("%+v: want a TTL", l)
		}
		if l.TTL > 1000 {
			lasting++
		}
	}
	if lasting != 2501 {
		t.Errorf("ls lists %d locks that last, want 2501", lasting)
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	everyKind(t, server)
	show := func(exit int, name string, words ...string) row {
		t.Helper()
		wheellock(t, "show", name, "--redis", server.URL()).want(t, exit, words...)
		return decode[row](t, wheellock(t, "show", name, "--json", "--redis", server.URL()).want(t, exit))[0]
	}
	if l := show(0, "fair", "fair lock", "place 1", "waiting    1 process\n"); len(l.Queue) != 1 || l.Queue[0].Identity == "" {
		t.Errorf("%+v: want the process in the queue", l)
	}
	if l := show(0, "fenced", "fenced lock", " at most", "hold count 1", "from 127.0.0.1:"); l.Token == 0 || l.Owners[0].Address == "" {
		t.Errorf("%+v: want a token, and an address", l)
	}
	show(0, "mutex", "mutex (or spin lock)")
	show(0, "read", "held by readers")
	show(0, "write", "held by a writer")
	show(0, "permits", "permit semaphore", "2 permits", "free       3")
	show(0, strange, `"\x1b[2J"`)
	show(1, "number", "semaphore or latch", "free       5")
	show(1, "list", "not a lock: the key is a list")
	show(1, "hash", "not a lock: the key is a hash")
	show(1, "none", "nobody")
	server.MustDo("HSET", "java", "285475da-9152-4c83-822a-67ee2f116a79:51", "2")
	show(0, "java", "285475da-9152-4c83-822a-67ee2f116a79:51, whose process is not known", "hold count 2", "no expiry: it will never free itself")
}

// Of many holders, and of a long queue, the first are shown, and how many more there are.
func TestShowOfMany(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.MustDo("EVAL", `redis.call('HSET', 'read', 'mode', 'read')
		for i = 1, 1500 do
			local owner = string.format('%08x-0000-4000-8000-000000000000:1', i)
			if i <= 50 then redis.call('HSET', 'read', owner, 1) end
			if i == 1 then redis.call('HSET', 'fair', owner, 1) end
			redis.call('RPUSH', KEYS[1], owner)
		end
		redis.call('PEXPIRE', 'read', 60000)
		redis.call('PEXPIRE', 'fair', 60000)`, "1", keys.FairQueue("fair"))
	show := func(name string) string {
		said, _ := inside(t, 0, "show", name, "--redis", server.URL())
		return said
	}
	if said := show("read"); strings.Count(said, ", whose process") != 10 || !strings.Contains(said, " and 40 more\n") {
		t.Errorf("of 50 readers:\n%s", said)
	}
	said := show("fair")
	if strings.Count(said, "place ") != 10 || !strings.Contains(said, " and 1490 more\n") || !strings.Contains(said, "waiting    1000 processes or more\n") {
		t.Errorf("of a queue of 1500:\n%s", said)
	}
}

// Waiting are processes, however many callers each has, and whatever they wait for.
func TestShowCountsProcessesThatWait(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e, ctx := testkit.Connect(t, server.Addr()), context.Background()
	for _, l := range []engine.Locker{e.Mutex("mutex"), e.FairMutex("fair"), e.RWMutex("write").Writer()} {
		testkit.MustLock(t, l)
	}
	permits, seats, start := e.PermitSemaphore("permits"), e.Semaphore("seats"), e.CountDownLatch("start")
	for name, set := range map[string]func(context.Context, int64) (bool, error){
		"permits": permits.TrySetPermits, "seats": seats.TrySetPermits, "start": start.TrySetCount,
	} {
		if _, err := set(testkit.Soon(t), 1); err != nil {
			t.Fatal(name, err)
		}
	}
	if _, err := permits.Acquire(testkit.Soon(t), 1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		other := testkit.Connect(t, server.Addr())
		for range 2 {
			other.Mutex("mutex").LockAsync(ctx)
			other.FairMutex("fair").LockAsync(ctx)
			other.RWMutex("write").Writer().LockAsync(ctx)
			other.PermitSemaphore("permits").AcquireAsync(ctx, 1)
			other.Semaphore("seats").AcquireAsync(ctx, 2)
			other.CountDownLatch("start").WaitAsync(ctx)
		}
	}
	redistest.Await(t, "the first in line for permits to listen besides", func() bool {
		return server.MustDo("PUBSUB", "NUMSUB", keys.PrefixName("redisson_sc", "permits")).Items[1].Int == 1
	})
	for name, exit := range map[string]int{"mutex": 0, "fair": 0, "write": 0, "permits": 0, "seats": 1, "start": 1} {
		redistest.Await(t, "two processes to wait for "+name, func() bool {
			said, _ := inside(t, exit, "show", name, "--redis", server.URL())
			return strings.Contains(said, "waiting    2 processes\n")
		})
	}
	redistest.Await(t, "top to say that 2 processes wait for each of 4", func() bool { // one that asks again is in line and listens
		said, _ := inside(t, 0, "top", "--count", "1", "--redis", server.URL())
		return strings.Contains(said, "held=4 waiting=8 ")
	})
}

func TestForce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	kinds := everyKind(t, server)
	wheellock(t, "force", "mutex", "--redis", server.URL()).want(t, 64, "--yes")
	for name, kind := range kinds {
		p := wheellock(t, "force", "--yes", name, "--redis", server.URL())
		if kind == "permits" {
			p.want(t, 1, "end with their leases")
			continue
		}
		p.want(t, 0, "freed ")
		if owners := testkit.Owners(server, name); kind != "fair" && len(owners) > 0 { // somebody waits for the fair one
			t.Errorf("%q has %q", name, owners)
		}
	}
	wheellock(t, "force", "--yes", "none", "--json", "--redis", server.URL()).want(t, 1, `{"name":"none","freed":false}`)
}

// Names are bytes: what is listed can be typed, also if it is no UTF-8.
func TestNamesThatAreNoText(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	names := map[string]bool{"job:\xfe": true, "job:\xff": true}
	for name := range names {
		testkit.MustLock(t, e.Mutex(name))
	}
	listed := decode[row](t, wheellock(t, "ls", "--json", "--redis", server.URL()).want(t, 0))
	for _, l := range listed {
		if name := string(l.Bytes); !names[name] || l.Name != "job:\uFFFD" {
			t.Errorf("ls lists %q as %q", name, l.Name)
		}
		p := wheellock(t, "force", "--yes", string(l.Bytes), "--json", "--redis", server.URL()).want(t, 0)
		if freed := decode[row](t, p)[0]; !slices.Equal(freed.Bytes, l.Bytes) {
			t.Errorf("force of %q says %q", l.Bytes, freed.Bytes)
		}
		delete(names, string(l.Bytes))
	}
	if len(listed) != 2 || len(names) > 0 {
		t.Errorf("ls lists %d names, want 2; left are %v", len(listed), names)
	}
	ran := wheellock(t, "lock", "--json", "job:\xff", "--redis", server.URL(), "--", "true").want(t, 0)
	if said := ran.stderr.String(); !strings.Contains(said, `{"event":"granted","name":"job:\ufffd","name_base64":"am9iOv8=",`) {
		t.Errorf("lock says %q", said)
	}
}

func TestTop(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	hot := e.Mutex("hot")
	testkit.MustLock(t, e.Mutex("cold"))
	lines := wheellock(t, "top", "--count", "2", "--interval", "100ms", "--redis", server.URL()).want(t, 0).stdout.String()
	if strings.Count(lines, "\n") != 2 || !strings.Contains(lines, `held=1 waiting=0 changes=0 hot1="cold"`) {
		t.Errorf("top: %q", lines)
	}
	p := wheellock(t, "top", "--json", "--interval", "100ms", "--redis", server.URL())
	file, err := os.CreateTemp(t.TempDir(), "stdout")
	testkit.Must(t, err)
	defer file.Close()
	p.Stdout = file
	p.begin(t)
	redistest.Await(t, "two changes of owner", func() bool {
		h := testkit.MustLock(t, hot)
		time.Sleep(50 * time.Millisecond) // sleeps: how long each owner has it
		testkit.MustUnlock(t, h)
		text, _ := os.ReadFile(file.Name())
		return strings.Contains(string(text), `"changes":2},{"name":"cold"`)
	})
	_ = p.Process.Signal(os.Interrupt)
	p.end(t)
	p.want(t, 0)
}

// Who may only read may look.
func TestLookingNeedsTheRightToReadOnly(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	everyKind(t, server)
	server.MustDo("ACL", "SETUSER", "reader", "reset", "on", ">hunter2", "~*", "+@read", "+@connection", "-client", "+pubsub|numsub", "+cluster|slots")
	url := strings.Replace(server.URL(), "redis://", "redis://reader:hunter2@", 1)
	wheellock(t, "ls", "--redis", url).want(t, 0, "fenced", "2 held")
	wheellock(t, "show", "fair", "--redis", url).want(t, 0, "whose process is not known", "place 1")
	wheellock(t, "top", "--count", "1", "--redis", url).want(t, 0, "held=7")
	wheellock(t, "force", "--yes", "mutex", "--redis", url).want(t, 69, "this user may not run what the engine needs: grant +eval")
}

// Whoever may write to Redis may write anything beside a lock.
func TestShowOfWhatNobodyShouldHaveWritten(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	show := func(name string) (text string, l row) {
		t.Helper()
		text = wheellock(t, "show", name, "--redis", server.URL()).want(t, 0).stdout.String()
		if strings.Contains(text, strange) {
			t.Errorf("show %s: %q, which no terminal may have", name, text)
		}
		return text, decode[row](t, wheellock(t, "show", name, "--json", "--redis", server.URL()).want(t, 0))[0]
	}

	testkit.MustLock(t, e.FairMutex("queue"))
	server.MustDo("RPUSH", keys.FairQueue("queue"), e.ID()+":"+strange)
	if _, l := show("queue"); len(l.Queue) != 1 || l.Queue[0].Identity == "" {
		t.Errorf("%+v: want this process in the queue", l)
	}

	server.MustDo("EVAL", `for i = 1, 2000 do
		redis.call('HSET', 'mode', string.format('%08x-0000-4000-8000-000000000000:1', i), 1)
	end
	redis.call('HSET', 'mode', 'mode', ARGV[1])`, "0", strange)
	if text := wheellock(t, "ls", "--redis", server.URL()).want(t, 0).stdout.String(); strings.Contains(text, strange) {
		t.Errorf("ls: %q, which no terminal may have", text)
	}

	owner := testkit.MustLock(t, e.Mutex("led")).TenureID()
	for _, since := range []string{"0", "900000000000000000", "-900000000000000000", "x"} {
		server.MustDo("HSET", keys.LeaderKey("led"), "owner", owner, "identity", strange, "since", since)
		text, l := show("led")
		if l.Name != "led" || strings.Contains(text, `leader     "\x1b[2J"`) != (since == "0") {
			t.Errorf("leader since %s: %+v\n%s", since, l, text)
		}
	}
}

// answering listens and answers every command in these words, as no Redis or as one that does not serve yet. It is the URL.
func answering(t *testing.T, words string) string {
	t.Helper()
	return "redis://" + testkit.Serve(t, func(client net.Conn) {
		for asked := make([]byte, 4096); ; {
			n, err := client.Read(asked)
			if err != nil {
				return
			}
			_, _ = io.WriteString(client, strings.Repeat(words, bytes.Count(asked[:n], []byte("*"))))
		}
	})
}

// What is no Redis may say anything: no command crashes, and nothing reaches the terminal but what it shows.
func TestWhatIsNoRedisEndsNoCommand(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]string{"a list of fewer than none": "*-5\r\n", "a string of a gigabyte": "$1000000000\r\n", "an error": "-ERR " + strange + "\r\n"} {
		url := answering(t, words)
		for _, args := range [][]string{{"ls"}, {"show", "a"}, {"top", "--count", "1"}, {"force", "--yes", "a"}, {"doctor"}, {"lock", "--try", "a"}} {
			p := wheellock(t, append(args, "--redis", url)...)
			exit := 69
			switch args[0] {
			case "doctor":
				exit = 2
			case "lock":
				p.Args = append(p.Args, "--", "true")
			}
			if p.want(t, exit); strings.Contains(p.stdout.String()+p.stderr.String(), strange) {
				t.Errorf("%s: %q said %q, which no terminal may have", name, args, p.stdout.String()+p.stderr.String())
			}
		}
	}
}

// A server that does not know AUTH quotes the password, and no command shows it.
func TestAPasswordThatAServerQuotes(t *testing.T) {
	t.Parallel()
	url := strings.Replace(answering(t, "-ERR unknown command 'AUTH', with args beginning with: 'hunter2' \r\n"), "redis://", "redis://:hunter2@", 1)
	for _, query := range []string{"", "?master_set=m"} {
		for _, args := range [][]string{{"ls"}, {"show", "a"}, {"top", "--count", "1"}, {"watch", "a"}, {"force", "--yes", "a"}, {"doctor"}, {"doctor", "--json"}, {"lock", "--try", "a", "--", "true"}, {"elect", "a", "--", "true"}} {
			p := wheellock(t, append([]string{"--redis", url + query}, args...)...)
			p.run(t)
			if said := p.stdout.String() + p.stderr.String(); strings.Contains(said, "hunter2") || !strings.Contains(said, "unknown command") {
				t.Errorf("%q said %s", args, said)
			}
		}
	}
}

// A server that loads its data for an hour does not keep who does not want to wait.
func TestLockOfAServerThatDoesNotServeYet(t *testing.T) {
	t.Parallel()
	url := answering(t, "-LOADING Redis is loading the dataset in memory\r\n")
	for _, wait := range []string{"--try", "--wait=1ms"} {
		t.Run(wait, func(t *testing.T) {
			t.Parallel()
			wheellock(t, "lock", wait, "--redis", url, "a", "--", "true").want(t, 69, "LOADING")
		})
	}
}

// As with any command, what follows "--" is a word and no flag.
func TestWordsAfterDashes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr())
	testkit.MustLock(t, e.Mutex("-x"))
	testkit.MustLock(t, e.Mutex("y"))
	out, _ := inside(t, 0, "ls", "--redis", server.URL(), "--", "-*")
	if !strings.Contains(out, "-x") || strings.Contains(out, "y\n") {
		t.Errorf("ls -- '-*':\n%s", out)
	}
	inside(t, 0, "show", "--redis", server.URL(), "--", "-x")
	inside(t, 64, "show", "--redis", server.URL(), "y", "--", "-x")
	inside(t, 64, "force", "--yes", "--redis", server.URL(), "y", "--", "-x")
	inside(t, 75, "lock", "--try", "--redis", server.URL(), "--", "-x", "--", "true")
	inside(t, 0, "force", "--yes", "--redis", server.URL(), "--", "-x")
	inside(t, 0, "lock", "--redis", server.URL(), "--", "-x", "--", "true")
	inside(t, 0, "elect", "--redis", server.URL(), "--", "-x", "--", "true")
	for _, args := range [][]string{{"-x"}, {"-x", "--"}, {"sh", "--", "true"}} { // the last names no lock
		inside(t, 64, append([]string{"lock", "--redis", server.URL(), "--"}, args...)...)
	}
}

// Ctrl-C is heard while a server accepts the connection and says nothing.
func TestCtrlCWhileConnecting(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer listener.Close()
	p := wheellock(t, "ls", "--redis", "redis://"+listener.Addr().String()).begin(t)
	conn, err := listener.Accept()
	testkit.Must(t, err)
	defer conn.Close()
	_ = p.Process.Signal(os.Interrupt)
	p.end(t)
	p.want(t, 130, "wheellock ls: ended by a signal: interrupt\n")
}

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// What writes until it is ended ends when nothing can be written.
func TestOutputThatIsNotWritten(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, args := range [][]string{{"top", "--interval", "100ms"}, {"watch", "--interval", "100ms", "a"}} {
		ctx := testkit.Soon(t)
		var said strings.Builder
		exit := run(ctx, append(args, "--redis", server.URL()), strings.NewReader(""), full{}, &said)
		if exit != 70 || ctx.Err() != nil || !strings.Contains(said.String(), "the output is not complete: no space left") {
			t.Errorf("%s: exit code %d, %v: %s", args[0], exit, ctx.Err(), said.String())
		}
	}
}

// Of more names than top follows, those that are waited for are followed first.
func TestTopFindsWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.MustDo("EVAL", `for i = 1, 12000 do
		redis.call('HSET', 'lock:' .. i, string.format('%08x-0000-4000-8000-000000000000:1', i), 1)
		redis.call('PEXPIRE', 'lock:' .. i, 60000)
	end`, "0")
	e, other := testkit.Connect(t, server.Addr()), testkit.Connect(t, server.Addr())
	want := map[string]int{}
	for _, name := range []string{"hot", "{hot}", "a{hot}b", "hot:write", "hot:fair"} {
		want[name] = 1
		l, waits := engine.Locker(e.Mutex(name)), engine.Locker(other.Mutex(name))
		switch name {
		case "hot:write":
			l, waits = e.RWMutex(name).Writer(), other.RWMutex(name).Reader()
		case "hot:fair":
			l, waits = e.FairMutex(name), other.FairMutex(name)
		}
		testkit.MustLock(t, l)
		waits.LockAsync(context.Background())
	}
	look := func(pattern string) (held int, truncated bool, hottest map[string]int) {
		said := decode[struct {
			Held      int
			Truncated bool
			Hottest   []row
		}](t, wheellock(t, "top", "--json", "--count", "1", "--redis", server.URL(), pattern).want(t, 0))[0]
		hottest = make(map[string]int)
		for _, l := range said.Hottest {
			if l.Waiting > 0 {
				hottest[l.Name] = l.Waiting
			}
		}
		return said.Held, said.Truncated, hottest
	}
	redistest.Await(t, "all that are waited for", func() bool {
		held, truncated, hottest := look("*")
		return held == 10_000 && truncated && maps.Equal(hottest, want)
	})
	if held, truncated, hottest := look("hot*"); held != 3 || truncated || len(hottest) != 3 {
		t.Errorf("top hot*: %d held, truncated %t, %v", held, truncated, hottest)
	}
	wheellock(t, "top", "--count", "1", "--redis", server.URL()).want(t, 0, "held=10000+ waiting=5 ")

	// Names that are waited for and too many to be listed do not come first, so how many wait is not known.
	listener, err := resp.Dial("tcp", server.Addr(), "", "", 10*time.Second)
	testkit.Must(t, err)
	defer listener.Close()
	many := []string{"SUBSCRIBE"}
	for i := range 1 << 16 {
		many = append(many, keys.LockChannel(strconv.Itoa(i)))
	}
	listener.Do(many...)
	wheellock(t, "top", "--count", "1", "--redis", server.URL()).want(t, 0, "held=10000+ waiting=? ")
	wheellock(t, "top", "--count", "1", "--redis", server.URL(), "hot*").want(t, 0, "held=3 waiting=3 ")
}

func TestLsByHolderAndInOrder(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for i, who := range []string{"shop@pod-2:1", "shop@pod-1:1", "mail@pod-1:1"} {
		e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Identity = who })
		testkit.MustLock(t, e.Mutex(fmt.Sprintf("name:%d", i)), engine.WithLease(time.Hour-time.Duration(i)*time.Minute))
	}
	names := func(flags ...string) (names []string) {
		for _, l := range decode[row](t, wheellock(t, append([]string{"ls", "--json", "--redis", server.URL()}, flags...)...).want(t, 0)) {
			names = append(names, l.Name)
		}
		return names
	}
	for flags, want := range map[string][]string{
		"--sort name":                  {"name:0", "name:1", "name:2"},
		"--sort ttl":                   {"name:2", "name:1", "name:0"},
		"--sort holder":                {"name:2", "name:1", "name:0"},
		"--holder shop@ --sort holder": {"name:1", "name:0"},
		"--holder nobody":              nil,
	} {
		if got := names(strings.Fields(flags)...); !slices.Equal(got, want) {
			t.Errorf("ls %s: %q, want %q", flags, got, want)
		}
	}
	wheellock(t, "ls", "--sort", "size", "--redis", server.URL()).want(t, 64, "want name, ttl or holder")
}

// ls --waited lists what processes wait for, of each kind.
func TestLsOfWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	everyKind(t, server) // of which somebody waits for "fair"
	e := testkit.Connect(t, server.Addr())
	e.PermitSemaphore("permits").AcquireAsync(context.Background(), 4)
	e.RWMutex("read").Writer().LockAsync(context.Background())
	e.Mutex("mutex").LockAsync(context.Background())
	redistest.Await(t, "waiters", func() bool { return places(server, "permits")+places(server, "read")+places(server, "mutex") == 3 })
	waiting := make(map[string]int)
	for _, l := range decode[row](t, wheellock(t, "ls", "--waited", "--json", "--redis", server.URL()).want(t, 0)) {
		waiting[l.Name] = l.Waiting
	}
	if want := map[string]int{"fair": 1, "permits": 1, "read": 1, "mutex": 1}; !maps.Equal(waiting, want) {
		t.Errorf("ls --waited: %v, want %v", waiting, want)
	}
	wheellock(t, "ls", "--waited", "--sort", "name", "--redis", server.URL(), "m*").want(t, 0, "WAITING     TTL  KIND ", "\n      1  ")
	wheellock(t, "ls", "--waited", "--redis", asUser(server, "~*", "&*", "+@all", "-pubsub")).want(t, 0, "of 7 locks this user may not know who waits")
}

// force --holder frees what one holder has, and no other reader's part of a lock.
func TestForceOfAHolder(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	one := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Identity = "shop@pod-1:1" })
	ten := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Identity = "shop@pod-10:1" })
	for _, l := range []engine.Locker{one.FencedMutex("a"), one.FairMutex("b"), one.SimpleMutex("c"), one.RWMutex("rw").Reader(), ten.RWMutex("rw").Reader(), ten.Mutex("other")} {
		testkit.MustLock(t, l)
	}
	force := func(args ...string) *program {
		return wheellock(t, append([]string{"force", "--redis", server.URL(), "--holder"}, args...)...)
	}
	force("pod-1:").want(t, 64, "--yes frees it without asking")
	force("", "--yes", "a").want(t, 64, "all holders contain an empty one")
	force("pod-2:", "--yes").want(t, 1, "nobody whose identity or id contains pod-2: holds a lock")
	force("pod-1:", "--yes", "a*").want(t, 0, "freed a\n")
	p := force("pod-1:", "--yes").want(t, 0, "simple   shop@pod-1:1  c", "read     shop@pod-1:1  rw")
	if got := p.stdout.String(); got != "freed b\nfreed c\nfreed rw\n" {
		t.Errorf("it says %q", got)
	}
	wheellock(t, "ls", "--redis", server.URL(), "--json").want(t, 0, `"name":"other"`)
	if got := decode[row](t, wheellock(t, "ls", "--redis", server.URL(), "--json").want(t, 0)); len(got) != 2 || !strings.Contains(got[0].Owners[0].Identity+got[1].Owners[0].Identity, "pod-10:1shop@pod-10") {
		t.Errorf("left are %+v", got)
	}
	force("pod-10", "--yes", "--json", "rw").want(t, 0, `{"name":"rw","freed":true}`)
}

// A second look tells a lease that is renewed from one that is not.
func TestShowAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := testkit.Connect(t, server.Addr(), func(o *engine.Options) { o.Lease = time.Second })
	testkit.MustLock(t, e.Mutex("renewed"))
	testkit.MustLock(t, e.Mutex("fixed"), engine.WithLease(time.Hour))
	wheellock(t, "show", "--again", "1s", "renewed", "--redis", server.URL()).want(t, 0, "renewed: the holder is alive")
	wheellock(t, "show", "--again", "100ms", "fixed", "--redis", server.URL()).want(t, 0, "not renewed in 100ms")
	server.MustDo("HSET", "endless", "5b6347ed-ad50-8731-b33b-a0a5d591a909:1", "1")
	endless := wheellock(t, "show", "--again", "100ms", "endless", "--redis", server.URL()).want(t, 0, "it will never free itself")
	if said := endless.stdout.String(); strings.Contains(said, "alive") {
		t.Errorf("nobody renews a lease without an end: %s", said)
	}
}

// While a name stays taken without a holder, nobody is told as one, and no renewal is expected.
func TestAHolderThatThereIsNot(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, kind := range []string{"fenced", "simple"} {
		wheellock(t, "lock", "--redis", server.URL(), "--kind", kind, "--min-hold", "1h", kind, "--", "true").want(t, 0)
		tried := wheellock(t, "lock", "--redis", server.URL(), "--kind", kind, "--try", kind, "--", "true").want(t, 75, "nobody holds it any more").stderr.String()
		shown := wheellock(t, "show", "--redis", server.URL(), kind).want(t, 0, "nobody: left taken").stdout.String()
		if strings.Contains(tried, "detached\n") || strings.Contains(shown, "renewed") {
			t.Errorf("it said %s\n%s", tried, shown)
		}
		wheellock(t, "ls", "--redis", server.URL()).want(t, 0, "  nobody (min hold, or detached)  "+kind)
	}
}

// The URL of a Redis is no name, and no pattern.
func TestURLInThePlaceOfAName(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"ls", "top", "show", "force"} {
		wheellock(t, command, "redis://:secret@127.0.0.1:1").want(t, 64, "put --redis before it")
		wheellock(t, command, "redis://:secret@127.0.0.1:1", "stock:7").want(t, 64, "put --redis before it")
	}
}

// A name may be a URL of something else than Redis.
func TestNameThatIsAURL(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	testkit.MustLock(t, testkit.Connect(t, server.Addr()).Mutex("https://example.org/"))
	wheellock(t, "show", "https://example.org/", "--redis", server.URL()).want(t, 0, "held by")
	wheellock(t, "ls", "https://*", "--redis", server.URL()).want(t, 0, "https://example.org/")
	wheellock(t, "force", "--yes", "https://example.org/", "--redis", server.URL()).want(t, 0, "freed https://example.org/")
}

func TestVersion(t *testing.T) {
	t.Parallel()
	wheellock(t, "--version").want(t, 0, "wheellock ", "go1.")
}
