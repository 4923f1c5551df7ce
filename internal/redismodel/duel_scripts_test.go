package redismodel

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/scriptcalls"
	"github.com/wheellock/wheellock/scripts"
)

var callsFlag = flag.Int("calls", 14000, "how many calls TestDuelOfScripts makes")

// TestDuelOfScripts calls the engine's scripts on the model and on a redis-server whose clock stands where the model's does, also in
// states and with arguments that no engine makes, and while writes are refused. Each answer, each message, and all that stands
// afterwards must be the same.
func TestDuelOfScripts(t *testing.T) {
	const begin, most = 1_700_000_000_000_000, 50
	r := startRival(t, begin)
	r.learnRefusals()
	d := newScriptDuel(r)
	started, made := time.Now(), 0
	for n := 0; made < *callsFlag; n++ {
		d.s.Micros = begin + int64(n)*10_000_000_000 // each sequence can be repeated by itself: none lasts so long
		r.turn(d.s.Micros)
		made += d.sequence(t, n, most)
	}
	t.Logf("%s, seed %d: %d calls, %d messages, in %v", r.name, *seedFlag, made, d.messages, time.Since(started).Round(time.Millisecond))
	for _, s := range all {
		t.Logf("%15s %6d: %v", s.Name, d.called[s.Name], d.answered[s.Name])
		if made >= 5000 && *seedFlag == 1 && len(d.answered[s.Name]) < 2 { // with other seeds, one may have been out of luck
			t.Errorf("%s answered always the same, if at all: %v", s.Name, d.answered[s.Name])
		}
	}
}

// scriptDuel is a model and its rival, with somebody who listens to both.
type scriptDuel struct {
	*rival
	s          *Server
	digests    map[string]string // of the scripts, by name
	subscribed map[string]bool
	heard      []string // by who listens to the model, since last looked at
	messages   int
	called     map[string]int
	answered   map[string]map[string]int // how, by the script
}

func newScriptDuel(r *rival) *scriptDuel {
	r.Helper()
	d := &scriptDuel{
		rival: r, s: New(NewInterpreter()), digests: make(map[string]string), subscribed: make(map[string]bool),
		called: make(map[string]int), answered: make(map[string]map[string]int),
	}
	for _, script := range all {
		d.digests[script.Name] = r.MustDo("SCRIPT", "LOAD", script.Text).Text
		d.answered[script.Name] = make(map[string]int)
	}
	for _, kind := range scriptcalls.Kinds {
		for _, name := range scriptcalls.NamesOf(kind)[:2] { // to those of the third nobody listens
			d.subscribe(scripts.LockChannel(name), scripts.LeaderChannel(name), scripts.RWChannel(name), scripts.SemaphoreChannel(name), scripts.LatchChannel(name), scripts.FairChannel(name, "java:7"),
				scripts.Inbox(scripts.LockChannel(name), scriptcalls.Engine1))
			for n := range 4 {
				d.subscribe(scripts.FairChannel(name, scriptcalls.Engine1+":"+strconv.Itoa(n)), scripts.FairChannel(name, scriptcalls.Engine2+":"+strconv.Itoa(n)))
			}
		}
	}
	d.subscribe(scripts.Inbox(scripts.LockChannel(scriptcalls.NamesOf("lock")[0]), scriptcalls.Engine2), scripts.Inbox(scripts.LockChannel(scriptcalls.NamesOf("fenced")[1]), scriptcalls.Engine2),
		scripts.Inbox(scripts.LockChannel(scriptcalls.NamesOf("simple")[0]), scriptcalls.Engine2)) // in other lines this one is dead
	for channel := range d.subscribed {
		d.rival.heard.pipe([]string{"SUBSCRIBE", channel})
		d.rival.heard.pipe([]string{"SSUBSCRIBE", channel})
	}
	d.s.Subscribers = func(channel string, sharded bool) int {
		if d.subscribed[channel] {
			return 1
		}
		return 0
	}
	d.s.Publish = func(channel, message string, sharded bool) {
		if d.subscribed[channel] {
			d.heard = append(d.heard, map[bool]string{true: "s", false: ""}[sharded]+"message "+channel+" "+message)
		}
	}
	return d
}

func (d *scriptDuel) subscribe(channels ...string) {
	for _, channel := range channels {
		d.subscribed[channel] = true
	}
}

// sequence makes some calls one after the other, and answers how many.
func (d *scriptDuel) sequence(t *testing.T, n, most int) int {
	c := &caller{
		Caller: &scriptcalls.Caller{Rand: rand.New(rand.NewPCG(*seedFlag, uint64(n))), Stands: stands{d.s}, Millis: d.s.millis},
		s:      d.s, keys: map[string]bool{rightsKey: true},
	}
	c.kind = c.One(scriptcalls.Kinds...)
	var calls []*call
	var ours []Value
	run := func(made *call) {
		for _, key := range made.keys {
			c.keys[key] = true
		}
		calls = append(calls, made)
		ours = append(ours, d.onModel(made))
	}
	begin := d.s.Micros
	var end []string // of refusals
	for range 1 + c.IntN(most) {
		switch {
		case end != nil && c.IntN(5) == 0:
			run(&call{command: end})
			end, c.alone = nil, false
		case end == nil && c.IntN(40) == 0:
			var begin []string
			begin, end = d.illness(c)
			run(&call{command: begin})
		}
		c.next()
		run(c.call)
	}
	if end != nil {
		run(&call{command: end})
	}
	theirs := d.onRival(calls, begin)
	for i := range calls {
		if said, other := d.comparable(calls[i], ours[i]), d.comparable(calls[i], theirs[i]); said != other {
			t.Fatalf("%s, seed %d, sequence %d: %v answered\n%v by the model,\n%v by the server\n%s", d.name, *seedFlag, n, calls[i], ours[i], theirs[i], told(calls[:i], ours))
		}
		d.note(calls[i], ours[i])
	}
	if said, other := d.heard, d.listened(); !slices.Equal(said, other) {
		t.Fatalf("%s, seed %d, sequence %d: heard\n%q of the model,\n%q of the server\n%s", d.name, *seedFlag, n, said, other, told(calls, ours))
	}
	d.messages += len(d.heard)
	d.heard = d.heard[:0]
	d.compareStates(t, n, c.keys, func() string { return told(calls, ours) })
	d.s.Do("FLUSHALL")
	d.wire.pipe([]string{"FLUSHALL"})
	return len(calls)
}

// illness makes a server refuse writes, or take a right away; then nobody else comes: what a user without it hears is in other words.
func (d *scriptDuel) illness(c *caller) (begin, end []string) {
	ill := c.One("READONLY", "NOREPLICAS", "OOM", "MISCONF", "rights", "rights", "rights")
	if ill == "rights" {
		c.alone = true
		return []string{"ACL", "SETUSER", "default", "-" + c.One(rights...)}, rightsBack
	}
	return refusals[ill].begin, refusals[ill].end
}

func (d *scriptDuel) onModel(c *call) Value {
	if c.command != nil {
		return d.asModel(d.s, c.command)
	}
	return d.s.Eval(c.script.Text, c.keys, c.args)
}

// onRival runs calls on the server, the first of them from a time on.
func (d *scriptDuel) onRival(calls []*call, at int64) []Value {
	steps := make([]step, len(calls))
	for i, c := range calls {
		steps[i] = step{c.passes, c.words(d.digests)}
		at += c.passes
	}
	return d.play(steps, at)
}

// comparable is an answer as text.
func (d *scriptDuel) comparable(c *call, v Value) string {
	if c.command != nil {
		return comparable(c.command, v)
	}
	if c.script.Name == scripts.Inspect.Name && len(v.Array) > 3 { // it ends with what HGETALL answered
		fields := v
		fields.Array = v.Array[3:]
		v.Array = v.Array[:3]
		return v.String() + comparable([]string{"HGETALL"}, fields)
	}
	return comparable([]string{"EVALSHA"}, v)
}

// listened is what who listens to the server has heard since last asked.
func (d *scriptDuel) listened() (messages []string) {
	d.rival.heard.send([]string{"PING"})
	for {
		answer := d.rival.heard.read()
		if answer.Kind != Array || len(answer.Array) < 3 {
			return messages
		}
		messages = append(messages, fmt.Sprint(answer.Array[0].Str, " ", answer.Array[1].Str, " ", answer.Array[2].Str))
	}
}

// compareStates compares what stands under all keys that were named, and that there are no others.
func (d *scriptDuel) compareStates(t *testing.T, n int, keys map[string]bool, told func() string) {
	var questions [][]string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		questions = append(questions, []string{"TYPE", key}, []string{"PTTL", key})
		questions = append(questions, map[string][]string{
			"none": {"EXISTS", key}, "string": {"GET", key}, "hash": {"HGETALL", key}, "list": {"LRANGE", key, "0", "-1"}, "set": {"SMEMBERS", key},
			"zset": {"ZRANGE", key, "0", "-1", "WITHSCORES"},
		}[d.s.Do("TYPE", key).Str])
	}
	questions = append(questions, []string{"DBSIZE"})
	for i, theirs := range d.wire.pipe(questions...) {
		ours := d.s.Do(questions[i]...)
		if comparable(questions[i], ours) != comparable(questions[i], theirs) {
			t.Fatalf("%s, seed %d, sequence %d: afterwards %q is\n%v on the model,\n%v on the server\n%s", d.name, *seedFlag, n, questions[i], ours, theirs, told())
		}
	}
}

// note counts a call by how it was answered.
func (d *scriptDuel) note(c *call, v Value) {
	if c.command == nil {
		d.called[c.script.Name]++
		d.answered[c.script.Name][class(v)]++
	}
}

// class is what kind of answer a script's is; that of the first name when there are many.
func class(v Value) string {
	reply := scripts.Reply(v.Int)
	_, late := reply.Late()
	_, held := reply.Held()
	switch {
	case v.Kind == Err:
		return "error"
	case v.Kind == Array && len(v.Array) > 0:
		return class(v.Array[0])
	case v.Kind != Int:
		return v.String()
	case late:
		return "late"
	case reply.Fault() != scripts.None:
		return "fault"
	case held && reply < -2:
		return "held"
	case reply > 2:
		return "many"
	}
	return v.String()
}

func told(calls []*call, answers []Value) string {
	var b strings.Builder
	for i, c := range calls {
		fmt.Fprintf(&b, "%v -> %v\n", c, answers[i])
	}
	return b.String()
}
