package redismodel

import (
	"slices"
	"strconv"

	"github.com/wheellock/wheellock/internal/scriptcalls"
	"github.com/wheellock/wheellock/scripts"
)

// all are the scripts of the engine.
var all = []scripts.Script{
	scripts.Acquire, scripts.AcquireFenced, scripts.Release, scripts.Renew, scripts.Confirm, scripts.Inspect, scripts.Rights,
	scripts.AcquireInLine, scripts.ReleaseFromLine, scripts.Detach, scripts.Adopt, scripts.CountWaiters, scripts.Leader,
	scripts.AcquireRead, scripts.AcquireWrite, scripts.AcquireWriteInLine, scripts.ReleaseRead, scripts.ReleaseReadFromLine, scripts.ReleaseWrite, scripts.ReleaseWriteFromLine, scripts.RenewRead, scripts.ConfirmRead, scripts.Downgrade,
	scripts.FairAsk, scripts.FairRelease, scripts.FairLeave,
	scripts.AcquireSimple, scripts.AcquireSimpleInLine, scripts.RenewSimple, scripts.ConfirmSimple, scripts.ReleaseSimple, scripts.ReleaseSimpleFromLine, scripts.AdoptSimple,
	scripts.DetachSimple, scripts.InspectSimple, scripts.Peek,
	scripts.Take, scripts.Give, scripts.AddPermits, scripts.SetPermits, scripts.DrainPermits, scripts.CountDown, scripts.SetCount, scripts.DeleteCount,
	scripts.GetCount, scripts.Count, scripts.PermitTake, scripts.PermitRenew, scripts.PermitFree, scripts.PermitAdd, scripts.PermitCount,
	scripts.DeletePermits, scripts.PermitSet, scripts.PermitDelete,
}

// rightsKey is the key that rights.lua writes; without the right to DEL it stands for a second.
const rightsKey = "rights"

// call is one of a script, in the making, or a command of somebody else.
type call struct {
	script  scripts.Script
	keys    []string
	args    []string
	command []string // of somebody else, or of the administrator; nil: the script runs
	passes  int64    // µs, before
}

// words is the call as a command.
func (c *call) words(digests map[string]string) []string {
	if c.command != nil {
		return c.command
	}
	return slices.Concat([]string{"EVALSHA", digests[c.script.Name], strconv.Itoa(len(c.keys))}, c.keys, c.args)
}

func (c *call) String() string {
	if c.command != nil {
		return step{c.passes, c.command}.String()
	}
	return step{c.passes, slices.Concat([]string{c.script.Name}, c.keys, []string{"|"}, c.args)}.String()
}

// caller makes calls that the engines would make where the model stands, and others. It looks into the model, which runs them
// as they are made.
type caller struct {
	*scriptcalls.Caller
	s     *Server
	keys  map[string]bool // all that were named
	kind  string          // what most of them are about
	alone bool            // nobody else comes in between
	*call
}

func (c *caller) one64(among ...int64) int64 { return among[c.IntN(len(among))] }

// stands is what stands in the model.
type stands struct{ s *Server }

func (m stands) Parts(key, of string) (names []string) {
	if o, wrong := m.s.read(key, map[string]kind{"hash": aHash, "zset": aZset}[of]); o != nil && !wrong {
		for _, part := range o.parts {
			names = append(names, part.name)
		}
	}
	return names
}

func (m stands) Text(key string) (text string, is bool) {
	if o, wrong := m.s.read(key, aString); o != nil && !wrong {
		return o.text, true
	}
	return "", false
}

// next makes a call.
func (c *caller) next() {
	c.call = &call{passes: c.pause()}
	c.s.Micros += c.passes
	c.Engine = c.One(scriptcalls.Engine1, scriptcalls.Engine2)
	kind := c.kind
	if c.IntN(10) == 0 {
		kind = c.One(scriptcalls.Kinds...)
	}
	names := c.Names(kind)[:1+max(0, c.IntN(5)-2)]
	if c.IntN(6) == 0 && !c.alone {
		c.call.command = c.outsider(names[0])
		return
	}
	c.Make(kind, names)
	c.script, c.call.keys, c.args = c.Script, c.Keys, c.Args
	rare := 200
	if c.alone { // a right is missing
		rare = 25
	}
	if c.IntN(rare) == 0 {
		c.script, c.call.keys, c.args = scripts.Rights, nil, []string{rightsKey, "nobody", c.One("PUBLISH", "BOTH", "SPUBLISH")}
	}
	if c.IntN(12) == 0 {
		c.spoil()
	}
}

// pause lets time pass: none, a little, or until just about a key ends.
func (c *caller) pause() int64 {
	switch c.IntN(6) {
	case 0:
		return c.Int64N(2_000_000)
	case 1:
		return c.Int64N(3000)
	case 2:
		if n := len(c.s.keys.items); n > 0 {
			ends := c.s.keys.items[c.IntN(n)].expires*1000 + []int64{-1000, -1, 0, 999, 1000}[c.IntN(5)]
			if passes := ends - c.s.Micros; passes > 0 && passes < 100_000_000 {
				return passes
			}
		}
	}
	return 0
}

// spoil makes a call one that no engine makes.
func (c *caller) spoil() {
	switch n := c.IntN(10); {
	case n == 0 && len(c.args) > 0:
		c.args = c.args[:len(c.args)-1]
	case n == 1:
		c.args = append(c.args, c.One("", "x", "1"))
	case n == 2 && len(c.call.keys) > 1:
		c.call.keys[0] = c.call.keys[len(c.call.keys)-1]
	case n == 3 && len(c.call.keys) > 1:
		c.Shuffle(len(c.call.keys), func(i, j int) { c.call.keys[i], c.call.keys[j] = c.call.keys[j], c.call.keys[i] })
	case n == 4 && len(c.call.keys) > 1:
		c.call.keys = c.call.keys[:len(c.call.keys)-1]
	case len(c.args) > 0: // no large number: some tell how often
		c.args[c.IntN(len(c.args))] = c.One("", "x", "-1", "0", "1.5", "1e1", "0x10", " 7", "7 ", "nan", "mode", "-3x", "2x2", "a:b:c")
	}
}

// outsider is somebody else, or a mistake.
func (c *caller) outsider(name string) []string {
	now := c.s.millis()
	moment := strconv.FormatInt(now+c.Int64N(4000)-1000, 10)
	queue, deadlines, alive := scripts.FairQueue(name), scripts.FairDeadlines(name), scripts.FairAlive(name)
	held, counter, receipt := scripts.PermitsKey(name), scripts.TokenKey(name), scripts.ReceiptKey(name, c.Engine)
	line, since := scripts.LineKey(name), strconv.FormatInt(1<<52+now-c.one64(-5, 0, 50, 99, 100, 101, 5000), 10)
	leader, count := scripts.LeaderKey(name), c.One("1", "2", "3", "x", "")
	commands := [][]string{
		{"DEL", name}, {"DEL", name}, {"DEL", name}, {"DEL", name}, {"DEL", name}, {"DEL", held}, {"DEL", queue}, {"DEL", deadlines}, {"DEL", alive}, {"DEL", receipt},
		{"SET", name, "5"}, {"SET", name, "no number"}, {"SET", name, c.One("-2", "9007199254740991", "9007199254740992", "1.5", "007", "9223372036854775807")},
		{"SET", name, "token", "NX", "PX", c.One("1", "2000", "36000000")}, {"SET", name, c.One("", "token", c.Owner()+":r4nd0m"), "PX", c.One("1", "2000", "36000000")},
		{"HSET", name, "java:1", count}, {"HSET", name, c.Owner(), count}, {"HSET", name, "mode", c.One("read", "write", "x")}, {"HSET", name, c.Owner() + ":write", "1"},
		{"HSET", name, "mode", "read", "java:1", count}, {"SET", scripts.HoldKey(name, "java:1"), "1", "PX", c.One("1", "500", "5000")},
		{"SET", scripts.SuffixName(name, "java:1:rwlock_timeout:2"), "1", "PX", c.One("1", "500", "5000")}, {"SADD", scripts.HoldKey(name, c.Owner()), "x"},
		{"PERSIST", name}, {"PEXPIRE", name, c.One("1", "2000", "36000000")}, {"RPUSH", name, "x"}, {"SADD", name, "x"}, {"ZADD", name, "1", "x"},
		{"SET", queue, "x"}, {"RPUSH", queue, "java:7"}, {"RPUSH", queue, "java:7", "java:8"}, {"LPUSH", queue, c.Owner()}, {"RPUSH", queue, c.Owner()}, {"LPOP", queue},
		{"ZADD", deadlines, moment, "java:7"}, {"ZADD", deadlines, moment, c.Owner()}, {"ZADD", deadlines, strconv.FormatInt(now+300000, 10), "java:8"}, {"SET", deadlines, "x"},
		{"ZADD", alive, moment, c.Engine}, {"ZADD", alive, moment, "33333333-3333-3333-3333-333333333333"}, {"HSET", alive, "x", "1"},
		{"SET", counter, c.One("4000000000000000", "9007199254740991", "x", "-5", "1e3")}, {"RPUSH", counter, "x"}, {"PEXPIRE", counter, "1000"},
		{"ZADD", held, moment, "0123456789abcdef"}, {"ZADD", held, c.One("1", "inf", "9007199254740991"), "0123456789abcdef"}, {"SET", held, "x"}, {"PEXPIRE", held, "1500"},
		{"DEL", line}, {"SET", line, "x"}, {"ZADD", line, "1", c.Engine + ":7 78"}, {"ZADD", line, "0", "dead:7 78"}, {"ZADD", line, "2", "no place"}, {"ZADD", line, strconv.FormatInt(-now+c.one64(0, 5, 199, 200), 10), c.Engine + ":1 1"}, {"ZADD", line, "3", c.Engine + ":2 1"}, {"ZADD", line, since, "since"},
		{"ZREM", line, "since"}, {"PERSIST", line}, {"PEXPIRE", line, "1500"},
		{"DEL", leader}, {"SET", leader, "x"}, {"HSET", leader, "owner", c.Owner()}, {"HSET", leader, "term", count},
		{"SET", receipt, c.One("x", "1:1", strconv.FormatUint(c.Calls, 10)+":-1", "999999:2", strconv.FormatUint(c.Calls+1, 10)+":0")}, {"SADD", receipt, "x"},
	}
	command := commands[c.IntN(len(commands))]
	c.keys[command[1]] = true
	return command
}
