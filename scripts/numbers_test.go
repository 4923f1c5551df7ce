package scripts_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/wheellock/wheellock/scripts"
)

// Numbers come as texts, and as texts 10 is before 9.

// invariant: change-has-one-effect
func TestReceiptsAreInTheOrderOfTheirNumbers(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		for _, c := range []struct {
			last, call  int
			free, noted string
		}{
			{9, 10, "8", "10:0"}, // the next call
			{10, 9, "5", "10:0"}, // a late copy of the one before
			{10, 10, "5", "10:0"},
			{99, 100, "8", "100:0"},
		} {
			b.run(t, fmt.Sprintf("call %d after %d", c.call, c.last), func(t *testing.T, b *box) {
				b.must("SET", one, "5")
				b.must("SET", countKeys[1], fmt.Sprint(c.last, ":0"))
				b.eval(scripts.Give, poolKeys, "PUBLISH", 0, c.call, 3, nobody)
				b.want(b.must("GET", one), c.free, "free")
				b.want(b.thing(countKeys[1]).value, c.noted, "the receipt")
			})
		}
	})
}

// A place is given up when its engine says that its first one has a higher number, and no other is.
// invariant: fair-queue-order
func TestPlacesAreInTheOrderOfTheirNumbers(t *testing.T) {
	b := realBox(t)
	const line = "me:9+300000 me:10+300000 | me+9000"
	for name, c := range map[string]struct {
		call []any
		want string
	}{
		"the tenth asks":              {ask(10, "OLD", 0, 0), "me:10+300000 | me+3600000"},
		"the ninth asks":              {ask(9, "OLD", 0, 0), "me:9+300000 me:10+300000 | me+3600000"},
		"a release before the tenth":  {release("java:9", 10), "me:10+300000 | me+9000"},
		"a release before the ninth":  {release("java:9", 9), line},
		"the ninth and tenth give up": {leave(2, 9), ""},
	} {
		b.run(t, name, func(t *testing.T, b *box) {
			b.setLine(line)
			standing("java:8", "1")(b)
			call := turn{call: c.call}
			b.eval(frozen(c.call[0].(scripts.Script)), fairKeys, call.args()...)
			b.want(b.line(), c.want, "the line")
		})
	}
	for _, c := range []struct {
		claims string
		call   []any
		stays  string
	}{
		{"me:10", leave(2, 9), "0"}, {"me:9", leave(1, 10), "1"}, {"me:10", leave(1, 9), "1"}, {"me:9", leave(2, 9), "0"},
	} {
		b.run(t, fmt.Sprint(c.claims, " claims and ", c.call[1:], " leave"), func(t *testing.T, b *box) {
			b.setLine(line)
			standing("java:8", "1")(b)
			b.must("HSET", fairKeys[4], "me", fmt.Sprintf("%s 72 %d 5", c.claims, frozenNow+2000))
			call := turn{call: c.call}
			b.eval(frozen(scripts.FairLeave), fairKeys, call.args()...)
			b.want(b.must("HEXISTS", fairKeys[4], "me"), c.stays, "the claim")
		})
	}
}

// invariant: change-has-one-effect, reply-says-what-redis-holds
func TestCountsAndLeasesAreNumbers(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		b.run(t, "nine are counted down from ten", func(t *testing.T, b *box) {
			b.must("SET", one, "10")
			b.eval(scripts.CountDown, countKeys, "PUBLISH", 0, 7, 9, nobody)
			b.want(b.must("GET", one), "1", "the count")
		})
		b.run(t, "ten of nine are all of them", func(t *testing.T, b *box) {
			heard := b.listen(nobody)
			b.must("SET", one, "9")
			b.eval(scripts.CountDown, countKeys, "PUBLISH", 0, 7, 10, nobody)
			b.want(b.said(nobody, heard), "0", "the channel")
		})
		b.run(t, "a lock of nine bytes is smaller than one of eight million", func(t *testing.T, b *box) {
			b.must("HSET", one, "java:123", "1")
			b.want(b.eval(scripts.Inspect, []string{one}), "[0 -1 0 java:123 1]", "inspect")
		})
		b.run(t, "who stands behind ten callers that are not all served is not served", func(t *testing.T, b *box) {
			b.must("SET", one, "19")
			b.want(b.eval(scripts.Take, poolKeys, "PUBLISH", 0, someUUID, 7, 0, "2x10,1x1", 0, 0, nobody), "18", "take")
			b.want(b.must("GET", one), "1", "free")
		})
		b.run(t, "a reader's hold of nine seconds is prolonged to ten", func(t *testing.T, b *box) {
			keys := []string{one, one, scripts.HoldKey(one, "me:1")}
			acquire := func(lease int) { b.eval(scripts.AcquireRead, keys, 0, "PUBLISH", "me:1", lease, "") }
			acquire(9000)
			acquire(10_000)
			if left := number(t, b.must("PTTL", keys[2])); left <= 9000 {
				t.Errorf("the hold lasts for %d ms, want 10000 or a little less", left)
			}
		})
		b.run(t, "the tenth term of a leader is behind its ninth", func(t *testing.T, b *box) {
			standing("me:1", "1")(b)
			notes(b, "me:1", "9", "red")
			b.want(notes(b, "me:1", "10", "blue"), "[0 10 blue "+since+"]", "the later note")
			b.want(notes(b, "me:1", "9", "red"), "[0 10 blue "+since+"]", "a late note")
		})
	})
}

// invariant: change-has-one-effect
func TestTenPermitsAreMoreThanNine(t *testing.T) {
	b := realBox(t).fresh(t)
	permitsEnding(b, 9)
	b.want(b.takePermits(7, 10), "-1", "permit_take")
	b.want(b.must("GET", one), "9", "free")
}

// A receipt says first which call it is of, also when what the call was to change is refused.
// invariant: change-has-one-effect
func TestAReceiptOfARefusalIsOfItsCall(t *testing.T) {
	b := realBox(t).fresh(t)
	b.must("SET", one, "5")
	refused := answering(frozen(scripts.Give), "INCRBY", "{ err = "+strconv.Quote(refusals[scripts.OutOfMem])+" }")
	answer := b.eval(refused, poolKeys, "PUBLISH", 0, 7, 3, nobody)
	b.want(answer, fault(scripts.OutOfMem), "give")
	b.want(b.thing(countKeys[1]).value, "7:"+answer, "the receipt")
}

// Whose key is of another type keeps it as it is: it gets no end.
// invariant: reply-says-what-redis-holds
func TestAKeyInThePlaceOfTheLivesGetsNoEnd(t *testing.T) {
	b := realBox(t).fresh(t)
	standing("java:9", "1")(b)
	b.must("SET", fairKeys[3], "mine")
	call := turn{call: ask(0, "TRY", 1, 1)}
	b.eval(frozen(scripts.FairAsk), fairKeys, call.args()...)
	b.want(b.must("PTTL", fairKeys[3]), "-1", "PTTL of a key that is not ours")
}

// A release lets our own next waiter in before it gives the lock to a claim, for as long as that waiter asks.
// invariant: fair-queue-order
func TestOurOwnNextComesBeforeItsClaim(t *testing.T) {
	b := realBox(t).fresh(t)
	b.listen("calls:me:2")
	b.setLine("me:2+300000 | me+9000")
	standing("me:1", "1")(b)
	b.must("HSET", fairKeys[4], "me", fmt.Sprintf("me:2 72 %d 5", frozenNow+2000))
	call := turn{call: release("me:1", 2)}
	b.eval(frozen(scripts.FairRelease), fairKeys, call.args()...)
	if left := number(t, b.must("PTTL", one)); left <= 2000 {
		t.Errorf("the lock lasts for %d ms, want the lease of our waiter", left)
	}
}

// The numbers of owners are below 2^53. Lua by itself shows fourteen digits of a number.
// invariant: fair-queue-order
func TestLongNumbersOfOwnersAreExact(t *testing.T) {
	const first = int64(1)<<53 - 4
	b := realBox(t).fresh(t)
	standing("me:1", "1")(b)
	for _, step := range []struct {
		call []any
		line string
	}{
		{[]any{scripts.FairAsk, 0, "TRY", 3, first}, "me:9007199254740988+300000 me:9007199254740989+300000 me:9007199254740990+300000 | me+3600000"},
		{[]any{scripts.FairLeave, 1, first}, "me:9007199254740989+300000 me:9007199254740990+300000 | me+3600000"},
		{[]any{scripts.FairRelease, "me:1", first + 1}, "me:9007199254740990+300000 | me+3600000"},
	} {
		b.eval(frozen(step.call[0].(scripts.Script)), fairKeys, (&turn{call: step.call}).args()...)
		b.want(b.line(), step.line, step.call[1:])
	}
	b.want(b.must("HGET", one, "me:9007199254740989"), "1", "the next of ours")

	b = b.fresh(t)
	permitsEnding(b, 9)
	b.want(b.takePermits(uint64(first), 3), "1", "permit_take")
	for i := range uint64(3) {
		b.want(b.must("ZSCORE", permitKeys[1], idOf(uint64(first)+i)), strconv.FormatInt(frozenNow+3_600_000, 10), "permit", i)
	}
}
