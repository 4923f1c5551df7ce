package gate

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/wheellock/wheellock/internal/redismodel"
	"github.com/wheellock/wheellock/scripts"
)

// redis is the server of a world: the real scripts on a Redis in memory, by the world's clock.
type redis struct {
	*redismodel.Server
	now       *time.Duration      // of the world
	listeners map[string][]hearer // by channel
	simple    bool                // who is not ours uses simple locks
	echo      int                 // how often each hears a message: 2 with PubSubBoth

	locks map[string]lockKey // what stood after so many writes
	seen  int
}

// lockKey is the key of a mutex or a simple lock: alive at until, the server's milliseconds, and gone one later.
type lockKey struct {
	owner string // of a simple lock of ours without the : before its salt, which is empty
	until int64
	value string // of a simple lock; else empty
}

// hearer hears the messages of a channel.
type hearer interface{ hear(channel, message string) }

// Encoder is a wire.Encoder. That package imports this one, so wire_test.go, of package gate_test, sets NewEncoder.
type Encoder interface {
	Learn(serverMillis int64, at Time)
	Encode(c *Command, lineless bool, sent Time) (text string, keys, args []string)
	Decode(c *Command, answer int64)
}

// NewEncoder makes the encoder of an engine.
var NewEncoder func(uuid string, fairWaiterLease time.Duration) Encoder

const (
	// serverEpoch is the server's clock when the world begins, in ms.
	serverEpoch = 1_700_000_000_000
	// stockChannel is where the unlocking of stock is announced.
	stockChannel = "redisson_lock__channel:{" + stock + "}"
)

// interpreters have compiled the scripts. Each runs one script at a time; some, so that parallel tests need not wait.
var interpreters = [4]*redismodel.Interpreter{redismodel.NewInterpreter(), redismodel.NewInterpreter(), redismodel.NewInterpreter(), redismodel.NewInterpreter()}

var lastInterpreter atomic.Uint32

func newRedis(now *time.Duration) *redis {
	in := interpreters[lastInterpreter.Add(1)%uint32(len(interpreters))]
	r := &redis{Server: redismodel.New(in), now: now, listeners: make(map[string][]hearer), locks: make(map[string]lockKey)}
	r.Subscribers = func(channel string, _ bool) int { return len(r.listeners[channel]) }
	r.Publish = func(channel, message string, _ bool) {
		for _, l := range r.listeners[channel] {
			for range max(r.echo, 1) {
				l.hear(channel, message)
			}
		}
	}
	return r
}

func (r *redis) millis() int64 { return serverEpoch + r.now.Milliseconds() }

// do is a command of somebody who is not ours, or of the test.
func (r *redis) do(words ...string) redismodel.Value {
	r.Micros = serverEpoch*1000 + r.now.Microseconds()
	return r.Do(words...)
}

// written is a command on its way, as the scripts get it.
type written struct {
	text       string
	keys, args []string
}

// write writes a command that leaves now, by an engine that has just read the server's clock.
func (r *redis) write(c *Command, by Encoder, now Time) written {
	by.Learn(r.millis(), now)
	text, keys, args := by.Encode(c, false, now)
	return written{text, slices.Clone(keys), slices.Clone(args)}
}

// run is its arrival.
func (r *redis) run(w written) int64 {
	r.Micros = serverEpoch*1000 + r.now.Microseconds()
	answer := r.Eval(w.text, w.keys, w.args)
	if answer.Kind != redismodel.Int {
		panic("a script answers " + answer.String())
	}
	return answer.Int
}

// standing are the mutexes that stand, or stood until now.
func (r *redis) standing() map[string]lockKey {
	if r.seen == r.Writes {
		return r.locks
	}
	r.Micros, r.seen = serverEpoch*1000+r.now.Microseconds(), r.Writes
	clear(r.locks)
	for _, key := range r.Keys() {
		until := r.Do("PEXPIRETIME", key).Int
		if owners := r.Do("HKEYS", key).Array; len(owners) == 1 {
			r.locks[key] = lockKey{owner: owners[0].Str, until: until}
		} else if value := r.Do("GET", key); value.Kind == redismodel.Str {
			r.locks[key] = lockKey{strings.TrimSuffix(value.Str, ":"), until, value.Str}
		}
	}
	return r.locks
}

// key is the mutex of a name; false: it is free.
func (r *redis) key(name string) (lockKey, bool) {
	k, any := r.standing()[name]
	return k, any && k.until >= r.millis()
}

// owner is who has the name; empty: nobody.
func (r *redis) owner(name string) string {
	if k, any := r.key(name); any {
		return k.owner
	}
	return ""
}

// left are the keys that stand and do not belong there: all but fencing counters.
func (r *redis) left() []string {
	r.Micros = serverEpoch*1000 + r.now.Microseconds()
	return slices.DeleteFunc(r.Keys(), func(key string) bool { return strings.HasPrefix(key, "redisson_lock_token:") })
}

func (r *redis) subscribe(channel string, l hearer) {
	if !slices.Contains(r.listeners[channel], l) {
		r.listeners[channel] = append(r.listeners[channel], l)
	}
}

func (r *redis) unsubscribe(channel string, l hearer) {
	r.listeners[channel] = slices.DeleteFunc(r.listeners[channel], func(other hearer) bool { return other == l })
}

// take is a client that is not ours taking a free name, as Redisson's tryLock.
func (r *redis) take(name, owner string, lease time.Duration) bool {
	if r.owner(name) != "" {
		return false
	}
	ms := strconv.FormatInt(lease.Milliseconds(), 10)
	if r.simple {
		r.do("SET", name, owner, "PX", ms, "NX")
		return true
	}
	r.do("HSET", name, owner, "1")
	r.do("PEXPIRE", name, ms)
	return true
}

// free is that client's unlock. False: it had lost the name.
func (r *redis) free(name, owner string) bool {
	if r.owner(name) != owner {
		return false
	}
	r.do("DEL", name)
	if !r.simple {
		r.do("PUBLISH", scripts.LockChannel(name), "0")
	}
	return true
}

func ownerOf(uuid string, id uint64) string { return uuid + ":" + strconv.FormatUint(id, 10) }

func faultReply(f scripts.Fault) scripts.Reply { return scripts.Reply(-(1 << 51) - int64(f)) }
