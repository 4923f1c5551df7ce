package dispatcher

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/scripts"
)

// Topology is who serves which hash slots, as one node of a cluster told it.
type Topology struct{ parts []part }

// part is a range of hash slots, both ends included, and the address of the master that serves it.
type part struct {
	first, last int64
	addr        string
}

// Masters are the addresses of all that serve any hash slot, each once, in the order of their slots.
func (t *Topology) Masters() []string {
	var masters []string
	for _, p := range t.parts {
		if !slices.Contains(masters, p.addr) {
			masters = append(masters, p.addr)
		}
	}
	return masters
}

// AskTopology asks a node, which was reached at addr: a node that does not know its own host means that one.
func AskTopology(ctx context.Context, client rueidis.Client, addr string) (*Topology, error) {
	parts, err := client.Do(ctx, client.B().ClusterSlots().Build()).ToArray()
	if err != nil {
		return nil, fmt.Errorf("CLUSTER SLOTS: %w", err)
	}
	t := &Topology{}
	for i := range parts {
		if p, ok := readPart(&parts[i], addr); ok {
			t.parts = append(t.parts, p)
		}
	}
	if len(t.parts) == 0 {
		return nil, fmt.Errorf("CLUSTER SLOTS: %s knows of nobody who serves a hash slot", addr)
	}
	return t, nil
}

// readPart reads one element of the answer: first slot, last slot, master, replicas. False: it names no master that
// could be reached.
func readPart(m *rueidis.RedisMessage, asked string) (part, bool) {
	values, err := m.ToArray()
	if err != nil || len(values) < 3 {
		return part{}, false
	}
	first, err1 := values[0].AsInt64()
	last, err2 := values[1].AsInt64()
	master, err3 := values[2].ToArray()
	if err1 != nil || err2 != nil || err3 != nil || len(master) < 2 || first < 0 || last >= scripts.HashSlots {
		return part{}, false
	}
	host, _ := master[0].ToString() // nil: unknown, as an empty one
	port, err := master[1].AsInt64()
	addr, ok := reach(host, strconv.FormatInt(port, 10), asked)
	return part{first, last, addr}, ok && err == nil
}

// reach is the address of a host as a node at asked names it: no name is that node's own host, "?" is none.
func reach(host, port, asked string) (string, bool) {
	if host == "" {
		host, _, _ = net.SplitHostPort(asked)
	}
	return net.JoinHostPort(host, port), host != "" && host != "?"
}

// redirect is the answer of a node that does not serve a name: "MOVED slot host:port" when another does, "ASK slot
// host:port" when the key may have gone there already.
type redirect struct {
	slot uint16
	addr string
	ask  bool
}

// redirects reports whether the words of an error are a redirect.
func redirects(words string) bool {
	return strings.HasPrefix(words, "MOVED ") || strings.HasPrefix(words, "ASK ")
}

// readRedirect reads a redirect that the node at asked has sent. False: it is none, or leads nowhere.
func readRedirect(words, asked string) (redirect, bool) {
	fields := strings.Fields(words)
	if !redirects(words) || len(fields) < 3 {
		return redirect{}, false
	}
	slot, err := strconv.ParseUint(fields[1], 10, 16)
	colon := strings.LastIndexByte(fields[2], ':') // an IPv6 host stands there without brackets
	if err != nil || slot >= scripts.HashSlots || colon < 0 {
		return redirect{}, false
	}
	addr, ok := reach(strings.Trim(fields[2][:colon], "[]"), fields[2][colon+1:], asked)
	return redirect{uint16(slot), addr, fields[0] == "ASK"}, ok
}
