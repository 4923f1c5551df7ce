package scripts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

// usual is the type of each key of the scenes, but for that of the name itself.
var usual = map[string]string{
	counter: "string", readNames[2]: "string", countKeys[1]: "string", permitKeys[1]: "zset",
	fairKeys[1]: "list", fairKeys[2]: "zset", fairKeys[3]: "zset",
}

// makers make something of another type.
var makers = map[string]func(key string) []string{
	"string": func(key string) []string { return []string{"SET", key, "no number"} },
	"list":   func(key string) []string { return []string{"RPUSH", key, "x"} },
	"set":    func(key string) []string { return []string{"SADD", key, "x"} },
	"zset":   func(key string) []string { return []string{"ZADD", key, "1", "x"} },
	"hash":   func(key string) []string { return []string{"HSET", key, "not", "a lock"} },
	"stream": func(key string) []string { return []string{"XADD", key, "*", "x", "y"} },
}

// indifferent are the scenes in which nothing is asked of the name itself.
var indifferent = []string{"leave", "take permits again"}

// Something else that stands under one of the keys stays, and the reply that names a type names its type. Only the key of a reader's
// hold goes with the hold, whatever stands there: its name contains an owner id, which is used once.
func TestWhatIsForeignIsNamedAndStays(t *testing.T) {
	t.Parallel()
	b := realBox(t)
	for of, scenes := range map[string][]scene{"hash": slices.Concat(lockScenes, rwScenes, fairScenes), "string": slices.Concat(countingScenes, permitScenes, simpleScenes)} {
		for _, s := range scenes {
			for _, key := range s.keys {
				is := usual[key]
				if key == one {
					is = of
				}
				if key == readNames[2] && strings.HasPrefix(s.script.Name, "release_read") {
					continue
				}
				for kind := range makers {
					if kind != is && !(key == lineNames[1] && kind == "zset") {
						t.Run(s.name+", "+key+" is a "+kind, func(t *testing.T) { s.foreign(t, b.fresh(t), key, kind, kind) })
					}
				}
				if is != "list" {
					ofModule := s
					ofModule.script.Text = strings.Replace(s.script.Text, "call('TYPE', key)", "{ ok = 'of a module' }", 1)
					t.Run(s.name+", "+key+" is of a module", func(t *testing.T) { ofModule.foreign(t, b.fresh(t), key, "list", "another type") })
				}
			}
		}
	}
}

// ofOwners are the scripts about an owner that should be there: where something else stands, the lock is not that owner's any more.
var ofOwners = []string{"renew", "confirm", "detach", "release", "renew_read", "release_read", "release_read_from_line", "release_write", "release_write_from_line", "downgrade", "fair_release",
	"renew_simple", "confirm_simple", "detach_simple", "release_simple", "release_simple_from_line"}

// foreign plays a scene with something else under a key, which the reply is to name.
func (s *scene) foreign(t *testing.T, b *box, key, kind, named string) {
	s.prepare(b)
	b.must("DEL", key)
	b.must(makers[kind](key)...)
	reply := scripts.Reply(number(t, b.eval(s.script, s.keys, s.args...)))
	what, foreign := reply.Fault().Foreign()
	switch {
	case foreign && !strings.Contains(what, named):
		t.Errorf("answered %d: %s", reply, what)
	case key == one && slices.Contains(ofOwners, s.script.Name) && reply != scripts.NotMine:
		t.Errorf("answered %d, want %d", reply, scripts.NotMine)
	case (s.name == "leave" && key == one || s.name == "renew permits") && reply != 0:
		t.Errorf("answered %d, want 0", reply)
	case !foreign && key == fairKeys[1] && s.script.Name == "fair_ask":
		t.Errorf("answered %d: who is next cannot be told", reply)
	case !foreign && reply.Fault() != scripts.None:
		t.Errorf("answered %d: %v", reply, reply.Fault())
	case !foreign && key == one && reply != scripts.NotMine && !slices.Contains(indifferent, s.name):
		t.Errorf("answered %d", reply)
	}
	b.want(b.must("TYPE", key), kind, "TYPE")
}

// A hash of another kind of lock is named, too.
// invariant: one-kind-per-name
func TestAFairLockIsNoOtherKindOfLock(t *testing.T) {
	b := realBox(t)
	standing("mode", "read", "me:1", "1")(b)
	b.want(b.eval(scripts.FairAsk, fairKeys, asking(1, "TRY", 0, 0)...), fault(scripts.Fault(21)), "fair_ask")
	b.stands(one, "me:1=1", "mode=read")
}

// Where another type stands under a fair lock, its owner, who waits again, still leaves the queue.
func TestWhoLostAFairLockLeavesItsQueue(t *testing.T) {
	b := realBox(t)
	b.must("SET", one, "x")
	b.setLine("java:1+300000 me:9+600000 | me+5")
	b.want(b.eval(frozen(scripts.FairRelease), fairKeys, "PUBLISH", "me", "me:9", 0, hour, nobody), "-1", "fair_release")
	b.want(b.line(), "java:1+300000 | me+5", "the line")
}

// Some servers answer TYPE in plain text.
func TestATypeInPlainTextIsNamed(t *testing.T) {
	b := realBox(t)
	b.must("RPUSH", one, "x")
	b.want(b.eval(answering(scripts.Acquire, "TYPE", "'list'"), names, 0, "me:1", hour), fault(scripts.Fault(18)), "acquire")
}
