package redistest

import (
	"net"
	"slices"
	"strconv"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit/redisserver"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// MasterName is the name under which sentinels know the master.
const MasterName = redisserver.MasterName

// Sentinel is one master, its replicas, and three sentinels of which two must agree. A master counts as
// down after 1 s of silence.
type Sentinel struct {
	Sentinels []*Server
	Nodes     []*Server // the master of the beginning comes first

	tb testing.TB
}

// StartSentinel runs a master with so many replicas (at least one, or no failover is possible) and three
// sentinels, and returns once each sentinel knows all of them.
func StartSentinel(tb testing.TB, replicas int) *Sentinel {
	tb.Helper()
	Require(tb, "redis-server", "redis-sentinel")
	s := &Sentinel{tb: tb, Nodes: []*Server{Start(tb)}}
	for range replicas {
		s.Nodes = append(s.Nodes, StartReplica(tb, s.Nodes[0]))
	}
	for range 3 {
		s.Sentinels = append(s.Sentinels, StartOneSentinel(tb, s.Nodes[0].Addr(), 2))
	}
	Await(tb, "sentinels that know each other and the replicas", func() bool {
		return !slices.ContainsFunc(s.Sentinels, func(sentinel *Server) bool {
			master := sentinel.Do("SENTINEL", "MASTER", MasterName).Fields()
			return master["flags"] != "master" || master["num-other-sentinels"] != "2" ||
				master["num-slaves"] != strconv.Itoa(replicas)
		}) && s.settledOn(s.Nodes[0].Addr())
	})
	return s
}

// StartOneSentinel runs one sentinel of a master, of which quorum must agree, with shorter periods than the defaults.
func StartOneSentinel(tb testing.TB, master string, quorum int, args ...string) *Server {
	tb.Helper()
	own := redisserver.Sentinel(master, quorum, args...)
	own.Password = valueOf(args, "--requirepass")
	sentinel := run(tb, own)
	if err := own.Hasten().Err(); err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	return sentinel
}

// Addrs are the addresses of the sentinels, as a client wants them.
func (s *Sentinel) Addrs() []string { return addrs(s.Sentinels) }

// Master is the address of the master as the first sentinel that answers sees it.
func (s *Sentinel) Master() string {
	s.tb.Helper()
	for _, sentinel := range s.Sentinels {
		if addr := masterAt(sentinel); addr != "" {
			return addr
		}
	}
	s.tb.Fatal("redistest: no sentinel answers")
	return ""
}

// masterAt asks one sentinel; an empty address says that it gave none.
func masterAt(sentinel *Server) string {
	at := sentinel.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MasterName).Texts()
	if len(at) != 2 {
		return ""
	}
	return net.JoinHostPort(at[0], at[1])
}

// Node is the server at an address, or nil.
func (s *Sentinel) Node(addr string) *Server {
	for _, node := range s.Nodes {
		if node.Addr() == addr {
			return node
		}
	}
	return nil
}

// Failover has the sentinels make a replica the master and returns its address, once they have settled:
// every sentinel that answers names it, and it and they see every other node that answers follow it. It may
// be called again and again. The old master takes writes for about 2 s longer, as with any Sentinel.
func (s *Sentinel) Failover() string {
	s.tb.Helper()
	old := s.Master()
	return s.awaitMaster(old, s.startFailover)
}

// AwaitMaster waits until the sentinels have settled, as Failover says, on a master other than old, such
// as after old was killed, and returns its address.
func (s *Sentinel) AwaitMaster(old string) string {
	s.tb.Helper()
	return s.awaitMaster(old, func() {})
}

// awaitMaster calls insist as long as old is the master: a failover can fail, and is then begun anew.
func (s *Sentinel) awaitMaster(old string, insist func()) string {
	s.tb.Helper()
	var master string
	Await(s.tb, "a master other than "+old, func() bool {
		if master = s.Master(); master == old {
			insist()
			return false
		}
		return s.settledOn(master)
	})
	return master
}

// startFailover asks the first sentinel that answers. While one is under way it says INPROG, and until it
// knows of a replica in step NOGOODSLAVE; a second sentinel must not be asked instead, or two failovers run.
func (s *Sentinel) startFailover() {
	for _, sentinel := range s.Sentinels {
		if sentinel.Do("SENTINEL", "FAILOVER", MasterName).Kind != 0 {
			return
		}
	}
}

func (s *Sentinel) settledOn(master string) bool {
	for _, sentinel := range s.Sentinels {
		if at := masterAt(sentinel); at != "" && (at != master || !seesFollowers(sentinel, master)) {
			return false
		}
	}
	for _, node := range s.Nodes {
		role := resp.InfoFields(node.Do("INFO", "replication").Text)
		follows := net.JoinHostPort(role["master_host"], role["master_port"])
		switch {
		case len(role) == 0: // dead or frozen
		case node.Addr() == master:
			if role["role"] != "master" {
				return false
			}
		case follows != master || role["master_link_status"] != "up":
			return false
		}
	}
	return true
}

// seesFollowers reports whether a sentinel knows every replica it can reach to follow master. One that
// remembers the role of before would undo that replica's next promotion.
func seesFollowers(sentinel *Server, master string) bool {
	for _, item := range sentinel.Do("SENTINEL", "REPLICAS", MasterName).Items {
		replica := item.Fields()
		follows := net.JoinHostPort(replica["master-host"], replica["master-port"])
		reachable := replica["flags"] == "slave"
		if reachable && (replica["role-reported"] != "slave" || replica["master-link-status"] != "ok" || follows != master) {
			return false
		}
	}
	return true
}

// addrs gives the addresses of servers.
func addrs(servers []*Server) []string {
	list := make([]string, 0, len(servers))
	for _, server := range servers {
		list = append(list, server.Addr())
	}
	return list
}
