package scripts_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// A line is a fair queue as text: each waiter with the end of its life as Redisson sees it, in ms from now, or "?" for none; in
// parentheses who has such an end and does not stand; behind a bar the engines of ours, with the ends of their lives.
//
//	java:1+5000 me:1+305000 (me:7-1) | me+3600000 you-1

var lineWord = regexp.MustCompile(`^\(?(\S+?)(\?|[+-]\d+)\)?$`)

// setLine puts a line into Redis.
func (b *box) setLine(line string) {
	b.Helper()
	waiters, engines, _ := strings.Cut(line, "|")
	for _, word := range strings.Fields(waiters) {
		parts := lineWord.FindStringSubmatch(word)
		if word[0] != '(' {
			b.must("RPUSH", fairKeys[1], parts[1])
		}
		if in, err := strconv.Atoi(parts[2]); err == nil {
			b.must("ZADD", fairKeys[2], strconv.Itoa(frozenNow+in), parts[1])
		}
	}
	for _, word := range strings.Fields(engines) {
		parts := lineWord.FindStringSubmatch(word)
		in, _ := strconv.Atoi(parts[2])
		b.must("ZADD", fairKeys[3], strconv.Itoa(frozenNow+in), parts[1])
	}
}

// line reads it back.
func (b *box) line() string {
	b.Helper()
	ends := func(key, member string) string {
		at, err := strconv.ParseInt(strings.Trim(b.must("ZMSCORE", key, member), "[]"), 10, 64)
		if err != nil {
			return member + "?"
		}
		return fmt.Sprintf("%s%+d", member, at-frozenNow)
	}
	var words []string
	standing := b.list("LRANGE", fairKeys[1], "0", "-1")
	for _, owner := range standing {
		words = append(words, ends(fairKeys[2], owner))
	}
	for _, owner := range b.list("ZRANGE", fairKeys[2], "0", "-1") {
		if !slices.Contains(standing, owner) {
			words = append(words, "("+ends(fairKeys[2], owner)+")")
		}
	}
	if engines := b.list("ZRANGE", fairKeys[3], "0", "-1"); len(engines) > 0 {
		words = append(words, "|")
		for _, engine := range engines {
			words = append(words, ends(fairKeys[3], engine))
		}
	}
	return strings.Join(words, " ")
}

// invariant: fair-queue-order
func TestFairLines(t *testing.T) {
	b := realBox(t)
	for _, c := range turns {
		b.run(t, c.name, func(t *testing.T, b *box) {
			b.setLine(c.before)
			if owner, ends := strings.CutSuffix(c.owner, " ends"); owner != "" {
				b.must("HSET", one, owner, "1")
				if ends {
					b.must("PEXPIRE", one, "3600000")
				}
			}
			b.want(b.eval(frozen(c.call[0].(scripts.Script)), fairKeys, c.args()...), strconv.FormatInt(c.reply, 10), "the call")
			if got := b.line(); got != c.after {
				t.Errorf("the line is  %s\nwant         %s", got, c.after)
			}
			if strings.HasSuffix(c.after, "me+3600000") {
				b.lasts(fairKeys[3], 10*time.Minute)
			}
			if c.has == "" {
				b.want(b.must("EXISTS", one), "0", "EXISTS of the lock")
			} else {
				b.stands(one, c.has+"=1")
			}
		})
	}
}

// A user without a right is told so, unless what was asked for is done, and no call ends half-way: whoever stands has a deadline.
func TestFairLineWithoutARight(t *testing.T) {
	b := realBox(t)
	for _, c := range []struct {
		command string
		turn
	}{
		{"PTTL", turn{before: "me:1+300000 java:1+600000 | me+5", call: leave(1, 1), after: "java:1+300000 | me+5"}},
		{"LRANGE", turn{before: "me:1+300000 java:1+600000 | me+5", call: leave(1, 1), after: "java:1+600000 | me+5"}},
		{"LREM", turn{before: "java:1+200000 me:1+500000 | me+5", call: leave(1, 1), after: "java:1+200000 me:1+500000 | me+5"}},
		{"LREM", turn{before: "java:1+200000 me:1? | me+5", call: ask(1, "OLD", 0, 0), after: "java:1+200000 me:1? | me+3600000"}},
		{"PEXPIRE", turn{before: "me:2+300000 | me+5", owner: "me:1", call: release("me:9", 1), after: "me:2+300000 | me+5"}},
		{"EXISTS", turn{before: "me:1+300000 | me+5", owner: "me:9", call: release("me:9", 1), reply: 0, after: "me:1+300000 | me+5", has: "nobody"}},
		{"LREM", turn{before: "me:2+300000 me:1+300000 | me+5", call: ask(1, "OLD", 0, 0), after: "me:2+300000 me:1+300000 | me+3600000"}},
	} {
		b := b.fresh(t)
		b.setLine(c.before)
		if c.owner != "" {
			b.must("HSET", one, c.owner, "1")
		}
		script := c.call[0].(scripts.Script)
		refused := answering(frozen(script), c.command, "{ err = "+strconv.Quote(refusals[scripts.NoPerm])+" }")
		want := fault(scripts.NoPerm)
		if c.has != "" {
			want = strconv.FormatInt(c.reply, 10)
		}
		b.want(b.eval(refused, fairKeys, c.args()...), want, script.Name, " without ", c.command)
		b.want(b.line(), c.after, "the line without ", c.command)
	}
}

// One call removes a hundred of the dead.
func TestFairLineOfManyDead(t *testing.T) {
	b := realBox(t)
	var dead []string
	for i := range 103 {
		dead = append(dead, fmt.Sprintf("java:%d-1", i))
	}
	b.setLine(strings.Join(dead, " "))
	c := turn{call: ask(0, "TRY", 0, 0)}
	b.want(b.eval(frozen(scripts.FairAsk), fairKeys, c.args()...), "0", "the call")
	if got, want := b.line(), strings.Join(dead[100:], " ")+" | me+3600000"; got != want {
		t.Errorf("the line is %s, want %s", got, want)
	}
}

// A new head of a queue is called, also while another has the lock, and nobody else.
func TestFairLineIsCalled(t *testing.T) {
	b := realBox(t)
	for _, c := range []struct {
		turn
		called string
	}{
		{turn{name: "by a release", before: "java:1+300000 me:1+600000 | me+5", owner: "me:9", call: release("me:9", 1), reply: 1}, "java:1"},
		{turn{name: "by a release of what was lost", before: "java:1+300000 | me+5", call: release("me:9", 0), reply: -1}, "java:1"},
		{turn{name: "not by a release while another has it", before: "java:1+300000 java:2+600000 | me+5", owner: "java:9", call: release("me:9", 0), reply: -1}, ""},
		{turn{name: "by who leaves the head", before: "me:1+300000 java:1+600000 | me+5", call: leave(1, 1)}, "java:1"},
		{turn{name: "by who leaves with the lock", before: "java:1+600000 | me+5", owner: "me:1", call: leave(1, 1)}, "java:1"},
		{turn{name: "not by who leaves further back", before: "java:1+600000 me:1+600000 | me+5", call: leave(1, 1)}, ""},
		{turn{name: "by who leaves the head while another has the lock", before: "me:1+300000 java:1+600000 | me+5", owner: "java:9", call: leave(1, 1)}, "java:1"},
		{turn{name: "by a release that leaves the head then", before: "me:9+300000 java:1+600000 | me+5", owner: "java:9", call: release("me:9", 0), reply: -1}, "java:1"},
		{turn{name: "by ours that finds the head dead then", before: "old:1+300000 you:1+300000 me:1+300000 | me+5 you+7000 old+0", owner: "java:9", call: ask(1, "OLD", 0, 0), reply: -1}, "you:1"},
		{turn{name: "not if it is the first that joins", owner: "java:9", call: ask(9, "TRY", 1, 1), reply: -1}, ""},
		{turn{name: "not if it is the one that asks", before: "old:1+300000 me:1+300000 | me+5 old+0", owner: "java:9", call: ask(1, "OLD", 0, 0), reply: -1}, ""},
		{turn{name: "by ours behind one of Redisson's", before: "java:1+5000 me:1+305000 | me+5", call: ask(1, "OLD", 0, 0), reply: -5002}, "java:1"},
		{turn{name: "not by ours behind another of ours", before: "you:1+200000 me:1+305000 | me+5 you+5", call: ask(1, "OLD", 0, 0), reply: -7}, ""},
		{turn{name: "by ours that finds a place before it given up", before: "me:1+300000 you:1+300000 me:2+300000 | me+5 you+7000", call: ask(2, "OLD", 0, 0), reply: -7002}, "you:1"},
		{turn{name: "by ours that finds the head dead", before: "old:1+300000 you:1+300000 me:1+300000 | me+5 you+7000 old+0", call: ask(1, "OLD", 0, 0), reply: -7002}, "you:1"},
		{turn{name: "by who asks once and finds the head dead", before: "old:1+300000 you:1+300000 | you+7000 old+0", call: ask(1, "TRY", 0, 0), reply: -7002}, "you:1"},
		{turn{name: "not by who asks once", before: "java:1+5000", call: ask(1, "TRY", 0, 0), reply: -5002}, ""},
	} {
		b.run(t, c.name, func(t *testing.T, b *box) {
			b.setLine(c.before)
			if c.owner != "" {
				b.must("HSET", one, c.owner, "1")
			}
			heard, sharded := make(map[string]<-chan string), make(map[string]<-chan string)
			for _, waiter := range []string{"java:1", "me:1", "you:1"} {
				heard[waiter], sharded[waiter] = b.listen("calls:"+waiter), b.listenSharded("calls:"+waiter)
			}
			b.want(b.eval(frozen(c.call[0].(scripts.Script)), fairKeys, c.args()...), strconv.FormatInt(c.reply, 10), "the call")
			for waiter, messages := range heard {
				b.must("PUBLISH", "calls:"+waiter, "the next")
				want := "the next"
				if waiter == c.called {
					want = "0"
				}
				b.want(<-messages, want, "what "+waiter+" heard")
				b.must("SPUBLISH", "calls:"+waiter, "the next")
				b.want(<-sharded[waiter], "the next", "what "+waiter+" heard on the sharded channel")
			}
		})
	}
}
