package scripts_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/scripts"
)

// exact is what a scene's call answers when one listens to its channel, what is heard there, and what it answers when it is sent again.
type exact struct {
	reply int64
	heard string // empty: nothing; messages with a space between them
	again int64
}

// sometime stands for an answer that tells a time to come.
const sometime = math.MinInt64

var exactly = map[string]exact{
	"acquire": {1, "", 1}, "acquire again": {1, "", 1}, "acquire in line": {1, "", 1}, "acquire in line again": {1, "", 1}, "acquire fenced": {frozenMicros, "", frozenMicros + 64},
	"acquire in line what is fenced": {frozenMicros, "", frozenMicros + 64}, "acquire in line what is fenced again": {frozenMicros, "", frozenMicros + 64},
	"acquire fenced again": {frozenMicros, "", frozenMicros + 64},
	"renew":                {1, "", 1}, "confirm": {1, "", 1}, "release": {1, "0", -1}, "release to the line": {1, "0", -1}, "release from line": {1, "0", -1},
	"detach": {1, "0", 1}, "detach a fair lock": {0, "", 0}, "adopt": {1, "", 1}, "adopt again": {1, "", 1},
	"adopt what is fenced": {frozenMicros, "", frozenMicros + 64}, "adopt what is fenced again": {frozenMicros, "", frozenMicros + 64},

	"read": {1, "", 1}, "read beside another": {1, "", 1}, "read again": {1, "", 1}, "read again without its key": {1, "", 1},
	"read in line": {1, "", 1}, "write in line": {1, "", 1}, "write": {1, "", 1}, "write again": {1, "", 1}, "renew a reader": {1, "", 1}, "confirm a reader without its key": {1, "", 1}, "release the last reader to the line": {1, "0", -1}, "release a writer to the line": {1, "1", -1},
	"release a writer before readers in line": {1, "1", -1},
	"release the last reader":                 {1, "0", -1}, "release a reader beside another": {0, "", -1}, "release a reader beside a dead one": {1, "0", -1},
	"release a writer": {1, "1", -1}, "release a writer that reads": {1, "1", -1}, "downgrade": {1, "1", 0}, "downgrade a writer that reads": {1, "1", 0}, "downgrade again": {0, "", 0},

	"ask for a free fair lock": {1, "", 1}, "ask for it again": {1, "", 1}, "ask when it is our turn": {1, "", 1},
	"join": {-frozenTTL - 2, "", -frozenTTL - 2}, "go back to the head": {-frozenTTL - 2, "", -frozenTTL - 2},
	"release to the next of ours": {1 << 50, "", 1 << 50}, "release to nobody": {0, "", -1}, "leave": {0, "", 0},

	"acquire simple": {1, "", 1}, "acquire simple again": {1, "", 1}, "acquire simple in line": {1, "", 1}, "acquire simple in line again": {1, "", 1},
	"renew simple": {1, "", 1}, "confirm simple": {0, "", 0}, "adopt simple": {1, "", 1}, "adopt simple again": {1, "", 1}, "detach simple": {0, "", 0},
	"release simple": {0, "", -1}, "release simple to the line": {0, "", -1}, "release simple from line": {0, "", -1},

	"take in line": {2, "", 2}, "take too many in line": {-2<<43 - 1, "", -2<<43 - 1}, "take too many in line with a place for others": {-6<<43 - 1, "", -6<<43 - 1}, "take when another is called": {2, "", 2}, "give up a place": {-1, "", -1}, // frozen it is a call to come
	"give with a line": {1, "2", 0}, "add with a line": {1, "2", 0}, "set with a line": {1, "5", 1},
	"take": {2, "", 2}, "take too many": {-1, "", -1}, "give": {1, "7", 0}, "add": {1, "-2", 0}, "set": {1, "5", 1}, "drain": {5, "", 5},
	"count down": {0, "", 0}, "count down to 0": {0, "0", 0}, "count down by more than is left": {0, "0", 0}, "set a latch": {1, "1", 1}, "delete a latch": {1, "1", 1},
	"set for a minute": {1, "5", 1}, "delete a semaphore": {1, "", 1}, "set permits that expire": {1, "9", 0}, "set fewer permits than are held": {1, "1", 0},
	"delete permits that expire": {1, "", 1}, "set permits to none": {1, "0", 0}, "delete permits without a number": {1, "", 1},
	"add permits that expire": {1, "1", 0},

	"take permits in line": {1, "", 1}, "take too many permits in line": {sometime, "", sometime}, "give up a place for permits": {-1, "", -1},
	"free permits with a line": {1, "2", 0}, "set permits with a line": {1, "9", 0},
	"take permits": {1, "", 1}, "take permits of a limit": {1, "", 1}, "take permits that are over": {1, "1", 1}, "take too many, some are over": {sometime, "2", sometime},
	"take permits again": {1, "", 1}, "renew permits": {1, "", 1}, "free permits": {1, "2", 0},
	"take one permit": {1, "", 1}, "take one permit of a limit": {1, "", 1}, "free one permit": {1, "4", 0},
	"free permits by their ids, one of them twice": {1, "2", 1}, "count permits of which some are over": {0, "5", 0},
}

// listenSharded is listen for a channel of a hash slot.
func (b *box) listenSharded(channel string) <-chan string {
	b.Helper()
	heard := make(chan string, 16)
	conn, release := b.client.Dedicate()
	b.Cleanup(func() { conn.Close(); release() })
	conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) {
		select {
		case heard <- m.Message:
		default: // nobody reads
		}
	}})
	if err := conn.Do(context.Background(), conn.B().Ssubscribe().Channel(channel).Build()).Error(); err != nil {
		b.Fatal(err)
	}
	return heard
}

// before7 is a script on a Redis that does not compare TTLs by itself.
func before7(s scripts.Script) scripts.Script {
	return scripts.Script{Name: s.Name, Text: "local redis = setmetatable({ REDIS_VERSION_NUM = false }, { __index = redis })\n" + s.Text}
}

// What a call answers and what it says on the channel, to the event. Two listen to the sharded channel, which is not meant.
func TestExactAnswers(t *testing.T) { exactAnswers(t, frozen) }

func TestExactAnswersBeforeRedis7(t *testing.T) {
	exactAnswers(t, func(s scripts.Script) scripts.Script { return frozen(before7(s)) })
}

func exactAnswers(t *testing.T, of func(scripts.Script) scripts.Script) {
	b := realBox(t)
	heard := b.listen(nobody)
	sharded, _ := b.listenSharded(nobody), b.listenSharded(nobody)
	for _, s := range scenes() {
		b.run(t, s.name, func(t *testing.T, b *box) {
			s.prepare(b)
			want, known := exactly[s.name]
			if !known {
				t.Fatal("it is not known what it answers")
			}
			call := func(want int64) {
				t.Helper()
				if got := number(t, b.eval(of(s.script), s.keys, s.args...)); got != want && (want != sometime || got >= -1) {
					t.Errorf("it answered %d, want %d", got, want)
				}
			}
			call(want.reply)
			b.want(b.said(nobody, heard), want.heard, "the channel")
			b.must("SPUBLISH", nobody, "the end")
			b.want(<-sharded, "the end", "the sharded channel")
			if slices.Contains(s.keys, countKeys[1]) && s.args[2] == 7 {
				b.want(b.thing(countKeys[1]).value, fmt.Sprint("7:", want.again), "the receipt")
				b.lasts(countKeys[1], time.Minute)
			}
			before := b.things()
			call(want.again)
			b.want(b.said(nobody, heard), map[bool]string{true: "0"}[s.name == "detach"], "the channel") // which wakes them again
			if strings.Contains(s.name, "fenced") {
				return // each time another block of tokens is given
			}
			for key, was := range before {
				if is := b.thing(key); is.value != was.value {
					t.Errorf("sent again it changed %s from %v to %v", key, was, is)
				}
			}
		})
	}
}

// goesOn are the scenes of what keeps and frees: at maxmemory they go on.
var goesOn = []string{
	"acquire again", "acquire in line again", "release to the line", "release from line", "renew", "confirm", "adopt again", "release",
	"read again", "read again without its key", "write again", "renew a reader", "confirm a reader without its key", "release the last reader to the line", "release a writer to the line", "release a writer before readers in line",
	"release the last reader", "release a reader beside another", "release a reader beside a dead one", "release a writer", "release a writer that reads",
	"acquire simple again", "acquire simple in line again", "renew simple", "confirm simple", "adopt simple again", "release simple", "release simple to the line",
	"release simple from line", "downgrade", "downgrade a writer that reads", "downgrade again", "release to the next of ours", "release to nobody", "leave",
	"give", "give with a line", "give up a place", "give up a place for permits", "free permits with a line", "free one permit", "count down", "count down to 0", "count down by more than is left", "delete a latch", "delete a semaphore", "delete permits that expire", "delete permits without a number", "take too many, some are over",
	"take permits again", "renew permits", "free permits", "free permits by their ids, one of them twice", "count permits of which some are over",
	"take when another is called", "take too many in line with a place for others", // a place goes first, and behind that Redis allows writes
}

func TestWhatKeepsAndFreesGoesOnAtMaxmemory(t *testing.T) {
	b := realBox(t)
	for _, s := range scenes() {
		b := b.fresh(t)
		s.prepare(b)
		b.must("CONFIG", "SET", "maxmemory", "1")
		reply := scripts.Reply(number(t, b.eval(frozen(s.script), s.keys, s.args...)))
		b.must("CONFIG", "SET", "maxmemory", "0")
		if refused, want := reply.Fault() != scripts.None, !slices.Contains(goesOn, s.name); refused != want {
			t.Errorf("%s: answered %d, refused %t, want %t", s.name, reply, refused, want)
		}
	}
}

// Calls that have nothing to do.
func TestCountsThatAreThereOrNot(t *testing.T) {
	b := realBox(t)
	heard := b.listen(nobody)
	for _, c := range []struct {
		what   string
		script scripts.Script
		before string // empty: nothing stands
		n      int
		reply  string
		after  string
	}{
		{"permits are set once", scripts.SetPermits, "0", 5, "0", "0"},
		{"a latch is set once", scripts.SetCount, "1", 5, "0", "1"},
		{"a latch that is not there is not deleted", scripts.DeleteCount, "", 0, "0", ""},
		{"nor is a semaphore", scripts.DeletePermits, "", 0, "0", ""},
		{"nor are permits that expire", scripts.PermitDelete, "", 0, "0", ""},
		{"of which there are so many none are made", scripts.PermitSet, "5", 5, "0", "5"},
		{"nor counted down", scripts.CountDown, "", 1, "0", ""},
		{"a latch that is open is deleted without a word", scripts.CountDown, "0", 1, "0", ""},
		{"no permits are drained", scripts.DrainPermits, "", 0, "0", ""},
		{"nor are debts paid", scripts.DrainPermits, "-3", 0, "-3", "0"},
		{"permits that expire are taken away without a word", scripts.PermitAdd, "5", -2, "0", "3"},
		{"none are added without a word", scripts.PermitAdd, "5", 0, "0", "5"},
	} {
		t.Run(c.what, func(t *testing.T) {
			b, keys := b.fresh(t), keysOf(c.script)
			if c.before != "" {
				b.must("SET", one, c.before)
			}
			refused := answering(c.script, "SET", "{ err = "+strconv.Quote(refusals[scripts.OutOfMem])+" }")
			b.want(b.eval(refused, keys, "PUBLISH", 0, 7, c.n, nobody), fault(scripts.OutOfMem), "the call when Redis refuses the receipt")
			b.want(b.thing(one).value, c.before, "the number")
			for range 2 {
				b.want(b.eval(c.script, keys, "PUBLISH", 0, 7, c.n, nobody), c.reply, "the call")
			}
			b.want(b.thing(one).value, c.after, "the number")
			b.want(b.thing(countKeys[1]).value, "7:"+c.reply, "the receipt")
			b.want(b.said(nobody, heard), "", "the channel")
			b.want(b.eval(c.script, keys, "PUBLISH", 0, 6, c.n, nobody), "0", "a call that was overtaken")
			b.want(b.thing(one).value, c.after, "the number")
		})
	}
	for before, want := range map[string][2]string{"": {"0", "[0 0]"}, "7": {"7", "[0 7]"}, "-7": {"0", "[0 -7]"}} {
		b := b.fresh(t)
		if before != "" {
			b.must("SET", one, before)
		}
		b.want(b.eval(scripts.GetCount, names), want[0], "look at ", before)
		b.want(b.eval(scripts.Count, names), want[1], "count of ", before)
	}
	for n, want := range map[string]string{
		"-9007199254740991": "[0 -9007199254740991]", "-9007199254740992": "[" + fault(scripts.OutOfRange) + " 0]", "9007199254740992": "[" + fault(scripts.OutOfRange) + " 0]",
		"no number": "[" + fault(scripts.Fault(17)) + " 0]", "7x": "[" + fault(scripts.Fault(17)) + " 0]",
	} {
		b := b.fresh(t)
		b.must("SET", one, n)
		b.want(b.eval(scripts.Count, names), want, "count of ", n)
	}
	b = b.fresh(t)
	b.must("RPUSH", one, "x")
	foreign := fault(scripts.Fault(18))
	b.want(b.eval(scripts.GetCount, names), foreign, "look at a list")
	b.want(b.eval(scripts.Count, names), "["+foreign+" 0]", "count of a list")
	b.want(b.eval(scripts.PermitCount, permitKeys[:2], "PUBLISH", nobody), "["+foreign+" 0 0]", "permit_count of a list")
	b.must("DEL", one)
	b.must("SET", permitKeys[1], "x")
	b.want(b.eval(scripts.PermitCount, permitKeys[:2], "PUBLISH", nobody), "["+fault(scripts.Fault(17))+" 0 0]", "permit_count of a string")
	pooled(3, 4, 3)(b.fresh(t))
	b.want(b.eval(scripts.PermitCount, permitKeys[:2], "PUBLISH", nobody), "[0 5 2]", "permit_count")
}
