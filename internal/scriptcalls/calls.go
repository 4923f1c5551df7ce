// Package scriptcalls makes calls of the engine's scripts at random: those that engines would make where a server stands.
package scriptcalls

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/wheellock/wheellock/scripts"
)

// Engine1 and Engine2 make the calls. Engines have UUIDs of version 8.
const Engine1, Engine2 = "11111111-1111-8111-1111-111111111111", "22222222-2222-8222-2222-222222222222"

// Kinds are those of locks and counters; each has three names of its own.
var Kinds = []string{"lock", "fenced", "rw", "fair", "sem", "latch", "permits", "simple"}

// NamesOf are the names of a kind.
func NamesOf(kind string) []string {
	return []string{"{" + kind + "}1", "{" + kind + "}2", kind + ":3"}
}

// Stands is what stands in a server.
type Stands interface {
	// Parts are the names of the parts of a key of a type, hash or zset; none if the key is another.
	Parts(key, kind string) []string
	// Text is the value of a string.
	Text(key string) (text string, is bool)
}

// Caller makes calls.
type Caller struct {
	*rand.Rand
	Stands Stands
	Millis func() int64 // the server's clock; nil: it is not known, so times are far apart, and messages are published in one way
	Calls  uint64       // numbers those that leave receipts

	// The call.
	Engine string
	Script scripts.Script
	Keys   []string
	Args   []string
}

// Names are the names of a kind in any order.
func (c *Caller) Names(kind string) []string {
	names := NamesOf(kind)
	c.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// Make makes a call about names of a kind, now and then by the script of another kind.
func (c *Caller) Make(kind string, names []string) {
	c.Keys, c.Args = nil, nil
	if c.IntN(15) == 0 {
		kind = c.One(Kinds...)
	}
	switch kind {
	case "lock":
		c.mutex(names)
	case "fenced":
		c.fenced(names)
	case "rw":
		c.readWrite(names)
	case "fair":
		c.fair(names)
	case "sem":
		c.counting(names, scripts.SemaphoreChannel, scripts.Take, scripts.Give, scripts.AddPermits, scripts.SetPermits, scripts.DrainPermits, scripts.DeletePermits, scripts.Count)
	case "simple":
		c.simple(names)
	case "latch":
		c.counting(names, scripts.LatchChannel, scripts.GetCount, scripts.CountDown, scripts.SetCount, scripts.DeleteCount)
	default:
		c.permits(names)
	}
}

// One is one of several.
func (c *Caller) One(among ...string) string { return among[c.IntN(len(among))] }

// or is one of several if the server's clock is known, else far.
func (c *Caller) or(far string, among ...string) string {
	if c.Millis == nil {
		return far
	}
	return c.One(among...)
}

func (c *Caller) key(keys ...string) *Caller {
	c.Keys = append(c.Keys, keys...)
	return c
}

func (c *Caller) arg(args ...string) *Caller {
	c.Args = append(c.Args, args...)
	return c
}

func (c *Caller) lease() *Caller {
	if c.Millis == nil {
		return c.arg(c.One("3600000", "10800000", "32400000"))
	}
	if c.IntN(40) == 0 {
		return c.arg(c.One("0", "-1", "x", "", "1.5", "9007199254740993", "9223372036854775807", "4398046511105", "1e3", "0x10", " 7"))
	}
	return c.arg(c.One("1", "2", "50", "1000", "1500", "30000", "60000", "3600000"))
}

// Owner is an owner id of the engine.
func (c *Caller) Owner() string { return c.Engine + ":" + c.One("1", "2", "3") }

// notAfter is one of several, or so many ms from now.
func (c *Caller) notAfter(among []string, around ...int64) string {
	for _, by := range around {
		if c.Millis != nil {
			among = append(among, strconv.FormatInt(c.Millis()+by, 10))
		}
	}
	return c.One(among...)
}

// until is a notAfter: none, to come, now, or over.
func (c *Caller) until() *Caller {
	return c.arg(c.notAfter([]string{"0", "0", "9000000000000", "1"}, 0, -1, 1))
}

func (c *Caller) how() *Caller {
	return c.arg(c.or("PUBLISH", "PUBLISH", "PUBLISH", "BOTH", "SPUBLISH"))
}

// fresh is the number of a call that leaves a receipt; sometimes it is the last one's, sent twice, or one before.
func (c *Caller) fresh() *Caller {
	switch c.IntN(6) {
	case 0:
	case 1:
		return c.arg(strconv.FormatUint(max(c.Calls, 3)-2, 10))
	default:
		c.Calls++
	}
	return c.arg(strconv.FormatUint(c.Calls, 10))
}

// holder is mostly an owner that stands in the lock, if one does.
func (c *Caller) holder(name string) string {
	fields := slices.DeleteFunc(c.Stands.Parts(name, "hash"), func(field string) bool { return field == "mode" })
	if len(fields) == 0 || c.IntN(4) == 0 {
		return c.Owner()
	}
	return strings.TrimSuffix(strings.TrimSuffix(c.One(fields...), ":write"), ":detached")
}

// code is mostly the code of the place of an owner in line, if it has one.
func (c *Caller) code(name, owner string) string {
	for _, place := range c.Stands.Parts(scripts.LineKey(name), "zset") {
		if code, its := strings.CutPrefix(place, owner+" "); its && c.IntN(4) > 0 {
			return code
		}
	}
	return c.One("1", "77", "7900000000000000178")
}

// inLine is mostly the owner of a place in line, if there is one.
func (c *Caller) inLine(name string) string {
	for _, place := range c.Stands.Parts(scripts.LineKey(name), "zset") {
		if owner, _, is := strings.Cut(place, " "); is && c.IntN(3) > 0 {
			return owner
		}
	}
	return c.Owner()
}

// held is mostly the number of a permit that this engine has, if it has one.
func (c *Caller) held(name string) string {
	for _, member := range c.Stands.Parts(scripts.PermitsKey(name), "zset") {
		if number, ours := strings.CutPrefix(member, scripts.PermitBytes(c.Engine)); ours && len(number) == 8 && c.IntN(4) > 0 {
			return strconv.FormatUint(binary.BigEndian.Uint64([]byte(number)), 10)
		}
	}
	return strconv.FormatUint(c.Calls, 10)
}
