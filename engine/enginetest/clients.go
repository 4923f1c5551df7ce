package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// client is a connection as CLIENT LIST shows it.
type client struct {
	name  string
	since time.Time
}

// noteName notes the name of a client, which the client sets by HELLO.
func (s *Server) noteName(peer *server.Peer, args []string) {
	i := slices.Index(args, "SETNAME")
	if i < 0 || i+1 == len(args) {
		return
	}
	peer.OnDisconnect(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.clients, peer)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[peer] = client{args[i+1], time.Now()}
}

// list is the answer to CLIENT LIST. All connections are in memory, and have one address.
func (s *Server) list() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines strings.Builder
	for _, c := range s.clients {
		fmt.Fprintf(&lines, "addr=memory:0 name=%s age=%d\n", c.name, int(time.Since(c.since).Seconds()))
	}
	return lines.String()
}
