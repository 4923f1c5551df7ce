package topology

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/scripts"
)

// Map says which master serves which hash slots, as one node of a cluster told it.
type Map struct{ Ranges []Range }

// Range is a range of hash slots, both ends included, and the address of the master that serves them.
type Range struct {
	First, Last uint16
	Addr        string
}

// Masters returns the address of each master that serves any hash slot once, in the order of their slots.
func (m *Map) Masters() []string {
	var masters []string
	for _, r := range m.Ranges {
		if !slices.Contains(masters, r.Addr) {
			masters = append(masters, r.Addr)
		}
	}
	return masters
}

// Unserved is how many hash slots are served by no node whose address is known.
func (m *Map) Unserved() int {
	left := scripts.HashSlots
	for _, r := range m.Ranges {
		left -= int(r.Last-r.First) + 1
	}
	return left
}

// keyTries bounds the search for a name in given hash slots: of one in a single hash slot the try in 16,384 is the right one.
const keyTries = 64 * scripts.HashSlots

// Key makes the name of a key in a hash slot that the master at addr serves; empty: it serves none.
func (m *Map) Key(addr, prefix string) string {
	for i := range keyTries {
		name := prefix + strconv.Itoa(i)
		slot := scripts.HashSlot(name)
		if slices.ContainsFunc(m.Ranges, func(r Range) bool { return r.Addr == addr && r.First <= slot && slot <= r.Last }) {
			return name
		}
	}
	return ""
}

// Ask asks the node at addr for its map. A node that does not know its own host names none; the map then has the host
// of addr.
func Ask(ctx context.Context, client rueidis.Client, addr string) (*Map, error) {
	return readMap(client.Do(ctx, client.B().ClusterSlots().Build()), addr)
}

func readMap(said rueidis.RedisResult, addr string) (*Map, error) {
	ranges, err := said.ToArray()
	if err != nil {
		return nil, fmt.Errorf("CLUSTER SLOTS: %w", err)
	}
	m := &Map{}
	for i := range ranges {
		if r, ok := readRange(&ranges[i], addr); ok {
			m.Ranges = append(m.Ranges, r)
		}
	}
	switch {
	case len(ranges) == 0:
		return nil, ErrUnserved
	case len(m.Ranges) == 0:
		return nil, fmt.Errorf("CLUSTER SLOTS: %s knows no address of a node that serves a hash slot: set cluster-announce-hostname or cluster-announce-ip there", addr)
	}
	return m, nil
}

// AtNode reports whether a client is connected to a node of a cluster, by what the server says. HELLO needs no right.
func AtNode(ctx context.Context, client rueidis.Client) bool {
	said, _ := client.Do(ctx, client.B().Arbitrary("HELLO").Build()).AsMap()
	mode := said["mode"]
	text, _ := mode.ToString()
	return text == "cluster"
}

// readRange reads one element of the answer: first slot, last slot, master, replicas. False: the element names no
// master that could be reached.
func readRange(m *rueidis.RedisMessage, asked string) (Range, bool) {
	values, err := m.ToArray()
	if err != nil || len(values) < 3 {
		return Range{}, false
	}
	first, err1 := values[0].AsInt64()
	last, err2 := values[1].AsInt64()
	master, err3 := values[2].ToArray()
	if err1 != nil || err2 != nil || err3 != nil || len(master) < 2 || first < 0 || first > last || last >= scripts.HashSlots {
		return Range{}, false
	}
	host, _ := master[0].ToString() // nil: unknown, as an empty one
	port, err := master[1].AsInt64()
	addr, ok := reach(host, strconv.FormatInt(port, 10), asked)
	return Range{uint16(first), uint16(last), addr}, ok && err == nil
}

// reach is the address of a host as the node at asked names it: no name is that node's own host, "?" is unknown.
func reach(host, port, asked string) (string, bool) {
	if host == "" {
		host, _, _ = net.SplitHostPort(asked)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return net.JoinHostPort(host, port), host != "" && host != "?" && err == nil && number > 0
}
