package redistest

import (
	"errors"
	"net"
	"slices"
	"strconv"
	"testing"

	"github.com/wheellock/wheellock/internal/testkit/redisserver"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// Endpoint is something to connect to: a Server, or a Proxy before one.
type Endpoint interface {
	Addr() string // "host:port"
}

// StartReplica runs a server that follows master and returns once it has all of master's data. Given a
// Proxy, replication goes through it and can be delayed or cut; given a Server, its password is used.
func StartReplica(tb testing.TB, master Endpoint, args ...string) *Server {
	tb.Helper()
	host, port, err := net.SplitHostPort(master.Addr())
	if err != nil {
		tb.Fatalf("redistest: address of the master: %v", err)
	}
	follow := []string{"--replicaof", host, port}
	source := &redisserver.Admin{Network: "tcp", Addr: master.Addr()}
	if server, direct := master.(*Server); direct && server.server.Password != "" {
		source.Password = server.server.Password
		follow = append(follow, "--masterauth", source.Password)
	}
	defer source.Close()
	replica := Start(tb, append(follow, args...)...)
	replica.awaitSync(source)
	return replica
}

// awaitSync waits until what master writes reaches the server. That its link is up is not enough: master
// sends nothing before it has the replica's first acknowledgement, up to a second later. So master is made
// to write into the stream, by a WAIT that asks for more replicas than there are, and that is waited for.
func (s *Server) awaitSync(master *redisserver.Admin) {
	s.tb.Helper()
	Await(s.tb, "replica "+s.Addr()+" linked to its master", s.inSync)
	asked := master.Do("WAIT", "1000", "1").Err()
	told := master.Do("INFO", "replication")
	if err := errors.Join(asked, told.Err()); err != nil {
		s.tb.Fatal(err)
	}
	want := offset(told, "master_repl_offset")
	Await(s.tb, "replica "+s.Addr()+" in step with its master", func() bool {
		return offset(s.Do("INFO", "replication"), "slave_repl_offset") >= want
	})
	Await(s.tb, "the acknowledgement of replica "+s.Addr(), func() bool { // the first may be of nothing
		master.Do("WAIT", "1000", "1")
		replicas := master.Do("ROLE").Items[2].Items
		return !slices.ContainsFunc(replicas, func(one Reply) bool { return one.Texts()[2] == "0" })
	})
}

// offset reads a place in the replication stream; 0 when there is none.
func offset(info Reply, field string) int64 {
	at, _ := strconv.ParseInt(resp.InfoFields(info.Text)[field], 10, 64) // Redis writes a number or no such field
	return at
}

// inSync reports whether the server is a replica whose link is up.
func (s *Server) inSync() bool {
	return resp.InfoFields(s.Do("INFO", "replication").Text)["master_link_status"] == "up"
}
