package redisserver

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// MasterName is the name under which sentinels know the master.
const MasterName = "mymaster"

// Sentinel is one sentinel of a master, of which quorum must agree; it counts a master as down after 1 s of silence. Once started, it is to be hastened.
func Sentinel(master string, quorum int, args ...string) *Server {
	_, port, _ := net.SplitHostPort(master)
	return &Server{
		Program: []string{"redis-sentinel"},
		Command: func(own *Server) ([]string, error) {
			path := filepath.Join(own.Dir, "sentinel.conf")
			args := append([]string{path, "--port", strconv.Itoa(own.Port)}, args...) // wins over the port in the file
			if _, err := os.Stat(path); err == nil {
				return args, nil // a restart: the sentinel keeps its state in this file
			}
			conf := fmt.Sprintf("bind 127.0.0.1\ndir %q\n"+
				"sentinel monitor %[2]s 127.0.0.1 %s %d\n"+
				"sentinel down-after-milliseconds %[2]s 1000\n"+
				"sentinel failover-timeout %[2]s 2000\n"+
				"sentinel parallel-syncs %[2]s 16\n", own.Dir, MasterName, port, quorum)
			return args, os.WriteFile(path, []byte(conf), 0o600)
		},
	}
}

// Hasten gives a sentinel shorter periods than the defaults, or a failover takes 20 s. Two of them must not go lower, because Redis measures by
// them what happens at its own pace of one second:
//   - five ping periods is how old a replica's INFO may be to make it a candidate;
//   - four publish periods is how long a replica may call itself master before another sentinel, which has
//     not heard of the promotion yet, undoes it.
//
// A sentinel that stood still for two seconds trusts nothing that it has seen for its tilt period. That of 30 s would outlast every wait.
func (a *Admin) Hasten() resp.Reply {
	return a.Do("SENTINEL", "DEBUG", "INFO-PERIOD", "300", "PUBLISH-PERIOD", "500", "PING-PERIOD", "500", "TILT-PERIOD", "2000")
}
