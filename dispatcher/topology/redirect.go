package topology

import (
	"strconv"
	"strings"

	"github.com/wheellock/wheellock/scripts"
)

// Redirect is the answer of a node that does not serve a name: "MOVED slot host:port" when another node does, "ASK slot
// host:port" when the key may have moved there already.
type Redirect struct {
	Slot uint16
	Addr string
	Ask  bool
}

// MaxRedirects is how often a command is sent on before it counts as refused: nodes that disagree may send it back and forth.
const MaxRedirects = 4

// IsRedirect reports whether the message of an error is a redirect.
func IsRedirect(message string) bool {
	return strings.HasPrefix(message, "MOVED ") || strings.HasPrefix(message, "ASK ")
}

// ReadRedirect reads a redirect that the node at asked has sent. False: the message is none, or names no address.
func ReadRedirect(message, asked string) (Redirect, bool) {
	fields := strings.Fields(message)
	if !IsRedirect(message) || len(fields) < 3 {
		return Redirect{}, false
	}
	slot, err := strconv.ParseUint(fields[1], 10, 16)
	colon := strings.LastIndexByte(fields[2], ':') // an IPv6 host stands there without brackets
	if err != nil || slot >= scripts.HashSlots || colon < 0 {
		return Redirect{}, false
	}
	addr, ok := reach(strings.Trim(fields[2][:colon], "[]"), fields[2][colon+1:], asked)
	return Redirect{uint16(slot), addr, fields[0] == "ASK"}, ok
}
