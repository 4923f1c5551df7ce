package gate

import (
	"slices"
	"strconv"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// simRedis is what the scripts do, by the server's clock: scripts/*.lua line by line, for one owner per key.
// scripts/contract_test.go holds the same lines against a real server.
type simRedis struct {
	world     *world
	keys      map[string]*lockKey
	listeners map[string][]hearer
	echo      int              // how often each hears a message: 2 with PubSubBoth
	last      map[string]int64 // the last fencing token given out
	fault     scripts.Fault    // what every script answers instead of running; None: the server is well
}

// lockKey is a key: alive at until, the server's milliseconds, and gone one later.
type lockKey struct {
	owner string
	until int64
}

// hearer hears the messages of a name.
type hearer interface{ hear(name string) }

// serverEpoch is the server's clock when the world begins, in ms.
const serverEpoch = 1_700_000_000_000

func newSimRedis(w *world) *simRedis {
	return &simRedis{world: w, keys: make(map[string]*lockKey), listeners: make(map[string][]hearer), last: make(map[string]int64)}
}

func (r *simRedis) millis() int64 { return serverEpoch + r.world.now.Milliseconds() }

// key is what stands under a name; nil: nothing.
func (r *simRedis) key(name string) *lockKey {
	k := r.keys[name]
	if k != nil && r.millis() > k.until {
		delete(r.keys, name)
		return nil
	}
	return k
}

// owner is who has the name; empty: nobody.
func (r *simRedis) owner(name string) string {
	if k := r.key(name); k != nil {
		return k.owner
	}
	return ""
}

func (k *lockKey) raise(until int64) { k.until = max(k.until, until) }

// run is one script for one name.
func (r *simRedis) run(c *Command, uuid string, notAfter int64) scripts.Reply {
	if r.fault != scripts.None {
		return faultReply(r.fault)
	}
	name, owner, now := c.Entry.Name, ownerOf(uuid, c.ID), r.millis()
	if other := c.Args.Release().Owner; other != "" {
		owner = other
	}
	until := now + c.Lease.Milliseconds()
	k := r.key(name)
	mine := k != nil && k.owner == owner
	switch c.Op {
	case Acquire, AcquireFenced:
		switch {
		case now > notAfter:
			return scripts.Reply(-(1 << 52) - now)
		case k == nil:
			r.keys[name] = &lockKey{owner, until}
		case !mine:
			return scripts.Reply(-(k.until - now + 2))
		default:
			k.raise(until)
		}
		if c.Op == Acquire {
			return 1
		}
		r.last[name] = max(r.last[name]+TokenBlock, serverEpoch*1000+r.world.now.Microseconds())
		return scripts.Reply(r.last[name])
	case Release, ReleaseQuietly:
		if !mine {
			return scripts.NotMine
		}
		delete(r.keys, name)
		if c.Op == ReleaseQuietly {
			return 0
		}
		return scripts.Reply(r.publish(name))
	case Renew:
		if !mine {
			return scripts.NotMine
		}
		k.raise(until)
		return 1
	case Confirm:
		if !mine {
			return scripts.NotMine
		}
		k.raise(until)
	}
	return scripts.Reply(len(r.listeners[name]))
}

func (r *simRedis) publish(name string) int {
	for _, l := range r.listeners[name] {
		for range max(r.echo, 1) {
			l.hear(name)
		}
	}
	return len(r.listeners[name])
}

func (r *simRedis) subscribe(name string, l hearer) {
	if !slices.Contains(r.listeners[name], l) {
		r.listeners[name] = append(r.listeners[name], l)
	}
}

func (r *simRedis) unsubscribe(name string, l hearer) {
	r.listeners[name] = slices.DeleteFunc(r.listeners[name], func(other hearer) bool { return other == l })
}

// take is a client that is not ours taking a free name, as Redisson's tryLock.
func (r *simRedis) take(name, owner string, lease time.Duration) bool {
	if r.key(name) != nil {
		return false
	}
	r.keys[name] = &lockKey{owner, r.millis() + lease.Milliseconds()}
	return true
}

// free is that client's unlock. False: it had lost the name.
func (r *simRedis) free(name, owner string) bool {
	if r.owner(name) != owner {
		return false
	}
	delete(r.keys, name)
	r.publish(name)
	return true
}

func ownerOf(uuid string, id uint64) string { return uuid + ":" + strconv.FormatUint(id, 10) }

func faultReply(f scripts.Fault) scripts.Reply { return scripts.Reply(-(1 << 51) - int64(f)) }
