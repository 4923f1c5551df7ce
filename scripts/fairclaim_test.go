package scripts_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// What a claim does in a fair lock: the head of the queue is given the lock, and nobody else.
// invariant: gift-counts-from-its-acquire, fair-queue-order
func TestFairClaims(t *testing.T) {
	const code = "2305843009213693953"
	b := realBox(t)
	claim := func(owner string, ends int64) string { return fmt.Sprintf("%s %s %d 5", owner, code, frozenNow+ends) }
	for _, c := range []struct {
		name, line    string // the queue before
		engine, claim string // that is left there
		listens       string // who listens; empty: you:2
		next          int    // the first waiter of the engine that releases
		reply         int64
		after         string // the queue
		has           string // has the lock afterwards; empty: nobody
		lease         int64  // for how long; 0: a whole one
		said          string // to who listens; empty: nothing
	}{
		{"the head that claims it is given it", "you:2+300000 they:1+300000 | you+9000 they+9000", "you", claim("you:2", 2000), "", 0, int64(scripts.Passed) + 2, "they:1+300000 | they+9000 you+9000", "you:2", 2000, code},
		{"one that has 10 s", "you:2+300000 | you+9000", "you", claim("you:2", 10_000), "", 0, int64(scripts.Passed) + 2, "", "you:2", 10_000, code},
		{"one that has more, of a clock that was put back", "you:2+300000 | you+9000", "you", claim("you:2", 10_001), "", 0, 1, "you:2+300000 | you+9000", "", 0, "0"},
		{"the last that stands", "you:2+300000 | you+9000", "you", claim("you:2", 2000), "", 0, int64(scripts.Passed) + 2, "", "you:2", 2000, code},
		{"one that has just enough time", "you:2+300000 | you+9000", "you", claim("you:2", 1000), "", 0, int64(scripts.Passed) + 2, "", "", 1000, code},
		{"one that has too little", "you:2+300000 | you+9000", "you", claim("you:2", 999), "", 0, 1, "you:2+300000 | you+9000", "", 0, "0"},
		{"a claim of another place", "you:2+300000 | you+9000", "you", claim("you:3", 2000), "", 0, 1, "you:2+300000 | you+9000", "", 0, "0"},
		{"one that stands second", "you:2+300000 they:1+300000 | you+9000 they+9000", "they", claim("they:1", 2000), "", 0, 1, "you:2+300000 they:1+300000 | they+9000 you+9000", "", 0, "0"},
		{"one that stands behind Redisson's", "java:2+300000 you:2+600000 | you+9000", "you", claim("you:2", 2000), "java:2", 0, 1, "java:2+300000 you:2+600000 | you+9000", "", 0, "0"},
		{"one that does not listen", "you:2+300000 | you+9000", "you", claim("you:2", 2000), "java:2", 0, 0, "you:2+300000 | you+9000", "", 0, ""},
		{"what is no claim", "you:2+300000 | you+9000", "you", "you:2 7", "", 0, 1, "you:2+300000 | you+9000", "", 0, "0"},
		{"the next of the engine that releases", "me:2+300000 you:2+300000 | me+9000 you+9000", "me", claim("me:2", 2000), "", 2, int64(scripts.Passed), "you:2+300000 | me+9000 you+9000", "me:2", 0, ""},
	} {
		b.run(t, c.name, func(t *testing.T, b *box) {
			b.setLine(c.line)
			b.must("HSET", one, "me:1", "1")
			b.must("HSET", fairKeys[4], c.engine, c.claim)
			listens := "you:2"
			if c.listens != "" {
				listens = c.listens
			}
			heard := b.listen("calls:" + listens)
			release := func() string {
				return b.eval(frozen(scripts.FairRelease), fairKeys, "PUBLISH", "me", "me:1", c.next, hour, "calls")
			}
			before := time.Now()
			b.want(release(), fmt.Sprint(c.reply), "the release")
			if got := b.line(); got != c.after {
				t.Errorf("the line is  %s\nwant         %s", got, c.after)
			}
			b.want(b.said("calls:"+listens, heard), c.said, "the message")
			left := number(t, b.must("PTTL", one))
			if elapsed := time.Since(before).Milliseconds(); c.lease > 0 && (left > c.lease || left < c.lease-elapsed-2) {
				t.Errorf("the lock lasts for %d ms, want %d less %d at most", left, c.lease, elapsed)
			}
			switch {
			case c.reply < int64(scripts.Passed):
				b.want(b.must("EXISTS", one), "0", "EXISTS of the lock")
			case c.has != "" && left > 1000:
				b.stands(one, c.has+"=1")
			}
			if c.reply > int64(scripts.Passed) {
				b.want(b.must("HEXISTS", fairKeys[4], c.engine), "0", "the claim")
			}
			if c.lease > 1000 && left > 1000 {
				b.want(release(), "-1", "the release, again")
				b.stands(one, c.has+"=1")
			}
		})
	}
	ask := func(code string) []any { return append(asking(2, "OLD", 0, 0)[:9:9], nobody, code) }
	b.run(t, "who is refused leaves a claim, and who gets the lock takes it along", func(t *testing.T, b *box) {
		standing("java:1", "1")(b)
		b.setLine("me:1+300000 me:2+300000 | me+9000")
		b.want(b.eval(frozen(scripts.FairAsk), fairKeys, ask("0")...), fmt.Sprint(-frozenTTL-2), "without a code")
		b.want(b.must("EXISTS", fairKeys[4]), "0", "EXISTS of the claims")
		b.want(b.eval(frozen(scripts.FairAsk), fairKeys, ask(code)...), fmt.Sprint(int64(-1<<43-frozenTTL-2)), "with one")
		b.want(b.must("HGET", fairKeys[4], "me"), fmt.Sprintf("me:2 %s %d %d", code, frozenNow+10_000, int64(frozenNow)*1000), "the claim")
		if left := number(t, b.must("PTTL", fairKeys[4])); left > 10_000 || left == -1 {
			t.Errorf("the claims last for %d ms, want 10000 or a little less", left)
		}
		b.must("DEL", one)
		b.must("LREM", fairKeys[1], "1", "me:1")
		b.want(b.eval(frozen(scripts.FairAsk), fairKeys, ask(code)...), "1", "at the head of a free lock")
		b.want(b.must("EXISTS", fairKeys[4]), "0", "EXISTS of the claims")
	})
	b.run(t, "a claim stands for the lease of the acquire, 10 s at most", func(t *testing.T, b *box) {
		for lease, stands := range map[int]int64{300: 300, 9999: 9999, 10_000: 10_000, 10_001: 10_000} {
			b.must("FLUSHALL")
			standing("java:1", "1")(b)
			b.setLine("me:1+300000 me:2+300000 | me+9000")
			args := ask(code)
			args[6] = lease
			b.want(b.eval(frozen(scripts.FairAsk), fairKeys, args...), fmt.Sprint(int64(-1<<43-frozenTTL-2)), lease)
			b.want(b.must("HGET", fairKeys[4], "me"), fmt.Sprintf("me:2 %s %d %d", code, frozenNow+stands, int64(frozenNow)*1000), lease, ": the claim")
		}
	})
	b.run(t, "whose turn it is not claims a free lock, too", func(t *testing.T, b *box) {
		b.setLine("you:1+300000 me:2+300000 | me+9000 you+7000")
		b.want(b.eval(frozen(scripts.FairAsk), fairKeys, ask(code)...), fmt.Sprint(int64(-1<<43-7002)), "the answer")
	})
	for name, c := range map[string]struct {
		call  []any
		stays bool
	}{
		"who leaves takes its claim along":                 {leave(2, 1), false},
		"and who leaves first takes it along, too":         {leave(1, 2), false},
		"who leaves takes no claim of a later one along":   {leave(1, 1), true},
		"nor that of an earlier one":                       {leave(1, 3), true},
		"who is let in by our release takes it along":      {release("me:9", 2), false},
		"a release that lets nobody in leaves it standing": {release("me:9", 1), true},
	} {
		b.run(t, name, func(t *testing.T, b *box) {
			b.setLine("me:2+300000 me:3+300000 | me+9000")
			b.must("HSET", fairKeys[4], "me", claim("me:2", 2000))
			call := turn{call: c.call}
			b.eval(frozen(c.call[0].(scripts.Script)), fairKeys, call.args()...)
			b.want(b.must("HEXISTS", fairKeys[4], "me"), map[bool]string{true: "1", false: "0"}[c.stays], "the claim")
		})
	}
	for _, c := range []struct{ how, command, answer, reply, said string }{
		{"PUBLISH", "HSET", "{ err = 'OOM' }", "1", "0"},
		{"PUBLISH", "PEXPIRE", "0", "1", "0"},
		{"PUBLISH", "PUBSUB", "{ 'calls', 0 }", "1", "0"},
		{"PUBLISH", "PUBLISH", "{ err = 'NOPERM' }", "-2", ""},
		{"BOTH", "PUBLISH", "{ err = 'NOPERM' }", "-2", ""},
	} {
		b.run(t, "with "+c.how+" a lock is free for the head when "+c.command+" answers "+c.answer, func(t *testing.T, b *box) {
			b.setLine("you:2+300000 | you+9000")
			b.must("HSET", one, "me:1", "1")
			b.must("HSET", fairKeys[4], "you", claim("you:2", 2000))
			heard := b.listen("calls:you:2")
			refused := answering(frozen(scripts.FairRelease), c.command, c.answer)
			refused = answering(refused, "SPUBLISH", "0") // redis 6.2 does not have it
			b.want(b.eval(refused, fairKeys, c.how, "me", "me:1", 0, hour, "calls"), c.reply, "the release")
			b.want(b.said("calls:you:2", heard), c.said, "the message")
			b.want(b.must("EXISTS", one), "0", "EXISTS of the lock")
			b.want(b.line(), "you:2+300000 | you+9000", "the line")
		})
	}
	b.run(t, "a gift that one of two channels may have told of stands", func(t *testing.T, b *box) {
		b.setLine("you:2+300000 | you+9000")
		b.must("HSET", one, "me:1", "1")
		b.must("HSET", fairKeys[4], "you", claim("you:2", 2000))
		heard := b.listen("calls:you:2")
		refused := answering(frozen(scripts.FairRelease), "SPUBLISH", "{ err = 'NOPERM' }")
		b.want(b.eval(refused, fairKeys, "BOTH", "me", "me:1", 0, hour, "calls"), fmt.Sprint(int64(scripts.Passed)+2), "the release")
		b.want(b.said("calls:you:2", heard), code, "the message")
		b.want(b.must("HGET", one, "you:2"), "1", "the owner of the lock")
		b.want(b.line(), "", "the line")
	})
}

// What a claim of the head says and how long it stands, to the millisecond.
// invariant: gift-counts-from-its-acquire
func TestFairClaimsToTheMillisecond(t *testing.T) {
	b := realBox(t)
	const (
		refused = -frozenTTL - 2
		claimed = -1<<43 + refused
	)
	since := int64(frozenNow) * 1000
	claim := func(owner string, ends, since int64) string { return fmt.Sprintf("%s 72 %d %d", owner, ends, since) }
	stands := claim("me:2", frozenNow+10_000, since)
	for name, of := range map[string]struct {
		before []string // fields and what they say
		reply  int64
		after  string // our claim
	}{
		"the first":                           {nil, claimed, stands},
		"one that stands keeps its turn":      {[]string{"me", claim("me:2", frozenNow+1, 5)}, claimed, claim("me:2", frozenNow+10_000, 5)},
		"one that has run out has no turn":    {[]string{"me", claim("me:2", frozenNow, 5)}, claimed, stands},
		"an owner before it had its own turn": {[]string{"me", claim("me:1", frozenNow+1000, 5)}, claimed, stands},
		"a later owner's stays":               {[]string{"me", claim("me:10", frozenNow+1000, 5)}, refused, claim("me:10", frozenNow+1000, 5)},
		"the last that has room":              {claimsOf(32), claimed, stands},
		"one for which there is no room":      {claimsOf(33), refused, "nil"},
		"one that had its place":              {append(claimsOf(32), "me", claim("me:2", frozenNow, 5)), claimed, stands},
		"one that ends now makes room":        {append(claimsOf(32), "they", claim("they:3", frozenNow, 5)), claimed, stands},
		"one that ends later makes none":      {append(claimsOf(32), "they", claim("they:3", frozenNow+1, 5)), refused, "nil"},
		"one of a clock that was put back":    {append(claimsOf(32), "they", claim("they:3", frozenNow+10_001, 5)), claimed, stands},
		"one of 10 s makes none":              {append(claimsOf(32), "they", claim("they:3", frozenNow+10_000, 5)), refused, "nil"},
		"what is no claim takes room":         {append(claimsOf(32), "they", "they"), refused, "nil"},
	} {
		b.run(t, name, func(t *testing.T, b *box) {
			standing("java:1", "1")(b)
			b.setLine("me:2+300000 | me+9000")
			if of.before != nil {
				b.must(append([]string{"HSET", fairKeys[4]}, of.before...)...)
			}
			args := append(asking(2, "OLD", 0, 0)[:9:9], nobody, "72")
			b.want(b.eval(frozen(scripts.FairAsk), fairKeys, args...), fmt.Sprint(of.reply))
			b.want(b.must("HMGET", fairKeys[4], "me"), "["+of.after+"]", "the claim")
		})
	}
	for command, claims := range map[string]int{"HLEN": 1, "HGETALL": 33} {
		b.run(t, "none without a look for room by "+command, func(t *testing.T, b *box) {
			standing("java:1", "1")(b)
			b.setLine("me:2+300000 | me+9000")
			b.must(append([]string{"HSET", fairKeys[4]}, claimsOf(claims)...)...)
			ask := answering(frozen(scripts.FairAsk), command, refusal(scripts.NoPerm))
			b.want(b.eval(ask, fairKeys, append(asking(2, "OLD", 0, 0)[:9:9], nobody, "72")...), fmt.Sprint(refused))
			b.want(b.must("HEXISTS", fairKeys[4], "me"), "0", "the claim")
		})
	}
}

// claimsOf is the claims of so many engines.
func claimsOf(n int) (fields []string) {
	for i := range n {
		fields = append(fields, fmt.Sprint("engine", i), fmt.Sprintf("engine%d:1 70 %d 1", i, frozenNow+1000))
	}
	return fields
}

// refusal is an error in Lua.
func refusal(why scripts.Fault) string { return "{ err = " + strconv.Quote(refusals[why]) + " }" }
