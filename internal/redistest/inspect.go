package redistest

import (
	"slices"
	"strings"

	"github.com/wheellock/wheellock/internal/testkit/redisserver"
	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// Keys lists every key of database 0, sorted, each once.
func (s *Server) Keys() []string {
	s.tb.Helper()
	var keys []string
	for cursor := "0"; ; {
		page := s.MustDo("SCAN", cursor, "COUNT", "1000").Items
		keys = append(keys, page[1].Texts()...)
		if cursor = page[0].Text; cursor == "0" {
			break
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys) // SCAN may name a key twice
}

// CommandCounts tells how often each command ran since the start or CONFIG RESETSTAT, by its lower case
// name ("evalsha", "config|get"). It counts commands inside scripts, and those of the admin connection but INFO:
// PING and CLIENT at least.
func (s *Server) CommandCounts() map[string]int64 {
	s.tb.Helper()
	counts, err := resp.CommandCounts(resp.InfoFields(s.MustDo("INFO", "commandstats").Text))
	if err != nil {
		s.tb.Fatalf("redistest: %v", err)
	}
	return counts
}

// Subscriptions is what clients listen to on one server.
type Subscriptions struct {
	Channels []string // each with at least one subscriber, sorted
	Shard    []string // the same of sharded channels
	Patterns int      // different patterns
}

// Count is the number of different subscriptions; 0 says that nobody listens to anything.
func (s Subscriptions) Count() int { return len(s.Channels) + len(s.Shard) + s.Patterns }

// Subscriptions tells what clients listen to now.
func (s *Server) Subscriptions() Subscriptions {
	s.tb.Helper()
	now := Subscriptions{
		Channels: s.MustDo("PUBSUB", "CHANNELS").Texts(),
		Shard:    s.Do("PUBSUB", "SHARDCHANNELS").Texts(), // before Redis 7 there are none, and no such command
		Patterns: int(s.MustDo("PUBSUB", "NUMPAT").Int),
	}
	slices.Sort(now.Channels)
	slices.Sort(now.Shard)
	return now
}

// ClientCount counts the connections of a kind, "normal" or "pubsub" (a subscribed one is pubsub also in
// RESP3), without those of this package.
func (s *Server) ClientCount(kind string) int {
	s.tb.Helper()
	return len(s.clients(kind))
}

// KillClients closes every connection of a kind, "normal" or "pubsub", without those of this package, and
// returns how many it closed.
func (s *Server) KillClients(kind string) int {
	s.tb.Helper()
	killed := 0
	for _, id := range s.clients(kind) {
		killed += int(s.MustDo("CLIENT", "KILL", "ID", id).Int) // 0 when it has just left
	}
	return killed
}

// clients gives the ids of other people's connections.
func (s *Server) clients(kind string) []string {
	s.tb.Helper()
	var ids []string
	for line := range strings.Lines(s.MustDo("CLIENT", "LIST", "TYPE", kind).Text) {
		words := strings.Fields(line)
		if len(words) == 0 || slices.Contains(words, "name="+redisserver.AdminName) {
			continue
		}
		ids = append(ids, strings.TrimPrefix(words[0], "id="))
	}
	return ids
}
