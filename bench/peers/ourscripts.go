package main

import (
	"fmt"
	"strconv"

	"github.com/wheellock/wheellock/internal/testkit/resp"
	"github.com/wheellock/wheellock/scripts"
)

// ourScripts are wheellock's scripts, loaded, for those who call them without wheellock.
type ourScripts struct{ acquire, release, acquireInLine string }

func loadOurScripts(redis interface{ Do(...string) resp.Reply }) (ourScripts, error) {
	var digests [3]string
	for i, script := range []scripts.Script{scripts.Acquire, scripts.Release, scripts.AcquireInLine} {
		loaded := redis.Do("SCRIPT", "LOAD", script.Text)
		if err := loaded.Err(); err != nil {
			return ourScripts{}, fmt.Errorf("loading %s: %w", script.Name, err)
		}
		digests[i] = loaded.Text
	}
	return ourScripts{digests[0], digests[1], digests[2]}, nil
}

// acquireCall takes these names for one owner. Redis answers an integer: over 0 when all are taken.
func (s ourScripts) acquireCall(owner string, names ...string) []string {
	call := append([]string{"EVALSHA", s.acquire, strconv.Itoa(len(names))}, names...)
	call = append(call, "0") // no bound on when it may run
	for range names {
		call = append(call, owner)
	}
	return append(call, strconv.FormatInt(lease.Milliseconds(), 10))
}

// releaseCall gives them back, to their lines if engines stand there. Redis answers an integer: 0 or more when all were this owner's.
func (s ourScripts) releaseCall(owner string, names ...string) []string {
	call := []string{"EVALSHA", s.release, strconv.Itoa(2 * len(names))}
	for _, name := range names {
		call = append(call, name, scripts.LineKey(name))
	}
	call = append(call, "PUBLISH")
	for _, name := range names {
		call = append(call, owner, scripts.LockChannel(name))
	}
	return call
}

// acquireInLineCall takes a name for an owner, or gives it a place in line with that code. It answers as acquireCall.
func (s ourScripts) acquireInLineCall(owner, code, name string) []string {
	return []string{
		"EVALSHA", s.acquireInLine, "3", name, scripts.LineKey(name), name,
		"0", "0", "0", "PUBLISH", owner, strconv.FormatInt(lease.Milliseconds(), 10), code,
	}
}

func taken(r resp.Reply) bool { return r.Kind == ':' && scripts.Reply(r.Int).Granted() }
func freed(r resp.Reply) bool { return r.Kind == ':' && r.Int >= 0 }

// anOwner looks like an owner id of wheellock.
const anOwner = "0f8fad5b-d9cb-469f-a165-70867728950e:1"
