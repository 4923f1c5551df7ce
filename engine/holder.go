package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// OwnerID is an owner field of a lock in Redis, in its parts. Its JSON names are part of the API.
type OwnerID struct {
	Client string `json:"client"`          // the [Engine.ID] of an engine, or the id of a Redisson client
	Number uint64 `json:"number"`          // an engine's: of the tenure; Redisson's: of the thread
	Write  bool   `json:"write,omitempty"` // the writer of a read-write lock

	Detached bool `json:"detached,omitempty"` // nobody holds the lock: see [Hold.Detach] and [WithMinHold]
}

// saltLength is that of Engine.salt.
const saltLength = 26

// parseOwner reads "<client>:<number>", with ":write" behind it for a writer, ":detached" for nobody, and the salt of an owner of a simple lock.
func parseOwner(field string) (OwnerID, bool) {
	rest, write := strings.CutSuffix(field, gate.WriterSuffix)
	rest, detached := strings.CutSuffix(rest, gate.DetachedSuffix)
	colon := strings.LastIndexByte(rest, ':')
	if colon >= 0 && len(rest)-colon-1 == saltLength {
		rest = rest[:colon]
		colon = strings.LastIndexByte(rest, ':')
	}
	if colon < 1 {
		return OwnerID{}, false
	}
	number, err := strconv.ParseUint(rest[colon+1:], 10, 64)
	return OwnerID{rest[:colon], number, write, detached}, err == nil
}

// number returns the number of a tenure of this engine, by its owner field; 0: the owner is another one, or detached. That of a simple lock,
// which others choose, is this engine's only to the last byte.
func (m *Mutex) number(owner string) uint64 {
	id, ok := parseOwner(owner)
	simple := m.kind == simpleIndex && owner != string(gate.SimpleKind.AppendOwner(nil, m.e.uuid, m.e.salt, id.Number))
	if !ok || id.Client != m.e.uuid || id.Detached || simple {
		return 0
	}
	return id.Number
}

// Holder describes the process behind an owner id. Its JSON names are part of the API.
type Holder struct {
	ID          OwnerID   `json:"id"`
	Identity    string    `json:"identity"`       // its engine's [Options].Identity
	Address     string    `json:"address"`        // of its oldest connection, as the server sees it: "host:port"
	Since       time.Time `json:"since,omitzero"` // when that connection was made, to a second
	Connections int       `json:"connections"`    // how many it has to that server, without those that are subscribed; 0: the rest is not known
}

// Holder returns what is known of the process behind an owner id: a [Hold.TenureID] of any engine on this Redis, State.Owner of any lock, or an
// [Engine.ID]. It looks for the id in the names of the server's connections (CLIENT LIST), in a cluster of one master
// after the other.
//
// If no connection has the id, Connections is 0 and only ID is known: the owner is a Redisson client, which does not name
// its connections after its id, an engine with the Identity "-", or a process that has ended or is cut off. Redisson's number is that of
// the thread.
//
// The user needs the right to CLIENT LIST. The answer grows with the number of the server's connections and takes the
// server some microseconds for each, so call Holder for people, not per lock. If ctx has no deadline, it waits for
// [Options].AnswerTimeout. The errors are:
//
//   - [ErrInvalid]: id does not have the form of an owner id or of an engine's ID.
//   - [ErrRefused]: the user may not run CLIENT LIST, or the server does not have it.
//   - [ErrNotSent], [ErrUncertain]: Redis could not be reached, or did not answer in time.
//   - [ErrClosed], or the errors of ctx.
func (e *Engine) Holder(ctx context.Context, id string) (Holder, error) {
	t := operation{e: e, name: id, doing: "find the holder"}
	owner, ok := parseOwner(id)
	if !ok {
		owner = OwnerID{Client: id}
	}
	if owner.Client == "" || strings.ContainsAny(owner.Client, ", \n/") || !ok && strings.Contains(id, ":") {
		return Holder{}, t.failed(invalid("an owner id is <client>:<number>"))
	}
	return direct(ctx, &t, func(c rueidis.Client) (Holder, error) {
		h := Holder{ID: owner}
		err := h.find(c)
		return h, err
	})
}

// find looks for h's connections at one node after the other: an engine is connected to all masters. The error: they are
// at none that answered, and one did not.
func (h *Holder) find(c rueidis.Client) (missing error) {
	for _, node := range c.Nodes() {
		list, err := node.Do(context.Background(), node.B().Arbitrary("CLIENT", "LIST", "TYPE", "NORMAL").Build()).ToString()
		if err != nil {
			missing = err
			continue
		}
		now := time.Now()
		for line := range strings.Lines(list) {
			h.add(line, now)
		}
		if h.Connections > 0 {
			return nil
		}
	}
	return missing
}

// add counts a line of CLIENT LIST if it is a connection of h's client.
func (h *Holder) add(line string, now time.Time) {
	var address, identity string
	var age time.Duration
	found := false
	for word := range strings.FieldsSeq(line) {
		field, value, _ := strings.Cut(word, "=")
		switch field {
		case "addr":
			address = value
		case "name":
			identity, found = identityOf(value, h.ID.Client)
		case "age":
			seconds, _ := strconv.ParseInt(value, 10, 64)
			age = time.Duration(seconds) * time.Second
		}
	}
	if !found {
		return
	}
	h.Connections++
	if since := now.Add(-age).Truncate(time.Second); h.Since.IsZero() || since.Before(h.Since) {
		h.Identity, h.Address, h.Since = identity, address, since
	}
}

// The name of every connection is "<Redis.ClientName>/<engine id>/<identity>", by which [Engine.Holder] finds the process
// behind an owner id. A name in Redis has no other bytes than those from '!' to '~'.

// noIdentity is the Identity of engines that tell neither identity nor id in the names of their connections.
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
