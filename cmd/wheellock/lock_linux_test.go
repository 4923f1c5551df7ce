package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// diary is a file that a command under a lock writes into.
type diary string

func newDiary(t *testing.T) diary { return diary(filepath.Join(t.TempDir(), "diary")) }

// words are what stands in it.
func (d diary) words() []string {
	text, _ := os.ReadFile(string(d)) // which may not be there yet
	return strings.Fields(string(text))
}

// await waits for a word, and returns the one behind it.
func (d diary) await(t *testing.T, word string) (next int) {
	t.Helper()
	redistest.Await(t, word+" in the diary", func() bool {
		words := d.words()
		for i := range len(words) - 1 {
			if words[i] == word {
				next, _ = strconv.Atoi(words[i+1])
				return true
			}
		}
		return false
	})
	return next
}

// Where /proc/*/stat has what processes are looked for by, counted from the state.
const (
	inGroup   = 2
	inSession = 3
)

// processes lists those of a group or of a session that are not over.
func processes(t *testing.T, in, id int) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	testkit.Must(t, err)
	for _, path := range stats {
		stat, _ := os.ReadFile(path) // a process may end at any time
		_, after, _ := strings.Cut(string(stat), ") ")
		if words := strings.Fields(after); len(words) > in && words[in] == strconv.Itoa(id) && words[0] != "Z" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// stubborn ignores TERM, with what it starts; polite ends by it. The child of both writes their process group
// into a diary when it is a program of its own, since a shell that has just forked may drop the signals of that moment.
const (
	stubborn = `trap '' TERM; ` + sleeper + `wait`
	polite   = `trap ': >"$DIARY.termed"; exit 0' TERM; ` + sleeper + `wait`
	sleeper  = `sh -c 'echo group $PPID >>$DIARY; exec sleep 1000' & `
)

// lockedShell runs a script under the lock "job".
func lockedShell(t *testing.T, url, script string, flags ...string) (*program, diary) {
	t.Helper()
	d := newDiary(t)
	p := wheellock(t, append(append([]string{"lock", "--redis", url}, flags...), "job", "--", "sh", "-c", script)...)
	p.Env = append(p.Env, "DIARY="+string(d))
	return p.begin(t), d
}

// While Redis does not answer, the command is ended before anybody else can have the lock.
func TestPartition(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{"a command that ends by TERM": polite, "a command that ignores TERM": stubborn} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := redistest.NewProxy(t, server.Addr())
			p, d := lockedShell(t, proxy.URL(), script, "--lease", "10s") // KILL comes a second before its end, the most there is
			group := d.await(t, "group")
			outside := testkit.Connect(t, server.Addr())
			granted := outside.FencedMutex("job").LockAsync(context.Background())
			proxy.BlackHole(redistest.Both, true)
			partition := time.Now()
			h, err := granted.Wait(testkit.Soon(t))
			now := time.Now()
			if left := processes(t, inGroup, group); err != nil || len(left) > 0 {
				t.Errorf("another one has the lock (%v) after %v, and of the command live %v", err, now.Sub(partition), left)
			}
			testkit.MustUnlock(t, h)
			if script == polite {
				termed, err := os.Stat(string(d) + ".termed")
				testkit.Must(t, err)
				early := now.Sub(termed.ModTime())
				if early < time.Second {
					t.Errorf("TERM came %v before another one had the lock: less than a tenth of the lease", early)
				}
				t.Logf("another one had the lock %v after the partition began, TERM came %v before", now.Sub(partition), early)
			}
			proxy.BlackHole(redistest.Both, false)
			p.end(t)
			p.want(t, 74, `lost "job", and ended the command`)
		})
	}
}

// A partition of less than a third of the lease costs nothing.
func TestShortPartition(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	p, d := lockedShell(t, proxy.URL(), `echo group $$ >>$DIARY; until [ -e "$DIARY.done" ]; do sleep 0.02; done`, "--lease", "9s")
	d.await(t, "group")
	proxy.BlackHole(redistest.Both, true)
	time.Sleep(2 * time.Second) // sleeps: how long the partition lasts
	proxy.BlackHole(redistest.Both, false)
	left := func() int64 { return server.MustDo("PTTL", "job").Int }
	before := left()
	redistest.Await(t, "a renewal", func() bool { return left() > before })
	testkit.Must(t, os.WriteFile(string(d)+".done", nil, 0o600))
	p.end(t)
	p.want(t, 0)
}

// Who frees the lock by force has the command ended: by TERM at once, by KILL soon after.
func TestForced(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	outside := testkit.Connect(t, server.Addr())
	p, d := lockedShell(t, server.URL(), stubborn)
	group := d.await(t, "group")
	if freed, err := outside.FencedMutex("job").ForceUnlock(testkit.Soon(t)); !freed || err != nil {
		t.Fatalf("freed %t, %v", freed, err)
	}
	p.end(t)
	p.want(t, 74, "lost")
	if left := processes(t, inGroup, group); len(left) > 0 {
		t.Errorf("of the command live %v", left)
	}
}

// Each kind of lock lets in beside its holder whom it should, and a command ends when what it holds is lost.
func TestLockOfOtherKinds(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		held string // the flags of the holder
		also string // and of one who gets in beside it; empty: nobody
		not  string // and of one who does not
		says string
		keys []string
	}{
		"fair":    {"--kind fair", "", "--kind fair", "the owner is wheellock.test@", []string{"job"}},
		"writer":  {"--kind rw", "", "--shared", "the owner is wheellock.test@", []string{"job"}},
		"reader":  {"--shared", "--kind rw --shared", "--kind rw", "the owner is wheellock.test@", []string{"job"}},
		"permits": {"--permits 2", "--permits 2", "--permits 1", "too few permits are free", []string{"job", "{job}:timeout"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			p, d := lockedShell(t, server.URL(), stubborn, append(strings.Fields(c.held), "--lease", "9s")...)
			d.await(t, "group")
			try := func(flags string) *program {
				return wheellock(t, slices.Concat([]string{"lock", "--redis", server.URL(), "--try", "job"}, strings.Fields(flags), []string{"--", "env"})...)
			}
			if c.also != "" {
				if env := try(c.also).want(t, 0, "WHEELLOCK_NAME=job").stdout.String(); strings.Contains(env, "WHEELLOCK_TOKEN") {
					t.Errorf("a lock without tokens: %s", env)
				}
			}
			try(c.not).want(t, 75, c.says)
			server.MustDo(append([]string{"DEL"}, c.keys...)...)
			p.end(t)
			p.want(t, 74, "lost")
		})
	}
}

// If wheellock itself is killed, the command is too, and the lock is free when its lease is over.
func TestKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p, d := lockedShell(t, server.URL(), `echo group $$ >>$DIARY; exec sleep 1000`, "--lease", "6s")
	group := d.await(t, "group")
	_ = p.Process.Kill()
	p.end(t)
	redistest.Await(t, "the end of the command", func() bool { return len(processes(t, inGroup, group)) == 0 })
	wheellock(t, "lock", "--redis", server.URL(), "--wait", "20s", "job", "--", "true").want(t, 0)
}

// Signals reach the command, and its exit code is wheellock's.
func TestSignals(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const script = `trap 'echo usr1; echo usr1 0 >>$DIARY' USR1; trap 'echo term; exit 7' TERM; ` + sleeper + `while :; do wait; done`
	p, d := lockedShell(t, server.URL(), script)
	d.await(t, "group")
	_ = p.Process.Signal(syscall.SIGUSR1)
	d.await(t, "usr1") // signals that are pending together arrive in any order
	_ = p.Process.Signal(syscall.SIGTERM)
	p.end(t)
	p.want(t, 7, "usr1\n", "term\n")

	for range 10 { // TERM comes while the command is started, more or less
		p := wheellock(t, "lock", "--redis", server.URL(), "job", "--", "sleep", "1000").begin(t)
		redistest.Await(t, "the lock", func() bool { return server.MustDo("EXISTS", "job").Int == 1 })
		_ = p.Process.Signal(syscall.SIGTERM)
		p.end(t)
		p.want(t, 128+15)
	}

	wheellock(t, "lock", "--redis", server.URL(), "job", "--", "sh", "-c", "kill -9 $$").want(t, 128+9)

	h := testkit.MustLock(t, testkit.Connect(t, server.Addr()).FencedMutex("job"))
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(s) { // as under nohup; what is caught here has its usual effect in a child
			caught := make(chan os.Signal, 1)
			signal.Notify(caught, s)
			defer signal.Stop(caught)
		}
		waits := wheellock(t, "lock", "--redis", server.URL(), "job", "--", "echo", "too much").begin(t)
		redistest.Await(t, "a waiter", func() bool { return server.Subscriptions().Count() == 1 })
		_ = waits.Process.Signal(s)
		waits.end(t)
		if waits.want(t, 128+int(s)); waits.stdout.Len() > 0 {
			t.Errorf("the command ran: %s", waits.stdout.String())
		}
		redistest.Await(t, "no waiter", func() bool { return server.Subscriptions().Count() == 0 })
	}
	testkit.MustUnlock(t, h)
	if keys := server.Keys(); len(keys) != 1 { // the counter of the fence
		t.Errorf("left: %q", keys)
	}
}

// A leader that Redis does not answer is ended before the next one leads, and campaigns again.
func TestElectionGoesOn(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	campaign := func(url string) (*program, diary) {
		d := newDiary(t)
		p := wheellock(t, "elect", "--redis", url, "--lease", "10s", "scheduler", "--", "sh", "-c",
			`echo term $WHEELLOCK_TERM group $$ >>$DIARY; exec sleep 1000`)
		p.Env = append(p.Env, "DIARY="+string(d))
		return p.begin(t), d
	}
	first, before := campaign(proxy.URL())
	group := before.await(t, "group")
	second, after := campaign(server.URL())
	proxy.BlackHole(redistest.Both, true)
	if higher := after.await(t, "term"); higher <= before.await(t, "term") {
		t.Errorf("term %d after %d", higher, before.await(t, "term"))
	}
	if left := processes(t, inGroup, group); len(left) > 0 {
		t.Errorf("the next one leads, and of the first live %v", left)
	}
	proxy.BlackHole(redistest.Both, false)
	_ = second.Process.Signal(syscall.SIGTERM)
	second.end(t)
	second.want(t, 128+15)
	redistest.Await(t, "a second term of the first", func() bool { return strings.Count(strings.Join(before.words(), " "), "term") >= 2 })
	_ = first.Process.Signal(syscall.SIGTERM)
	first.end(t)
	first.want(t, 128+15, `lost "scheduler"`)
}

// A waiter at a Redis that refuses writes is told why, and when it takes them again.
func TestRedisThatRefusesIsTold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, args := range [][]string{{"lock", "job"}, {"lock", "seats", "--permits", "2"}, {"elect", "scheduler"}} {
		server.MustDo("CONFIG", "SET", "maxmemory", "1")
		p, said := wheellock(t, append(args, "--redis", server.URL(), "--", "true")...), newDiary(t)
		file, err := os.Create(string(said))
		testkit.Must(t, err)
		p.Stderr = file
		p.begin(t)
		says := func(words string) bool { return strings.Contains(strings.Join(said.words(), " "), words) }
		redistest.Await(t, "the note that Redis refuses", func() bool {
			return says("wheellock " + args[0] + ": Redis refuses writes addr=" + server.Addr() + ` error="OOM`)
		})
		server.MustDo("CONFIG", "SET", "maxmemory", "0")
		p.end(t)
		file.Close()
		p.want(t, 0)
		if !says("Redis takes writes again addr=" + server.Addr()) {
			t.Errorf("it said %q", said.words())
		}
	}
}

// A release may give the lock to a process that waits: then it has ten seconds at most, until it is renewed. The command begins when it
// is, and is not ended because the renewal takes longer than usual.
func TestALockThatWasGivenIsNotOverdue(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	far := redistest.NewProxy(t, server.Addr())
	held := testkit.MustLock(t, testkit.Connect(t, server.Addr()).FencedMutex("job"))
	p := wheellock(t, "lock", "job", "--redis", far.URL(), "--", "sleep", "1").begin(t)
	redistest.Await(t, "a place in line", func() bool { return places(server, "job") == 1 })
	far.Latency(redistest.Both, 150*time.Millisecond)
	testkit.MustUnlock(t, held)
	if owners := testkit.Owners(server, "job"); len(owners) == 0 {
		t.Error("the lock is free: it was given to nobody")
	}
	p.end(t)
	p.want(t, 0)
}

// A password that changes while a command runs costs nothing: the next connection reads the file again.
func TestAPasswordThatChanges(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--requirepass", "old")
	file := filepath.Join(t.TempDir(), "password")
	write := func(path, text string) {
		testkit.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(file, "old\n")
	p, d := lockedShell(t, "redis://"+server.Addr(), `echo group $$ >>$DIARY; until [ -e "$DIARY.done" ]; do sleep 0.02; done`, "--lease", "9s", "--password-file", file)
	d.await(t, "group")
	server.MustDo("CONFIG", "SET", "requirepass", "new")
	write(file, "new\n")
	server.KillClients("normal")
	left := int64(0)
	redistest.Await(t, "a renewal", func() bool {
		before := left
		left = server.MustDo("PTTL", "job").Int
		return before > 0 && left > before
	})
	write(string(d)+".done", "")
	p.end(t)
	p.want(t, 0)
}
