package scripts_test

import (
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// The calls of a duel: every script with the arguments the dispatcher gives it, on a few names; now and then
// somebody else changes a key, or a name is used as another kind.

// leases are far enough apart, and from now, that no call takes as long.
var leases = []time.Duration{time.Hour, 3 * time.Hour, 9 * time.Hour}

const engine1, engine2 = "11111111-1111-8111-8111-111111111111", "22222222-2222-8222-8222-222222222222"

// call is a call in the making: keys and arguments are given name by name.
type call struct {
	*duel
	script scripts.Script
	keys   []string
	args   []string
	names  []string
	engine string
}

func (c *call) key(keys ...string) *call { c.keys = append(c.keys, keys...); return c }
func (c *call) arg(args ...string) *call { c.args = append(c.args, args...); return c }
func (c *call) lease() *call {
	return c.arg(strconv.FormatInt(oneOf(c.duel, leases).Milliseconds(), 10))
}
func (c *call) owner() string { return c.engine + ":" + strconv.Itoa(1+c.IntN(2)) }

// holder is mostly an owner that stands in the lock, if one does.
func (c *call) holder(name string) string {
	if c.IntN(4) == 0 || c.real.do("TYPE", name) != "hash" {
		return c.owner()
	}
	fields := c.real.list("HKEYS", name)
	return strings.TrimSuffix(strings.TrimSuffix(oneOf(c.duel, fields), ":write"), ":detached")
}

// held is mostly the number of a permit that this engine has, if it has one.
func (c *call) held(name string) string {
	if key := scripts.PermitsKey(name); c.IntN(4) > 0 && c.real.do("TYPE", key) == "zset" {
		for _, member := range c.real.list("ZRANGE", key, "0", "-1") {
			if number, ours := strings.CutPrefix(member, scripts.PermitBytes(c.engine)); ours {
				return strconv.FormatUint(binary.BigEndian.Uint64([]byte(number)), 10)
			}
		}
	}
	return strconv.FormatUint(c.calls, 10)
}

// until is a notAfter: none, to come, or over.
func (c *call) until() *call { return c.arg(oneOf(c.duel, []string{"0", "0", "9000000000000", "1"})) }

// fresh is the number of a call that leaves a receipt; sometimes it is the last one's, sent twice.
func (c *call) fresh() *call {
	if c.IntN(4) > 0 {
		c.calls++
	}
	return c.arg(strconv.FormatUint(c.calls, 10))
}

func oneOf[T any](d *duel, among []T) T { return among[d.IntN(len(among))] }

// leasesBehind gives one lease for all names, or one for each.
func (c *call) leasesBehind() {
	n := 1
	if c.IntN(2) == 0 {
		n = len(c.names)
	}
	for range n {
		c.lease()
	}
}

// each gives every name its keys and arguments, and what comes behind them all.
func (c *call) each(give func(name string), behind ...func()) []string {
	for _, name := range c.names {
		give(name)
	}
	for _, more := range behind {
		more()
	}
	command := append([]string{"EVAL", c.script.Text, strconv.Itoa(len(c.keys))}, c.keys...)
	return append(command, c.args...)
}

// command is the next one.
func (d *duel) command() []string {
	kinds := []string{"lock", "fenced", "rw", "fair", "sem", "latch", "permits", "simple"}
	kind := oneOf(d, kinds)
	names := []string{"{" + kind + "}1", "{" + kind + "}2", kind + ":3"}
	d.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:1+d.IntN(len(names))]
	if d.IntN(8) == 0 {
		return d.outsider(names[0])
	}
	if d.IntN(20) == 0 {
		kind = oneOf(d, kinds) // another kind's script
	}
	c := &call{duel: d, names: names, engine: oneOf(d, []string{engine1, engine2})}
	switch kind {
	case "lock":
		return c.mutex()
	case "fenced":
		return c.fenced()
	case "rw":
		return c.readWrite()
	case "fair":
		return c.fair()
	case "sem":
		return c.counting(scripts.SemaphoreChannel, scripts.Take, scripts.Give, scripts.AddPermits, scripts.SetPermits, scripts.DrainPermits, scripts.DeletePermits)
	case "simple":
		return c.simple()
	case "latch":
		return c.counting(scripts.LatchChannel, scripts.GetCount, scripts.CountDown, scripts.SetCount, scripts.DeleteCount)
	default:
		return c.permits()
	}
}

// Deadlines that others give waiters: far away, and over. Round they must not be, for miniredis answers 9e+12 then,
// which its Lua takes for no number; nor near zero, for what is counted on from there must look like a time.
const longAfter, longAgo = "9000000000001", "1000000000001"

// outsider is somebody else, or a mistake. Nobody deletes the key that tells which engines live: their waiters would be
// taken for Redisson's with deadlines a millisecond apart, and that or none makes a difference of five minutes.
func (d *duel) outsider(name string) []string {
	return oneOf(d, [][]string{
		{"DEL", name}, {"DEL", name}, {"DEL", name}, {"DEL", name}, {"DEL", name}, {"DEL", scripts.PermitsKey(name)}, {"SET", name, "5"}, {"SET", name, "no number"}, {"HSET", name, "java:1", "2"},
		{"PERSIST", name}, {"PEXPIRE", name, "36000000"}, {"RPUSH", name, "x"}, {"HSET", name, "mode", "read"}, {"SADD", name, "x"},
		{"DEL", scripts.FairQueue(name)}, {"SET", scripts.FairQueue(name), "x"}, {"SET", scripts.FairQueue(name), "x"}, {"RPUSH", scripts.FairQueue(name), "java:7"},
		{"ZADD", scripts.FairDeadlines(name), longAfter, "java:7"}, {"ZADD", scripts.FairDeadlines(name), longAgo, "java:7"},
		{"SET", name, "another's", "NX", "PX", "36000000"}, {"SET", name, ""},
		{"SET", scripts.TokenKey(name), "4000000000000000"}, {"DEL", scripts.PermitsKey(name)}, {"ZADD", scripts.PermitsKey(name), "1", "0123456789abcdef"},
	})
}

func (c *call) mutex() []string {
	if c.IntN(4) == 0 {
		return c.staying(itself, itself)
	}
	if c.IntN(4) == 0 {
		return c.lines(itself)
	}
	channel := scripts.LockChannel
	switch c.script = oneOf(c.duel, []scripts.Script{scripts.Acquire, scripts.Acquire, scripts.Release, scripts.Renew, scripts.Confirm, scripts.Inspect}); c.script.Name {
	case "acquire":
		c.until()
		return c.each(func(name string) { c.key(name).arg(c.owner()) }, c.leasesBehind)
	case "renew":
		return c.each(func(name string) { c.key(name).arg(c.holder(name)) }, c.leasesBehind)
	case "confirm":
		c.arg("PUBLISH")
		return c.each(func(name string) { c.key(name, name).arg(c.holder(name)).lease().arg(channel(name)) })
	case "release":
		c.arg(oneOf(c.duel, []string{"PUBLISH", "NONE"}))
		return c.each(func(name string) { c.key(name, name).arg(c.holder(name), channel(name)) })
	default:
		c.names = c.names[:1]
		return c.each(func(name string) { c.key(name, scripts.TokenKey(name)) })
	}
}

// line is the key of a name's line, or the name again.
func (c *call) line(name string) string {
	return oneOf(c.duel, []string{name, scripts.LineKey(name), scripts.LineKey(name)})
}

// lines is a call about lines; counter gives the third key of those that may leave places.
func (c *call) lines(counter func(name string) string) []string {
	switch c.script = oneOf(c.duel, []scripts.Script{scripts.AcquireInLine, scripts.Release, scripts.ReleaseFromLine, scripts.Confirm}); c.script.Name {
	case "acquire_in_line":
		c.until().arg("64", oneOf(c.duel, []string{"0", "86400000"}), "PUBLISH")
		return c.each(func(name string) {
			c.key(name, scripts.LineKey(name), counter(name)).arg(c.owner()).lease().arg(oneOf(c.duel, []string{"7777777777", "-7777777777"}))
		})
	case "confirm":
		c.arg("PUBLISH")
		return c.each(func(name string) {
			c.key(name, scripts.LineKey(name)).arg(c.holder(name)).lease().arg(scripts.LockChannel(name))
		})
	}
	leaves := c.script.Name == "release_from_line"
	c.arg("PUBLISH")
	return c.each(func(name string) {
		c.key(name, scripts.LineKey(name)).arg(c.holder(name), scripts.LockChannel(name))
		if leaves {
			c.arg("7777777777")
		}
	})
}

// staying is a call about names that stay taken, or that are waited for; queue and counter give the second key of each.
func (c *call) staying(queue, counter func(name string) string) []string {
	channel := scripts.LockChannel
	switch c.script = oneOf(c.duel, []scripts.Script{scripts.Detach, scripts.Adopt, scripts.CountWaiters}); c.script.Name {
	case "detach":
		c.arg("PUBLISH")
		return c.each(func(name string) {
			owner := c.holder(name)
			c.key(name, queue(name)).arg(owner, owner+":detached").lease().arg(oneOf(c.duel, []string{"", channel(name)}))
		})
	case "adopt":
		c.until().arg("64", oneOf(c.duel, []string{"0", "86400000"}))
		return c.each(func(name string) {
			c.key(name, counter(name)).arg(c.holder(name)+oneOf(c.duel, []string{"", ":detached"}), c.owner()).lease()
		})
	default:
		c.arg("PUBLISH")
		return c.each(func(name string) {
			other, channel := queue(name), channel(name)
			if other == scripts.FairQueue(name) {
				channel = ""
			}
			c.key(name, other).arg(channel)
		})
	}
}

// itself is the name where a call has a place for another key.
func itself(name string) string { return name }

func (c *call) fenced() []string {
	if c.IntN(4) == 0 {
		return c.staying(itself, scripts.TokenKey)
	}
	if c.IntN(4) == 0 {
		return c.lines(scripts.TokenKey)
	}
	if c.IntN(2) == 0 {
		return c.mutex()
	}
	c.script = scripts.AcquireFenced
	c.until().arg("64", oneOf(c.duel, []string{"0", "86400000"}))
	return c.each(func(name string) { c.key(name, scripts.TokenKey(name)).arg(c.owner()).lease() })
}

func (c *call) readWrite() []string {
	c.script = oneOf(c.duel, []scripts.Script{scripts.AcquireRead, scripts.AcquireRead, scripts.AcquireWrite, scripts.AcquireWriteInLine, scripts.ReleaseRead, scripts.ReleaseRead, scripts.ReleaseReadFromLine,
		scripts.ReleaseWrite, scripts.ReleaseWriteFromLine, scripts.RenewRead, scripts.ConfirmRead, scripts.Downgrade, scripts.Renew, scripts.Confirm})
	channel := scripts.RWChannel
	switch c.script.Name {
	case "acquire_read":
		c.until().arg("PUBLISH")
		return c.each(func(name string) {
			owner := c.owner()
			c.key(name, c.line(name), scripts.HoldKey(name, owner)).arg(owner).lease().arg(oneOf(c.duel, []string{"", "-77"}), oneOf(c.duel, []string{"-2", "-1", "0"}))
		})
	case "acquire_write":
		c.until()
		return c.each(func(name string) { c.key(name).arg(c.owner() + ":write").lease() })
	case "acquire_write_in_line":
		c.until().arg("PUBLISH")
		return c.each(func(name string) {
			c.key(name, c.line(name)).arg(c.owner() + ":write").lease().arg(oneOf(c.duel, []string{"77", "-77"}))
		})
	case "release_read", "release_read_from_line":
		c.arg("PUBLISH", oneOf(c.duel, []string{"0", "0", "0", "1"}))
		return c.each(func(name string) {
			owner := c.holder(name)
			c.key(name, c.line(name), scripts.HoldKey(name, owner)).arg(owner, channel(name))
			if c.script.Name == scripts.ReleaseReadFromLine.Name {
				c.arg("-77")
			}
		})
	case "release_write", "release_write_from_line":
		c.arg("PUBLISH")
		return c.each(func(name string) {
			c.key(name, c.line(name)).arg(c.holder(name)+":write", channel(name))
			if c.script.Name == scripts.ReleaseWriteFromLine.Name {
				c.arg("77")
			}
		})
	case "renew_read":
		return c.each(func(name string) {
			owner := c.holder(name)
			c.key(name, scripts.HoldKey(name, owner)).arg(owner)
		}, c.leasesBehind)
	case "confirm_read":
		c.arg("PUBLISH")
		return c.each(func(name string) {
			owner := c.holder(name)
			c.key(name, c.line(name), scripts.HoldKey(name, owner)).arg(owner).lease().arg(channel(name))
		})
	case "downgrade":
		c.arg("PUBLISH")
		return c.each(func(name string) {
			owner := c.holder(name)
			c.key(name, c.line(name), scripts.HoldKey(name, owner)).arg(owner+":write", owner).lease().arg(channel(name))
		})
	case "renew":
		return c.each(func(name string) { c.key(name).arg(c.holder(name) + ":write") }, c.leasesBehind)
	default:
		c.arg("PUBLISH")
		return c.each(func(name string) { c.key(name, name).arg(c.holder(name) + ":write").lease().arg(channel(name)) })
	}
}

func (c *call) fair() []string {
	if c.IntN(4) == 0 {
		return c.staying(scripts.FairQueue, itself)
	}
	number := func() string { return strconv.Itoa(c.IntN(5)) }
	keys := func(name string) {
		c.key(name, scripts.FairQueue(name), scripts.FairDeadlines(name), scripts.FairAlive(name), scripts.ClaimsKey(name))
	}
	c.script = oneOf(c.duel, []scripts.Script{scripts.FairAsk, scripts.FairAsk, scripts.FairRelease, scripts.FairLeave, scripts.FairLeave})
	switch c.script.Name {
	case "fair_ask":
		c.arg(oneOf(c.duel, []string{"9000000000000", "9000000000000", "1"}), c.engine, "3600000", "PUBLISH")
		return c.each(func(name string) {
			keys(name)
			c.arg(number(), oneOf(c.duel, []string{"TRY", "NEW", "OLD"})).lease().arg(number(), number(), scripts.LockChannel(name), oneOf(c.duel, []string{"0", "7777777777"}))
		})
	case "fair_release":
		c.arg("PUBLISH", c.engine)
		return c.each(func(name string) {
			keys(name)
			c.arg(c.holder(name), number()).lease().arg(scripts.LockChannel(name))
		})
	default:
		c.arg("PUBLISH", c.engine)
		return c.each(func(name string) {
			keys(name)
			c.arg(number(), number(), scripts.LockChannel(name))
		})
	}
}

func (c *call) counting(channel func(string) string, among ...scripts.Script) []string {
	c.script = oneOf(c.duel, among)
	receipt := func(name string) string { return scripts.ReceiptKey(name, c.engine) }
	switch c.script.Name {
	case "look":
		return c.each(func(name string) { c.key(name) })
	case "take":
		c.arg("PUBLISH").until().arg(c.engine)
		return c.each(func(name string) {
			c.key(name, receipt(name), scripts.LineKey(name)).fresh()
			c.arg(oneOf(c.duel, []string{"0", "1"}), oneOf(c.duel, []string{"1x1", "2x3,1x2", "9x1", ""}), oneOf(c.duel, []string{"0", "1", "2"}), channel(name))
		})
	default:
		c.arg("PUBLISH").until()
		return c.each(func(name string) {
			n := 1 + c.IntN(5)
			if strings.Contains(c.script.Name, "add") && c.IntN(2) == 0 {
				n = -n
			}
			by := strconv.Itoa(n)
			if c.script.Name == scripts.SetPermits.Name {
				by += oneOf(c.duel, []string{"", ",3600000"})
			}
			if c.key(name); c.script.Name == scripts.PermitSet.Name || c.script.Name == scripts.PermitDelete.Name {
				c.key(scripts.PermitsKey(name))
			}
			c.key(receipt(name))
			switch c.script.Name {
			case "give", "add_permits", "set_permits", "permit_add", "permit_set":
				c.key(scripts.LineKey(name))
			}
			c.fresh().arg(by, channel(name))
		})
	}
}

func (c *call) permits() []string {
	receipt := func(name string) string { return scripts.ReceiptKey(name, c.engine) }
	held, channel, half := scripts.PermitsKey, scripts.SemaphoreChannel, scripts.PermitBytes(c.engine)
	c.script = oneOf(c.duel, []scripts.Script{scripts.SetPermits, scripts.PermitAdd, scripts.PermitSet, scripts.PermitDelete, scripts.PermitTake, scripts.PermitTake, scripts.PermitRenew, scripts.PermitFree, scripts.PermitCount})
	switch c.script.Name {
	case "permit_take":
		c.arg("PUBLISH").until().arg(half, c.engine)
		return c.each(func(name string) {
			c.key(name, held(name), receipt(name), scripts.LineKey(name)).fresh()
			c.arg(oneOf(c.duel, []string{"0", "1"}), strconv.Itoa(c.IntN(4))).lease().arg(oneOf(c.duel, []string{"0", "1", "2"}), channel(name))
		})
	case "permit_renew":
		c.arg(half)
		return c.each(func(name string) {
			c.key(held(name)).arg(c.held(name) + ",1,7200000;" + strconv.FormatUint(c.calls, 10) + ",2,7200000;")
		})
	case "permit_free":
		c.arg("PUBLISH").until().arg(half)
		return c.each(func(name string) {
			c.key(name, held(name), receipt(name), scripts.LineKey(name)).fresh().arg(c.held(name), strconv.Itoa(1+c.IntN(2)), "", channel(name))
		})
	case "permit_count":
		c.names = c.names[:1]
		c.arg("PUBLISH")
		return c.each(func(name string) { c.key(name, held(name)).arg(channel(name)) })
	default:
		return c.counting(channel, c.script)
	}
}
