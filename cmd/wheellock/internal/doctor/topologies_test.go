package doctor

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/internal/testkit/resp"
	"github.com/wheellock/wheellock/scripts"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 1)
	for _, n := range cluster.Nodes {
		for _, words := range [][]string{{"appendonly", "yes"}, {"appendfsync", "always"}, {"min-replicas-to-write", "1"}} {
			n.MustDo("CONFIG", "SET", words[0], words[1])
		}
	}
	redistest.Await(t, "all to know the replicas", func() bool {
		return !slices.ContainsFunc(cluster.Nodes, func(n *redistest.Server) bool {
			return slices.ContainsFunc(n.MustDo("CLUSTER", "SLOTS").Items, func(r redistest.Reply) bool { return len(r.Items) != 4 })
		})
	})
	url := "redis://" + cluster.Nodes[0].Addr()
	r := examined(t, url)
	r.wantHealthy(t)
	examined(t, url, "--prefix", "{app}:").wantHealthy(t) // all names are in one hash slot
	if len(r.find("version")) != 6 || len(r.find("pubsub")) != 3 {
		t.Errorf("%d servers and %d masters were looked at", len(r.find("version")), len(r.find("pubsub")))
	}

	listener, err := resp.Dial("tcp", cluster.Nodes[4].Addr(), "", "", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	listener.Do("SUBSCRIBE", "redisson_topic", "redisson_sc")
	examined(t, url).wantHealthy(t)
	listener.Do("SUBSCRIBE", scripts.RWChannel("prices"))
	examined(t, url).want(t, "channels", Note, "such as \"redisson_rwlock:{prices}\"")
	many := []string{"SUBSCRIBE"} // more than a reply may have
	for i := range 1 << 16 {
		many = append(many, scripts.LockChannel(strconv.Itoa(i)))
	}
	listener.Do(many...) // its answer is that to an earlier command
	redistest.Await(t, "all channels", func() bool {
		return cluster.Nodes[4].MustDo("PUBSUB", "NUMSUB", scripts.LockChannel("65535")).Items[1].Int == 1
	})
	examined(t, url).want(t, "channels", Note, "such as \"redisson_lock__channel:{")
	listener.Close()

	move := cluster.BeginMove(7, cluster.Nodes[1])
	r = examined(t, url)
	r.want(t, "cluster", Warning, "on their way to another master, or from one: 1, such as 7")
	for _, n := range []*redistest.Server{move.From, move.To} {
		if !slices.ContainsFunc(r.find("cluster"), func(f Finding) bool { return f.Server == n.Addr() }) {
			t.Errorf("nothing is found at %s: %+v", n.Addr(), r.find("cluster"))
		}
	}
	move.Finish()
	examined(t, url).wantHealthy(t)

	// A replica that may not take over does not fail.
	mayTakeOver := func(may bool) {
		cluster.Nodes[3].MustDo("CONFIG", "SET", "cluster-replica-no-failover", map[bool]string{true: "no", false: "yes"}[may])
		redistest.Await(t, "all to hear of it", func() bool {
			return !slices.ContainsFunc(cluster.Nodes, func(n *redistest.Server) bool {
				return strings.Contains(n.MustDo("CLUSTER", "NODES").Text, "nofailover") == may
			})
		})
	}
	mayTakeOver(false)
	r = examined(t, url)
	r.want(t, "cluster", Warning, "has no replica that can take over")
	if found := r.find("cluster"); len(found) != 1 {
		t.Errorf("the replica works: %+v", found)
	}
	mayTakeOver(true)

	// The replica of the last master ends: the cluster serves all hash slots, but would not without that master.
	last := cluster.Nodes[len(cluster.Nodes)-1]
	last.Kill()
	redistest.Await(t, "the replica to fail", func() bool {
		return strings.Contains(cluster.Nodes[0].MustDo("CLUSTER", "NODES").Text, "slave,fail ")
	})
	for words, server := range map[string]string{"this node fails": last.Addr(), "has no replica that can take over": cluster.Nodes[2].Addr()} {
		if f := examined(t, url).want(t, "cluster", Warning, words, "connection", "replicas", "locks"); f.Server != server {
			t.Errorf("%s: at %s, want %s", words, f.Server, server)
		}
	}

	cluster.Nodes[2].Kill() // and its master
	redistest.Await(t, "the master to fail", func() bool {
		return strings.Contains(cluster.Nodes[0].MustDo("CLUSTER", "INFO").Text, "cluster_state:fail")
	})
	f := examined(t, url).want(t, "cluster", Error, "cluster_state is fail", "connection", "replicas", "locks", "pubsub", "scripts", "clock", "latency", "rights")
	if !strings.Contains(f.Found, "of 16384 hash slots") {
		t.Error(f.Found)
	}
	examined(t, url).want(t, "connection", Error, "does not answer", "cluster", "replicas", "locks", "pubsub", "scripts", "rights")
}

// On Valkey 9.1 a script in which one command has keys of two hash slots makes every later one fail. Elsewhere it does nothing.
func TestClusterInWhichEveryScriptFails(t *testing.T) {
	t.Parallel()
	node := aloneInItsCluster(t)
	healthy := examined(t, node.URL())
	if f := healthy.find("slots"); len(f) != 1 || f[0].Severity != OK {
		t.Errorf("before: %+v", f)
	}
	node.Do("EVAL", "return redis.pcall('EXISTS', 'a', 'b')", "1", "a")
	if node.Do("EVAL", "return redis.call('PING')", "0").Err() == nil {
		t.Skip("SKIPPED: this server goes on, and Valkey 9.1 would not. NOT PROVED: that a node on which every script fails is recognised.")
	}
	examined(t, node.URL()).want(t, "slots", Error, "every script fails", "rights", "locks", "cluster", "pubsub", "channels", "scripts", "clock", "latency")
}

func aloneInItsCluster(t *testing.T) *redistest.Server {
	t.Helper()
	node := healthy(t, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(redistest.FreePort(t)))
	node.MustDo("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	redistest.Await(t, "the cluster", func() bool { return strings.Contains(node.MustDo("CLUSTER", "INFO").Text, "cluster_state:ok") })
	return node
}

// What a script was refused is told without what the server adds about the script.
func TestClusterWhoseChannelsMayNotBeListed(t *testing.T) {
	t.Parallel()
	node := aloneInItsCluster(t)
	node.MustDo("ACL", "SETUSER", "limited", "on", ">password", "~*", "&*", "+@all", "-pubsub|channels")
	f := examined(t, "redis://limited:password@"+node.Addr()).want(t, "channels", Unknown, "PUBSUB CHANNELS: ", "cluster")
	if strings.Contains(f.Found, "user_script") {
		t.Error(f.Found)
	}
}

func TestClusterWithoutShardedChannels(t *testing.T) {
	t.Parallel()
	node := healthy(t, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(redistest.FreePort(t)), "--rename-command", "PUBSUB", "")
	node.MustDo("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	redistest.Await(t, "the cluster", func() bool { return strings.Contains(node.MustDo("CLUSTER", "INFO").Text, "cluster_state:ok") })
	examined(t, node.URL()).want(t, "channels", Note, "no sharded channels", "rights", "locks", "cluster")
}

func TestSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t, 1)
	each := func(words ...string) {
		for _, sentinel := range s.Sentinels {
			sentinel.MustDo(append([]string{"SENTINEL"}, words...)...)
		}
	}
	// Nobody is to fail over here, and with the quorum of 1 below one sentinel could, of a master that a busy machine keeps silent for a second.
	each("SET", redistest.MasterName, "down-after-milliseconds", "20000")
	for _, n := range s.Nodes {
		for _, words := range [][]string{{"appendonly", "yes"}, {"appendfsync", "always"}, {"min-replicas-to-write", "1"}} {
			n.MustDo("CONFIG", "SET", words[0], words[1])
		}
	}
	url := "redis://" + s.Addrs()[0] + "?master_set=" + redistest.MasterName
	for _, addr := range s.Addrs()[1:] {
		url += "&addr=" + addr
	}
	r := examined(t, url)
	r.wantHealthy(t)
	if len(r.find("version")) != 2 || len(r.find("pubsub")) != 1 {
		t.Errorf("%d servers and %d masters were looked at", len(r.find("version")), len(r.find("pubsub")))
	}
	s.Nodes[1].MustDo("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	if f := examined(t, url).want(t, "eviction", Note, "allkeys-lru"); f.Server != s.Nodes[1].Addr() {
		t.Errorf("the replica evicts, and not %s", f.Server)
	}
	s.Nodes[1].MustDo("CONFIG", "SET", "maxmemory-policy", "noeviction")

	// The replica may not log in at its master any more.
	link := func(state string) {
		redistest.Await(t, "the link to the master to be "+state, func() bool {
			return strings.Contains(s.Nodes[1].MustDo("INFO").Text, "master_link_status:"+state)
		})
	}
	s.Nodes[1].MustDo("CONFIG", "SET", "masterauth", "wrong")
	s.Nodes[1].MustDo("CLIENT", "KILL", "TYPE", "master")
	link("down")
	if f := examined(t, url).want(t, "replicas", Warning, "its link to the master is down", "locks"); f.Server != s.Nodes[1].Addr() {
		t.Errorf("the replica is cut off, and not %s", f.Server)
	}
	s.Nodes[1].MustDo("CONFIG", "SET", "masterauth", "")
	link("up")
	redistest.Await(t, "the replica to count", func() bool { return strings.Contains(s.Nodes[0].MustDo("INFO").Text, "min_slaves_good_slaves:1") })

	each("SET", redistest.MasterName, "quorum", "1")
	f := examined(t, url).want(t, "sentinels", Note, "the quorum is 1")
	each(strings.Fields(f.Set[0])[1:]...)
	examined(t, url).wantHealthy(t)

	each("SET", redistest.MasterName, "down-after-milliseconds", "60000")
	f = examined(t, url, "--lease", "30s").want(t, "sentinels", Note, "down-after-milliseconds is 1m0s, and the lease 30s")
	each(strings.Fields(f.Set[0])[1:]...)
	examined(t, url, "--lease", "30s").wantHealthy(t)

	// One is told of another master.
	other := redistest.Start(t, keeps...)
	_, port, _ := strings.Cut(other.Addr(), ":")
	s.Sentinels[2].MustDo("SENTINEL", "REMOVE", redistest.MasterName)
	s.Sentinels[2].MustDo("SENTINEL", "MONITOR", redistest.MasterName, "127.0.0.1", port, "2")
	r = examined(t, url)
	r.want(t, "sentinels", Error, "different masters", "replicas")
	if found := r.find("sentinels"); !slices.ContainsFunc(found, func(f Finding) bool {
		return strings.Contains(f.Found, "know no replica") || strings.Contains(f.Found, "NOQUORUM")
	}) {
		t.Errorf("the sentinel that is alone with its master: %+v", found)
	}

	// A server stands among the sentinels.
	if f := examined(t, url+"&addr="+other.Addr()).want(t, "sentinels", Warning, "unknown command 'SENTINEL'"); !strings.Contains(f.Set[0], "no sentinel") {
		t.Errorf("what to do about a server that is no sentinel: %q", f.Set)
	}

	s.Sentinels[0].MustDo("SENTINEL", "SET", redistest.MasterName, "down-after-milliseconds", "1000")
	for _, sentinel := range s.Sentinels[1:] {
		sentinel.Kill()
	}
	redistest.Await(t, "the last sentinel to notice", func() bool {
		return s.Sentinels[0].Do("SENTINEL", "CKQUORUM", redistest.MasterName).Err() != nil
	})
	for severity, words := range map[Severity]string{Error: "NOQUORUM", Warning: "sentinel " + s.Addrs()[1] + ": dial tcp"} {
		examined(t, url).want(t, "sentinels", severity, words)
	}
	s.Sentinels[0].MustDo("SENTINEL", "RESET", redistest.MasterName)
	examined(t, url).want(t, "sentinels", Warning, "1 sentinel is known")
	s.Nodes[0].Kill()
	redistest.Await(t, "the sentinel to notice", func() bool {
		return strings.Contains(s.Sentinels[0].MustDo("SENTINEL", "MASTER", redistest.MasterName).Fields()["flags"], "down")
	})
	examined(t, url).want(t, "sentinels", Error, "the master's flags are", "connection", "locks")
}

// A warning that several masters deserve is told once, with all of them.
func TestClusterWithoutReplicas(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	out, _, exit := doctor(t, "redis://"+cluster.Nodes[0].Addr(), "--during", "10ms")
	if exit != 1 || strings.Count(out, "no replica that can take over") != 1 || !strings.Contains(out, "\nwarning: cluster at each of 3 servers\n") {
		t.Errorf("exit %d, want one warning about the replicas of three masters:\n%s", exit, out)
	}
}
