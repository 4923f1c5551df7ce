package main

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit"
)

// topologies are where every command works, with the flags that name the Redis.
var topologies = map[string]func(t *testing.T) []string{
	"single server": func(t *testing.T) []string { return []string{"--redis", redistest.Start(t).URL()} },
	"Sentinel": func(t *testing.T) []string {
		addrs := redistest.StartSentinel(t, 1).Addrs()
		return []string{"--redis", "redis://" + addrs[0] + "?master_set=" + redistest.MasterName + "&addr=" + url.QueryEscape(addrs[1])}
	},
	"Cluster": func(t *testing.T) []string {
		return []string{"--redis", "redis://" + redistest.StartCluster(t, 3, 1).Addrs()[0]}
	},
	"TLS and password": func(t *testing.T) []string {
		ca := testkit.NewAuthority(t)
		cert := ca.Issue("127.0.0.1", time.Now().Add(time.Hour))
		_, addr := ca.Serve(cert, "--requirepass", "hunter2", "--tls-auth-clients", "yes")
		files := ca.Args(cert)
		password := filepath.Join(t.TempDir(), "password")
		testkit.Must(t, os.WriteFile(password, []byte("hunter2\n"), 0o600))
		return []string{"--redis", "rediss://" + addr, "--password-file", password, "--cacert", files[1], "--cert", files[3], "--key", files[5]}
	},
}

// Every command does its work on every topology.
func TestEveryCommandOnEveryTopology(t *testing.T) {
	t.Parallel()
	for name, start := range topologies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := start(t)
			call := func(args ...string) *program {
				t.Helper()
				return wheellock(t, append(append([]string{args[0]}, flags...), args[1:]...)...)
			}
			call("lock", "job", "--", "sh", "-c", `echo "$WHEELLOCK_NAME has token $WHEELLOCK_TOKEN"; exit 3`).want(t, 3, "job has token 1")
			holder := call("lock", "job", "--", "sleep", "60").begin(t)
			leader := call("elect", "scheduler", "--", "sh", "-c", `echo "term $WHEELLOCK_TERM"; exec sleep 60`).begin(t)
			redistest.Await(t, "both to be held", func() bool {
				ls := call("ls")
				ls.run(t)
				return strings.Contains(ls.stdout.String(), " job\n") && strings.Contains(ls.stdout.String(), " scheduler\n")
			})
			for _, wait := range []string{"--try", "--wait=1s"} {
				call("lock", wait, "job", "--", "true").want(t, 75, "held by another owner", "; the owner is wheellock.test@")
			}
			call("show", "job").want(t, 0, "fenced lock", "127.0.0.1:", "hold count 1", "waiting    0 processes")
			waiter := call("lock", "job", "--", "echo", "got it").begin(t)
			redistest.Await(t, "a waiter", func() bool {
				show := call("show", "--json", "job")
				show.want(t, 0)
				return decode[struct{ Waiting int }](t, show)[0].Waiting == 1
			})
			call("show", "scheduler").want(t, 0, "leader ")
			call("top", "--count", "2", "--interval", "100ms").want(t, 0, "held=3 waiting=1", `"job"`)
			watcher := watch(t, append(flags, "--interval", "1h", "job", "other")...)
			watcher.want("held", "job", ".test@")
			watcher.want("free", "other", "")
			call("force", "--yes", "job").want(t, 0, "freed job")
			watcher.want("freed", "job", ".test@")
			watcher.ends()
			holder.end(t)
			holder.want(t, 74, "lost")
			waiter.end(t)
			waiter.want(t, 0, "got it")
			_ = leader.Process.Signal(os.Interrupt)
			leader.end(t)
			leader.want(t, 130, "term 1")
			call("show", "scheduler").want(t, 1, "nobody")
			if got := call("ls", "--json"); len(decode[struct{}](t, got.want(t, 0))) > 0 {
				t.Errorf("left: %s", got.stdout.String())
			}
		})
	}
}

// top sees what is on a master that joins the cluster while it runs.
func TestTopSeesMastersThatJoin(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	hold := func(name string) {
		cluster.NodeOf(cluster.Slot(name)).MustDo("HSET", name, "5b6347ed-ad50-8731-b33b-a0a5d591a909:1", "1")
	}
	hold("job")
	top := wheellock(t, "top", "--interval", "100ms", "--redis", "redis://"+cluster.Addrs()[0])
	top.Stdout = nil
	out, err := top.StdoutPipe()
	testkit.Must(t, err)
	top.begin(t)
	lines := bufio.NewScanner(out)
	await := func(words string) {
		t.Helper()
		for range 300 { // half a minute
			if lines.Scan() && strings.Contains(lines.Text(), words) {
				return
			}
		}
		t.Fatalf("top does not say %q: %q, %s", words, lines.Text(), top.stderr.String())
	}
	await("held=1 ")
	cluster.MoveSlot(cluster.Slot("job"), cluster.AddMaster())
	hold("another")
	await("held=2 ")
}

// A master that cannot be asked hides its own locks, and no others. Which one that is, is told, and by the exit code that there is one.
func TestWhatIsLeftOfAClusterIsShown(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	addrs, names := cluster.Addrs(), make([]string, 3)
	for i, node := range cluster.Nodes {
		node.MustDo("CONFIG", "SET", "cluster-require-full-coverage", "no")
		for n := 0; names[i] == "" || cluster.NodeOf(cluster.Slot(names[i])) != node; n++ {
			names[i] = fmt.Sprintf("job-%c-%d", 'a'+i, n)
		}
		node.MustDo("HSET", names[i], "5b6347ed-ad50-8731-b33b-a0a5d591a909:1", "1")
	}
	cluster.Nodes[1].Kill()
	call := func(args ...string) *program {
		return wheellock(t, append(args, "--redis", "redis://"+addrs[0]+"?addr="+addrs[2])...)
	}
	const notAll = "could not ask the master at "
	for _, p := range []*program{
		call("ls"), call("ls", "--sort", "ttl"), call("ls", "--json"),
		call("top", "--count", "1"), call("top", "--count", "2", "--interval", "100ms", "--json"),
	} {
		p.want(t, 69, "job-a-", "job-c-", notAll+addrs[1])
		if said := p.stderr.String(); strings.Contains(p.stdout.String(), "job-b-") || strings.Contains(said, addrs[0]) || strings.Contains(said, addrs[2]) {
			t.Errorf("%q said:\n%s%s", p.Args[1:], p.stdout.String(), said)
		}
	}
	top := call("top", "--count", "1", "--json").want(t, 69)
	if got := decode[struct{ Unasked []string }](t, top)[0].Unasked; !slices.Equal(got, addrs[1:2]) {
		t.Errorf("top: unasked are %q, want %q", got, addrs[1:2])
	}
	call("top", "--count", "1").want(t, 69, "held=2+ waiting=? ")
	call("show", names[0]).want(t, 0, "held by")
	call("show", names[1]).want(t, 69, notAll+addrs[1])

	// The cluster is down: what lives may be read, if that is allowed, and not written.
	setAll := func(words ...string) {
		for _, i := range []int{0, 2} {
			cluster.Nodes[i].MustDo(append([]string{"CONFIG", "SET"}, words...)...)
		}
	}
	setAll("cluster-require-full-coverage", "yes")
	for _, i := range []int{0, 2} {
		cluster.Nodes[i].MustDo("CLUSTER", "SETSLOT", "0", "STABLE") // which has it look anew: one that had marked the node before would not
		redistest.Await(t, "a node that knows that the cluster is down", func() bool {
			return strings.Contains(cluster.Nodes[i].MustDo("CLUSTER", "INFO").Text, "cluster_state:fail")
		})
	}
	ls := call("ls").want(t, 69)
	if said := ls.stderr.String(); ls.stdout.Len() > 0 || strings.Count(said, "CLUSTERDOWN") != 2 || strings.Count(said, "\n") != 1 {
		t.Errorf("ls of a cluster that is down said:\n%s%s", ls.stdout.String(), said)
	}
	setAll("cluster-allow-reads-when-down", "yes")
	call("ls").want(t, 69, "job-a-", "job-c-", notAll+addrs[1])
	call("force", "--yes", names[0]).want(t, 69, "held by", "the cluster is down")
}

// A hash slot on its way hides no lock. Where nodes disagree about one, and send a question for its names back and forth, the question ends.
func TestHashSlotsThatMove(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	slot := cluster.Slot("job")
	from := cluster.NodeOf(slot)
	to := cluster.Nodes[(slices.Index(cluster.Nodes, from)+1)%3]
	call := func(args ...string) *program {
		return wheellock(t, append(args, "--redis", "redis://"+cluster.Addrs()[0])...)
	}
	from.MustDo("HSET", "job", "5b6347ed-ad50-8731-b33b-a0a5d591a909:1", "1")
	move := cluster.BeginMove(slot, to)
	move.Carry("job")
	call("ls").want(t, 0, " job\n")
	call("show", "job").want(t, 0, "5b6347ed-ad50-8731-b33b-a0a5d591a909:1")
	call("top", "--count", "1").want(t, 0, "held=1 ")
	call("force", "--yes", "job").want(t, 0, "freed job")
	move.Finish()
	for i, node := range []*redistest.Server{from, to} {
		other := []*redistest.Server{to, from}[i]
		node.MustDo("CLUSTER", "SETSLOT", strconv.Itoa(slot), "NODE", other.MustDo("CLUSTER", "MYID").Text)
	}
	call("show", "job").want(t, 69, "MOVED")
}

// Sentinels have a password of their own. It is in the environment, is not the server's, and is never shown.
func TestSentinelsWithAPassword(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	sentinel := redistest.StartOneSentinel(t, master.Addr(), 1, "--requirepass", "sesame")
	url := "redis://" + sentinel.Addr() + "?master_set=" + redistest.MasterName
	call := func(exit int, password string, args ...string) *program {
		t.Helper()
		p := wheellock(t, append([]string{args[0], "--redis", url}, args[1:]...)...)
		p.Env = append(p.Env, "WHEELLOCK_SENTINEL_PASSWORD="+password)
		if p.want(t, exit); strings.Contains(p.stdout.String()+p.stderr.String(), "sesame") {
			t.Errorf("%q shows the password", args)
		}
		return p
	}
	call(3, "sesame", "lock", "job", "--", "sh", "-c", "exit 3")
	call(0, "sesame", "ls").want(t, 0, "NAME")
	file := filepath.Join(t.TempDir(), "password") // is the server's alone
	testkit.Must(t, os.WriteFile(file, []byte("hunter2"), 0o600))
	master.MustDo("ACL", "SETUSER", "app", "on", ">hunter2", "~*", "&*", "+@all")
	call(0, "sesame", "lock", "--user", "app", "--password-file", file, "job", "--", "true")
	call(1, "sesame", "doctor").want(t, 1, "1 sentinel is known")
	for _, password := range []string{"", "wrong"} {
		for command, exit := range map[string]int{"ls": 69, "doctor": 2} {
			call(exit, password, command).want(t, exit, "WHEELLOCK_SENTINEL_PASSWORD for the sentinels")
		}
	}
}

// A Sentinel in the place of a server is told from one, and so is what to do.
func TestSentinelWithoutMasterSet(t *testing.T) {
	t.Parallel()
	url := "redis://" + redistest.StartSentinel(t, 0).Addrs()[0]
	for _, args := range [][]string{{"ls"}, {"show", "job"}, {"top", "--count", "1"}, {"lock", "job", "--", "true"}} {
		wheellock(t, append([]string{args[0], "--redis", url}, args[1:]...)...).want(t, 69, "add ?master_set=NAME to the URL", redistest.MasterName)
	}
	for _, command := range []string{"ls", "doctor"} {
		exit := map[string]int{"ls": 69, "doctor": 2}[command]
		wheellock(t, command, "--redis", url+"?master_set=other").want(t, exit, "No such master", "SENTINEL MASTERS lists")
	}
	wheellock(t, "doctor", url).want(t, 2, "this is a Sentinel", "add ?master_set=NAME to the URL (it knows "+redistest.MasterName+")")
}

// A replica says that it is one. What it has while it is not connected to its master is not told as what is held, and it frees nothing.
func TestAReplicaSaysSo(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.StartReplica(t, master)
	master.MustDo("HSET", "job", "5b6347ed-ad50-8731-b33b-a0a5d591a909:1", "1")
	redistest.Await(t, "the replica to have it", func() bool { return replica.MustDo("EXISTS", "job").Int == 1 })
	urls := map[string]string{
		" of " + master.Addr(): replica.URL(),
		"":                     asUser(replica, "~*", "&*", "+@all", "-info"),
	}
	looks := [][]string{{"ls"}, {"show", "job"}, {"top", "--count", "2", "--interval", "100ms"}}
	for of, url := range urls {
		for _, args := range looks {
			p := wheellock(t, append(args, "--redis", url)...).want(t, 0, "job", "the server is a replica"+of+", and may be behind it\n")
			if said := p.stderr.String(); strings.Count(said, "\n") != 1 {
				t.Errorf("%q said %s", args, said)
			}
		}
		wheellock(t, "force", "--yes", "job", "--redis", url).want(t, 69, "the server is a replica"+of+", which frees no lock")
	}
	master.Kill()
	redistest.Await(t, "the replica to lose its master", func() bool {
		return strings.Contains(replica.MustDo("INFO", "replication").Text, "master_link_status:down")
	})
	for _, data := range []string{"job", ""} { // with what it had, and as one that waits for its first sync
		for _, args := range looks {
			wheellock(t, append(args, "--redis", replica.URL())...).want(t, 69, data, "the server is a replica of "+master.Addr()+", and not connected to it")
		}
		replica.MustDo("CONFIG", "SET", "replica-read-only", "no")
		replica.MustDo("FLUSHALL")
	}
	wheellock(t, "doctor", replica.URL()).want(t, 2, "this is a replica of "+master.Addr(), "its link to the master is down")
}
