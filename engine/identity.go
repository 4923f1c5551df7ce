package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The name of every connection is "<Redis.ClientName>/<engine id>/<identity>", by which [Engine.Holder] finds who is behind
// an owner id. A name in Redis has no other bytes than those from '!' to '~'.

// noIdentity is the Identity of engines whose connections tell neither identity nor id.
const noIdentity = "-"

// maxIdentity is how long an identity may be, in bytes: each connection is a line of CLIENT LIST.
const maxIdentity = 128

// defaultIdentity is program@host:pid, with "_" in place of what a name in Redis cannot have.
func defaultIdentity() string {
	program := "unknown"
	if len(os.Args) > 0 {
		program = filepath.Base(os.Args[0])
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	process := fmt.Sprintf(":%d", os.Getpid())
	identity := strings.Map(func(r rune) rune {
		if unnameable(r) {
			return '_'
		}
		return r
	}, program+"@"+host)
	return identity[:min(len(identity), maxIdentity-len(process))] + process
}

// unnameable reports whether Redis refuses a name with this character.
func unnameable(r rune) bool { return r < '!' || r > '~' }

// checkIdentity complains of an Identity that cannot be in a name.
func checkIdentity(identity string) error {
	if len(identity) > maxIdentity {
		return invalid("an Identity of %d bytes: at most %d", len(identity), maxIdentity)
	}
	if i := strings.IndexFunc(identity, unnameable); i >= 0 {
		return invalid("Identity %q: Redis has only visible ASCII characters in the names of connections, no %q", identity, []rune(identity[i:])[0])
	}
	return nil
}

// connectionName returns the name of an engine's connections.
func (o *Options) connectionName(uuid string) string {
	if o.Identity == noIdentity {
		return o.Redis.ClientName
	}
	return o.Redis.ClientName + "/" + uuid + "/" + o.Identity
}

// identityOf returns the identity in the name of a connection of the engine with this id. False: it is none of its.
func identityOf(name, uuid string) (string, bool) {
	_, identity, found := strings.Cut(name, "/"+uuid+"/")
	return identity, found
}
