package doctor

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wheellock/wheellock/cmd/wheellock/internal/cli"
	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/testkit/redisserver"
)

func TestAHealthyServerHasNoFinding(t *testing.T) {
	t.Parallel()
	server := healthy(t, "--requirepass", "secret")
	examined(t, server.URL()).wantHealthy(t)
	if keys := server.Keys(); len(keys) > 0 {
		for _, key := range keys {
			if left := server.MustDo("PTTL", key).Int; left <= 0 && left != -2 {
				t.Errorf("doctor left %s for ever", key)
			}
		}
	}
	out, _, exit := doctor(t, "--redis", server.URL(), "--during", "10ms", "--lease", "1h")
	if exit != 0 || !strings.Contains(out, "\nerrors: 0, warnings: 0, notes: 0, could not look: 0\n") || strings.Contains(out, "secret") {
		t.Errorf("exit %d:\n%s", exit, out)
	}
}

// settings of a server that are found, and that are not found any more after what doctor says to set.
func TestSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		args     []string
		check    string
		severity Severity
		found    string
	}{
		{"evicts", []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, "eviction", Error, "allkeys-lru, and maxmemory is 104.9 MB"},
		{"would evict", []string{"--maxmemory-policy", "volatile-ttl"}, "eviction", Note, "there is no maxmemory"},
		{"keeps nothing", []string{"--appendonly", "no", "--save", ""}, "persistence", Warning, "neither AOF nor snapshots"},
		{"keeps snapshots", []string{"--appendonly", "no", "--save", "3600 1"}, "persistence", Warning, "only snapshots (save 3600 1)"},
		{"writes every second", []string{"--appendfsync", "everysec"}, "persistence", Note, "everysec"},
		{"writes some time", []string{"--appendfsync", "no"}, "persistence", Note, "appendfsync is no"},
		{"closes after a second", []string{"--timeout", "1"}, "timeouts", Warning, "timeout is 1"},
		{"closes soon", []string{"--timeout", "5"}, "timeouts", Note, "timeout is 5"},
		{"keeps the vanished", []string{"--tcp-keepalive", "0"}, "timeouts", Note, "tcp-keepalive is 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := healthy(t, c.args...)
			f := examined(t, server.URL()).want(t, c.check, c.severity, c.found)
			cure(t, server, f)
			examined(t, server.URL()).wantHealthy(t)
		})
	}
}

// cure does what a finding says.
func cure(t *testing.T, server *redistest.Server, f Finding) {
	t.Helper()
	for _, command := range f.Set {
		server.MustDo(strings.Fields(command)...)
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	server := healthy(t)
	server.MustDo("SETRANGE", "big", "50000000", "x") // beside which connections do not count
	info := func(field string) (value int64) {
		value, _ = strconv.ParseInt(fieldsOf(server.MustDo("INFO").Text)[field], 10, 64)
		return value
	}
	server.MustDo("CONFIG", "SET", "maxmemory", strconv.FormatInt(info("used_memory")*100/95, 10))
	examined(t, server.URL()).want(t, "memory", Warning, "are used")
	server.MustDo("CONFIG", "SET", "maxmemory", strconv.FormatInt(info("used_memory")/2, 10))
	cure(t, server, examined(t, server.URL()).want(t, "memory", Error, "are used", "locks"))
	examined(t, server.URL()).wantHealthy(t)

	// Redis makes room, and refuses no lock.
	server.MustDo("CONFIG", "SET", "maxmemory-policy", "allkeys-lru", "maxmemory", strconv.FormatInt(info("used_memory")*100/95, 10))
	examined(t, server.URL()).want(t, "eviction", Error, "allkeys-lru")
}

func TestWrites(t *testing.T) {
	t.Parallel()
	t.Run("a snapshot failed", func(t *testing.T) {
		server := healthy(t, "--save", "3600 1000000")
		dir := server.MustDo("CONFIG", "GET", "dir").Items[1].Text
		if err := os.Mkdir(filepath.Join(dir, "dump.rdb"), 0o700); err != nil { // nothing can be renamed to it
			t.Fatal(err)
		}
		server.MustDo("BGSAVE")
		redistest.Await(t, "the failure", func() bool { return strings.Contains(server.MustDo("INFO").Text, "rdb_last_bgsave_status:err") })
		f := examined(t, server.URL()).want(t, "writes", Error, "the last snapshot failed", "locks")
		if !strings.Contains(f.Harm, "MISCONF") {
			t.Error(f.Harm)
		}
		server.MustDo("CONFIG", "SET", "stop-writes-on-bgsave-error", "no")
		examined(t, server.URL()).want(t, "writes", Warning, "the last snapshot failed")
	})
	t.Run("the AOF cannot be written", func(t *testing.T) {
		// A file may have 64 KiB, and to write more is an error.
		server := &redisserver.Server{
			Program: []string{"sh", "-c", `trap '' XFSZ; ulimit -f 128; exec redis-server "$@"`, "sh"},
			Args:    []string{"--appendonly", "yes", "--appendfsync", "everysec"}, Dir: t.TempDir(),
		}
		t.Cleanup(server.Kill)
		testkit.Must(t, server.Start(t.Context()))
		server.Do("SET", "big", strings.Repeat("x", 100_000))
		redistest.Await(t, "the failure", func() bool { return strings.Contains(server.Do("INFO").Text, "aof_last_write_status:err") })
		examined(t, "redis://"+redisserver.Loopback(server.Port)).want(t, "writes", Error, "AOF failed", "locks", "persistence")
	})
}

func TestReplicas(t *testing.T) {
	t.Parallel()
	server := healthy(t)
	replica := redistest.StartReplica(t, server)
	f := examined(t, server.URL()).want(t, "replicas", Warning, "1 replica is connected, and the master goes on without it")
	cure(t, server, f)
	redistest.Await(t, "the replica to count", func() bool { return strings.Contains(server.MustDo("INFO").Text, "min_slaves_good_slaves:1") })
	examined(t, server.URL()).wantHealthy(t)
	f = examined(t, server.URL(), "--lease", "10s").want(t, "replicas", Warning, "min-replicas-max-lag is 10s, and the lease 10s", "latency")
	cure(t, server, f)
	examined(t, server.URL(), "--lease", "10s").want(t, "replicas", OK, "1 connected", "latency")

	examined(t, replica.URL()).want(t, "replicas", Error, "this is a replica of "+server.Addr(), "locks", "persistence")
	replica.Kill()
	redistest.Await(t, "the master to notice", func() bool { return strings.Contains(server.MustDo("INFO").Text, "connected_slaves:0") })
	examined(t, server.URL()).want(t, "replicas", Error, "0 replicas are connected, and min-replicas-to-write is 1", "locks")
}

func TestRights(t *testing.T) {
	t.Parallel()
	server := healthy(t)
	as := func(t *testing.T, rule ...string) string {
		t.Helper()
		server.MustDo(append([]string{"ACL", "SETUSER", "limited", "reset", "on", ">password"}, strings.Fields(strings.Join(rule, " "))...)...)
		return "redis://limited:password@" + server.Addr()
	}
	for _, lack := range []string{"hset", "subscribe", "evalsha", "script|load", "time"} {
		t.Run(lack, func(t *testing.T) {
			may := []string{"locks", "pubsub", "scripts", "clock", "latency"}
			url := as(t, "~*", "&*", "+@all", "-"+lack)
			f := examined(t, url).want(t, "rights", Error, lack, may...)
			cure(t, server, f)
			examined(t, url).wantHealthy(t)
		})
	}
	for _, lack := range [][]string{{"time", "hset", "subscribe"}, {"eval", "script|load", "evalsha", "time", "lpos", "publish"}} {
		t.Run("all at once: "+strings.Join(lack, ", "), func(t *testing.T) {
			url := as(t, "~*", "&*", "+@all", "-"+strings.Join(lack, " -"))
			cure(t, server, examined(t, url).want(t, "rights", Error, lack[0], "locks", "pubsub", "scripts", "clock", "latency", "slots"))
			examined(t, url).wantHealthy(t)
		})
	}
	t.Run("what may not be asked is not ok", func(t *testing.T) {
		url := as(t, "~*", "&*", "+@all", "-info", "-config")
		r := examined(t, url)
		for _, check := range []string{"eviction", "memory", "persistence", "writes", "replicas", "clients", "timeouts"} {
			if f := r.find(check); len(f) != 1 || f[0].Severity != Unknown || !strings.Contains(f[0].Found, "NOPERM") {
				t.Errorf("%s: %+v", check, f)
			}
		}
		if r.Unknown != 7 || r.Worst != OK {
			t.Errorf("%d could not be made, and the worst is %q", r.Unknown, r.Worst)
		}
		out, _, _ := doctor(t, url, "--during", "10ms")
		if !strings.Contains(out, "could not look: eviction, memory, persistence, writes, replicas, clients\n") {
			t.Error(out)
		}
	})
	t.Run("the question that was refused is named", func(t *testing.T) {
		examined(t, as(t, "~*", "&*", "+@all", "-script|load")).want(t, "clock", Unknown, "SCRIPT LOAD: NOPERM", "rights", "scripts", "latency", "locks")
	})
	t.Run("INFO without CONFIG", func(t *testing.T) {
		r := examined(t, as(t, "~*", "&*", "+@all", "-config"))
		for check, want := range map[string]Severity{"eviction": OK, "clients": OK, "persistence": Unknown, "timeouts": Unknown} {
			if f := r.find(check); f[0].Severity != want {
				t.Errorf("%s: %+v", check, f)
			}
		}
	})
	t.Run("names", func(t *testing.T) {
		rule := testkit.AclRule(t)
		url := as(t, rule...)
		examined(t, url).want(t, "locks", Unknown, "--prefix", "eviction", "memory", "persistence", "writes", "replicas", "clients", "timeouts", "slots", "pubsub")
		unasked := []string{"eviction", "memory", "persistence", "writes", "replicas", "clients", "timeouts"}
		examined(t, url, "--prefix", "app:").want(t, "locks", OK, "", unasked...)
		// One pattern has the channel of a lock and not the inboxes beside it; others have the keys of other kinds and not the line.
		closed := as(t, replaced(rule, "&redisson_lock__channel:{app:*", "&redisson_lock__channel:{app:*}")...)
		examined(t, closed, "--prefix", "app:").want(t, "pubsub", Warning, "NOPERM", append(unasked, "locks")...)
		examined(t, as(t, "~*", "resetchannels", "+@all")).want(t, "pubsub", Warning, "may not listen", "locks", "rights")
		unlined := as(t, replaced(rule, "~{app:*", "~{app:*}:*:rwlock_timeout:* ~{app:*}:wheellock:[^l]*")...)
		examined(t, unlined, "--prefix", "app:").want(t, "locks", Warning, "line for a mutex", unasked...)
		url = as(t, rule...)
		examined(t, url, "--prefix", "other:").want(t, "locks", Error, "NOPERM", append(unasked, "slots", "pubsub")...)
	})
}

// replaced is a rule in which one word is another one.
func replaced(rule []string, word, by string) []string {
	rule = slices.Clone(rule)
	rule[slices.Index(rule, word)] = by
	return rule
}

func TestRenamedCommands(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"PUBLISH", "PEXPIRE", "EVAL"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			server := healthy(t, "--rename-command", command, "")
			f := examined(t, server.URL()).want(t, "rights", Error, strings.ToLower(command), "locks", "pubsub", "slots")
			if !strings.Contains(f.Set[0], "rename-command") {
				t.Error(f.Set)
			}
		})
	}
}

// What proxies do to messages and to those who listen.
func TestPubSub(t *testing.T) {
	t.Parallel()
	server := healthy(t, "--rename-command", "HELLO", "", "--min-replicas-to-write", "1")
	replica := redistest.StartReplica(t, server, "--rename-command", "HELLO", "")
	examined(t, "redis://"+splitting(t, server.Addr(), replica.Addr())).want(t, "pubsub", Warning, "answered that nobody listens")

	proxy := redistest.NewProxy(t, healthy(t).Addr())
	proxy.LoseMessages()
	examined(t, proxy.URL()).want(t, "pubsub", Error, "not delivered")
}

func TestClients(t *testing.T) {
	t.Parallel()
	server := healthy(t, "--maxclients", "50")
	for range 41 {
		conn, err := net.Dial("tcp", server.Addr())
		testkit.Must(t, err)
		defer conn.Close()
	}
	cure(t, server, examined(t, server.URL()).want(t, "clients", Warning, "of 50 connections are open"))
	examined(t, server.URL()).wantHealthy(t)
}

func TestScriptsAreForgotten(t *testing.T) {
	t.Parallel()
	server := healthy(t)
	stop := testkit.Every(t, 20*time.Millisecond, func() { // often enough for some sample, and seldom enough for a lock
		if err := server.Do("SCRIPT", "FLUSH").Err(); err != nil {
			t.Error(err)
		}
	})
	r := examined(t, server.URL(), "--during", "1s")
	stop()
	r.want(t, "scripts", Warning, "did not have a loaded script")
	examined(t, server.URL()).want(t, "scripts", Note, "SCRIPT FLUSH ran") // before
	server.MustDo("CONFIG", "RESETSTAT")
	examined(t, server.URL()).wantHealthy(t)
}

// Through a proxy that says nothing of the mode, a node of a cluster whose user may not ask for the others looks like a server.
func TestAClusterThatShowsItselfAsOneServer(t *testing.T) {
	t.Parallel()
	node := healthy(t, "--cluster-enabled", "yes")
	node.MustDo("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	redistest.Await(t, "the node to serve", func() bool { return strings.Contains(node.MustDo("CLUSTER", "INFO").Text, "cluster_state:ok") })
	node.MustDo("ACL", "SETUSER", "limited", "on", ">password", "~*", "&*", "+@all", "-cluster")
	proxy := rewriting(t, node.Addr(), func(line string) string { return strings.Replace(line, "mode\r\n", "----\r\n", 1) })
	examined(t, "redis://limited:password@"+proxy).want(t, "slots", Warning, "this is a cluster")
}

// What the server's clock shows is changed on the way.
func TestClock(t *testing.T) {
	t.Parallel()
	server := healthy(t)
	seconds := regexp.MustCompile(`^\d{10}\r\n$`)
	shifted := func(by func(line int64) int64) string {
		var lines atomic.Int64
		return "redis://" + rewriting(t, server.Addr(), func(line string) string {
			if !seconds.MatchString(line) {
				return line
			}
			now, _ := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
			return strconv.FormatInt(now+by(lines.Add(1)), 10) + "\r\n"
		})
	}
	// Found is what they are apart at least: the way there and back is off it, which may take seconds on a busy machine.
	examined(t, shifted(func(int64) int64 { return 99 })).want(t, "clock", Note, "are 1m3")
	examined(t, shifted(func(int64) int64 { return -7209 })).want(t, "clock", Note, "are 2h0m")
	stepping := shifted(func(line int64) int64 { return 10 * line })
	f := examined(t, stepping, "--during", "2s").want(t, "clock", Error, "moved apart by")
	if !strings.Contains(f.Harm, "two holders") {
		t.Error(f.Harm)
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	server := healthy(t)
	proxy := redistest.NewProxy(t, server.Addr())
	proxy.Latency(redistest.Both, 20*time.Millisecond)
	examined(t, proxy.URL(), "--lease", "100ms").want(t, "latency", Error, "the lease is 100ms", "locks")
	f := examined(t, proxy.URL(), "--lease", "390ms").find("latency")[0]
	if f.Severity != Warning && f.Severity != Error { // the latter on a machine that was busy meanwhile
		t.Errorf("%+v", f)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	server := healthy(t)
	has := fieldsOf(server.MustDo("INFO").Text)["redis_version"]
	old := "6.0" + has[3:]
	proxy := rewriting(t, server.Addr(), func(line string) string { return strings.Replace(line, "redis_version:"+has, "redis_version:"+old, 1) })
	examined(t, "redis://"+proxy).want(t, "version", Error, old)
	readme, err := os.ReadFile("../../../../README.md")
	if oldest := strconv.Itoa(oldestMajor) + "." + strconv.Itoa(oldestMinor); err != nil || !strings.Contains(string(readme), "Redis "+oldest+" or newer") {
		t.Errorf("README.md does not ask for Redis %s or newer: %v", oldest, err)
	}
}

// make servers runs it on each server.
func TestProduct(t *testing.T) {
	t.Parallel()
	server := healthy(t)
	said, err := exec.Command("redis-server", "--version").Output() // "Valkey server v=8.1.1 sha=00000000:0 ..."
	testkit.Must(t, err)
	words := strings.Fields(string(said))
	product := words[0] + " " + strings.TrimPrefix(words[2], "v=")
	server.MustDo("ACL", "SETUSER", "limited", "on", ">password", "~*", "&*", "+@all", "-info")
	for _, url := range []string{server.URL(), "redis://limited:password@" + server.Addr()} {
		if f := examined(t, url).find("version")[0]; f.Severity != OK || f.Found != product && !strings.HasPrefix(f.Found, product+", which") {
			t.Errorf("of %s the version is %+v", product, f)
		}
	}
}

func TestConnection(t *testing.T) {
	t.Parallel()
	server, frozen := healthy(t, "--requirepass", "secret"), healthy(t)
	frozen.Freeze()
	t.Cleanup(frozen.Thaw)
	for name, c := range map[string]struct{ url, words string }{
		"no password":        {"redis://" + server.Addr(), "NOAUTH"},
		"a wrong password":   {"redis://:canary-7f3a@" + server.Addr(), "WRONGPASS"},
		"no TLS there":       {"rediss://:secret@" + server.Addr(), "TLS"},
		"sentinels with one": {"redis://" + server.Addr() + "?master_set=mymaster", "WHEELLOCK_SENTINEL_PASSWORD for the sentinels"},
		"nobody listens":     {"redis://user:canary-7f3a@127.0.0.1:" + strconv.Itoa(redistest.FreePort(t)), "Else name another one with --redis"},
		"no server behind":   {"redis://" + redistest.NewProxy(t, "127.0.0.1:1").Addr(), "hung up"},
		"no sentinel":        {"redis://127.0.0.1:1?addr=127.0.0.1:2&master_set=mymaster", "refused"},
		"it does not answer": {frozen.URL(), "no answer within"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := examined(t, c.url)
			f := r.want(t, "connection", Error, c.words, "locks", "cluster", "sentinels")
			if strings.Contains(f.Found+r.Deployment, "canary") {
				t.Errorf("the password is shown: %+v", r)
			}
		})
	}
}

// Over TLS all is as without.
func TestTLS(t *testing.T) {
	t.Parallel()
	ca := testkit.NewAuthority(t)
	cert := ca.Issue("127.0.0.1", time.Now().Add(time.Hour))
	_, addr := ca.Serve(cert, append(slices.Clone(keeps), "--requirepass", "secret")...)
	examined(t, "rediss://:secret@"+addr, "--cacert", ca.Args(cert)[1]).wantHealthy(t)
	examined(t, "rediss://:secret@"+addr).want(t, "connection", Error, "authority", "locks", "cluster")
}

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A report that cannot be written is a failure, whatever it says.
func TestAReportThatIsNotWritten(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t) // it forgets all locks in a restart: a warning
	var complaints bytes.Buffer
	c := Command()
	exit := c.Execute(t.Context(), &cli.Env{Stdout: full{}, Stderr: &complaints}, []string{"--during", "10ms", server.URL()})
	if exit != cli.ExitFailed || !strings.Contains(complaints.String(), "the output is not complete: no space left") {
		t.Errorf("exit %d: %s", exit, complaints.String())
	}
}

// Doctor says which signal ended it.
func TestDoctorIsEnded(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancelCause(t.Context())
	end(errors.New("interrupt signal received"))
	var complaints bytes.Buffer
	c := Command()
	exit := c.Execute(ctx, &cli.Env{Stdout: io.Discard, Stderr: &complaints}, []string{redistest.Start(t).URL()})
	if exit != cli.ExitFailed || complaints.String() != "wheellock doctor: interrupt signal received\n" {
		t.Errorf("exit %d: %s", exit, complaints.String())
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"a b":                       "one URL at most",
		"--during 1ms":              "from 10ms to 1h",
		"--lease 1ms":               "from 100ms to",
		"http://user:canary-7f3a@h": "redis://",
		"--lease never":             "--lease",
	} {
		out, complaints, exit := doctor(t, strings.Fields(words)...)
		if exit != cli.ExitUsage || out != "" || !strings.Contains(complaints, want) || strings.Contains(complaints, "canary") {
			t.Errorf("doctor %s: exit %d, %s%s", words, exit, out, complaints)
		}
	}
	out, _, exit := doctor(t, "-h")
	if exit != 0 {
		t.Error(exit)
	}
	for _, c := range checks {
		if !strings.Contains(out, "\n  "+c.name+" ") || (c.node == nil) == (c.all == nil) {
			t.Errorf("%s: the help does not name it, or it judges nothing", c.name)
		}
	}
	document, err := os.ReadFile("../../../../docs/OPERATIONS.md")
	testkit.Must(t, err)
	table := "|---|---|\n"
	for _, c := range checks {
		table += "| " + c.name + " | " + c.finds + " |\n"
	}
	if !strings.Contains(string(document), table) {
		t.Errorf("docs/OPERATIONS.md does not have this table:\n%s", table)
	}
	for line := range strings.Lines(out) {
		if len(line) > 81 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
}

// The bounds of the clocks' distance never report a step where there may be none.
func TestStepOf(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	even := []sample{{0, 2 * ms, 101 * ms, nil}, {10 * ms, 500 * ms, 600 * ms, nil}, {510 * ms, 512 * ms, 611 * ms, nil}}
	if step := stepOf(even); step != 0 {
		t.Errorf("a slow answer looks like a step of %v", step)
	}
	stepped := append(even, sample{520 * ms, 522 * ms, 1621 * ms, errors.New("NOSCRIPT")})
	if step := stepOf(stepped); step < 900*ms || step > time.Second {
		t.Errorf("a step of a second: %v", step)
	}
}
