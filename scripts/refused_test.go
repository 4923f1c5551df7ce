package scripts_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

// refusals are the errors by which Redis refuses a write, and the fault that a script is to answer.
var refusals = map[scripts.Fault]string{
	scripts.ReadOnly:   "READONLY You can't write against a read only replica.",
	scripts.OutOfMem:   "OOM command not allowed when used memory > 'maxmemory'.",
	scripts.Misconf:    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
	scripts.NoReplicas: "NOREPLICAS Not enough good replicas to write.",
	scripts.NoPerm:     "NOPERM User limited has no permissions to run the command",
	scripts.Moving:     "ERR Script attempted to access a non local key in a cluster node",
	wrongType:          "WRONGTYPE Operation against a key holding the wrong kind of value",
}

// wrongType has no name outside: scripts answer which type it is.
const wrongType scripts.Fault = 7

// scene is a call of a script, and what is true whatever it answers.
type scene struct {
	name   string
	script scripts.Script
	setup  func(b *box)
	keys   []string
	args   []any
	check  func(o *outcome)
}

// prepare writes what the scene begins with.
func (s *scene) prepare(b *box) {
	if s.setup != nil {
		s.setup(b)
	}
}

// outcome is what a call answered, and what stands.
type outcome struct {
	*box
	reply   scripts.Reply
	before  map[string]thing
	why     scripts.Fault // by which a write of this call was refused; None: none was
	undoing bool          // what came after the refused write was allowed, so that it could be undone
}

// thing is what stands under a key.
type thing struct {
	value string // of a sorted set the members alone
	ttl   int64  // ms
}

// granted reports whether the answer is one of success, by its least number.
func (o *outcome) granted(least scripts.Reply) bool {
	return o.reply >= least || least <= 0 && o.reply == scripts.PublishDenied
}

// has checks that an owner has the lock, for a lease from now on, and so do keys besides.
func (o *outcome) has(owner string, keys ...string) {
	o.Helper()
	o.want(o.must("HEXISTS", one, owner), "1", "answer ", o.reply, ": the field ", owner)
	for _, key := range append(keys, one) {
		o.lasts(key, hour)
	}
}

// hasNot checks that an owner has nothing of the lock.
func (o *outcome) hasNot(owner string) {
	o.Helper()
	o.want(o.must("HEXISTS", one, owner), "0", "answer ", o.reply, ": the field ", owner)
}

// kept checks that keys are as they were, and last as long, after a call that was refused.
func (o *outcome) kept(keys ...string) {
	o.Helper()
	if o.reply.Fault() == scripts.None {
		o.Errorf("answered %d", o.reply)
	}
	if !o.undoing {
		return
	}
	for _, key := range keys {
		was, is := o.before[key], o.thing(key)
		if is.value != was.value || is.ttl < was.ttl-10_000 {
			o.Errorf("answer %d: %s is %v, and was %v", o.reply, key, is, was)
		}
	}
}

// gives is the check of a call that gives the lock to an owner, or lets it keep it.
func gives(least scripts.Reply, owner string, keys ...string) func(*outcome) {
	return func(o *outcome) {
		o.Helper()
		if o.granted(least) {
			o.has(owner, keys...)
		} else {
			o.kept(one)
		}
	}
}

// frees is the check of a call that takes the lock away from an owner.
func frees(owner string) func(*outcome) {
	return func(o *outcome) {
		o.Helper()
		switch {
		case o.granted(0), o.reply == scripts.NotMine && o.why != wrongType:
			o.hasNot(owner)
		case o.reply == scripts.NotMine:
		default:
			o.kept(one)
		}
	}
}

// thing reads what stands under a key.
func (b *box) thing(key string) thing {
	b.Helper()
	return b.thingsOf(key)[key]
}

// number reads one that stands under a key, 0 when there is none.
func (b *box) number(key string) int64 {
	b.Helper()
	n, _ := strconv.ParseInt(b.thing(key).value, 10, 64)
	return n
}

// things reads everything that stands.
func (b *box) things() map[string]thing {
	b.Helper()
	return b.thingsOf(b.list("KEYS", "*")...)
}

// thingsOf reads what stands under keys.
func (b *box) thingsOf(keys ...string) map[string]thing {
	b.Helper()
	var about, values [][]string
	for _, key := range keys {
		about = append(about, []string{"PTTL", key}, []string{"TYPE", key})
	}
	all, stand := make(map[string]thing), []string{}
	for i, told := range slices.Collect(slices.Chunk(b.pipe(about), 2)) {
		ttl, _ := told[0].AsInt64()
		all[keys[i]] = thing{ttl: ttl}
		kind := text(told[1])
		if kind == "none" {
			continue
		}
		command := readers[kind](keys[i])
		if kind == "zset" {
			command = command[:4]
		}
		stand, values = append(stand, keys[i]), append(values, command)
	}
	for i, value := range b.pipe(values) {
		all[stand[i]] = thing{text(value), all[stand[i]].ttl}
	}
	return all
}

// refusing is a script some of whose writes are refused: those for which the Lua condition holds, of name and count, which
// is how many writes there have been. Its answer is a list of the script's, how many writes there were and how many refused.
func refusing(s scripts.Script, condition, words string) scripts.Script {
	return wrapped(s, "local count, refused, writes = 0, 0, "+luaSet(writes), `
	if not writes[name] then return nil end
	count = count + 1
	if `+condition+` then
		refused = refused + 1
		return `+strconv.Quote(words)+`
	end`, "reply = { reply, count, refused }")
}

// yes are the scripts whose answer of success is 1.
var yes = []string{"acquire", "acquire_read", "acquire_write", "renew", "fair_ask", "permit_take", "set_permits", "set_count", "delete_count"}

// run plays a scene's call once, with refusals or without, and checks it.
func (s *scene) run(t *testing.T, b *box, before map[string]thing, script scripts.Script, why scripts.Fault, undoing bool) (count, refused int) {
	t.Helper()
	answer := b.eval(script, s.keys, s.args...)
	reply := answer
	if script.Text != s.script.Text {
		if _, err := fmt.Sscanf(strings.NewReplacer("[", "", "]", "").Replace(answer), "%s %d %d", &reply, &count, &refused); err != nil {
			t.Fatalf("answered %s: %v", answer, err)
		}
	}
	if refused == 0 {
		why = scripts.None
	}
	told := scripts.Reply(number(t, reply))
	if told > 1 && slices.Contains(yes, s.script.Name) {
		t.Errorf("answered %d, want 1", told)
	}
	if f := told.Fault(); refused > 0 && f != scripts.None && f != why && (f < scripts.AnotherType || why != wrongType) {
		t.Errorf("answered %d: %v, want %v", told, f, why)
	}
	s.check(&outcome{&box{t, b.client, b.redis}, told, before, why, undoing})
	return count, refused
}

// play runs the call with refusals, and twice again without.
func (s *scene) play(t *testing.T, b *box, condition string, why scripts.Fault, undoing bool) (count, refused int) {
	t.Helper()
	b = b.fresh(t)
	s.prepare(b)
	before := b.things()
	count, refused = s.run(t, b, before, refusing(s.script, condition, refusals[why]), why, undoing)
	if undoing {
		s.run(t, b, before, s.script, scripts.None, true)
		s.run(t, b, before, s.script, scripts.None, true)
	}
	return count, refused
}

// passing are refusals of every write, of which each is for one here: scripts take them alike.
var passing = []scripts.Fault{scripts.ReadOnly, scripts.OutOfMem, scripts.Misconf, scripts.NoReplicas, scripts.Moving}

// Each write of each script is refused in turn, for lack of a right, by a key of another type, and for what passes, and the call is sent again.
// invariant: reply-says-what-redis-holds
func TestAReplyNeverSaysMoreThanRedisHolds(t *testing.T) {
	t.Parallel()
	b := realBox(t)
	b.subscribe(scripts.Inbox(nobody, bob), func(string) {}) // the first in line lives
	reached := make(map[string]bool)
	for i, s := range scenes() {
		reached[s.script.Name] = true
		t.Run(s.name, func(t *testing.T) {
			writes := 0
			for at, more := 1, true; more; at++ { // one write is refused
				for _, why := range []scripts.Fault{scripts.NoPerm, wrongType, passing[(i+at)%len(passing)]} {
					n := 0
					_, n = s.play(t, b, fmt.Sprintf("count == %d", at), why, true)
					more = n > 0
				}
				if more {
					writes = at
				}
				if t.Failed() {
					t.Fatalf("write %d was refused", at)
				}
			}
			if writes == 0 {
				t.Error("it wrote nothing")
			}
			for at := 1; at <= writes; at++ { // and all behind it
				s.play(t, b, fmt.Sprintf("count >= %d", at), scripts.NoReplicas, false)
				if t.Failed() {
					t.Fatalf("write %d and those behind it were refused", at)
				}
			}
			for _, command := range commandsOf(s.script) { // a user without a right; HDEL is what fields are taken back by
				s.play(t, b, fmt.Sprintf("name == '%s'", command), scripts.NoPerm, command != "HDEL")
				if t.Failed() {
					t.Fatalf("each %s was refused", command)
				}
			}
		})
	}
	for _, s := range all {
		if !reached[s.Name] && len(commandsOf(s)) > 0 && s.Name != "inspect" && s.Name != "look" && s.Name != "count_waiters" {
			t.Errorf("there is no scene of %s", s.Name)
		}
	}
}

// commandsOf are the writes that a script has in its text.
func commandsOf(s scripts.Script) []string {
	found := make(map[string]bool)
	for _, call := range regexp.MustCompile(`\b(?:call|ask)\((?:l, )?'([A-Z]+)'`).FindAllStringSubmatch(s.Text, -1) {
		if slices.Contains(writes, call[1]) {
			found[call[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
