package scripts_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/scripts"
)

// The scenes of what has no owner in Redis. Each call has a number, and its effect once.

var (
	countKeys = []string{one, scripts.ReceiptKey(one, someUUID)}
	poolKeys  = append(countKeys[:2:2], scripts.LineKey(one)) // of what takes permits, or may add some
)

// counted sets up a number.
func counted(n int) func(*box) {
	return func(b *box) { b.must("SET", one, strconv.Itoa(n)) }
}

// counts is the check of a call that changes a number from one value to another.
func counts(least scripts.Reply, to string) func(*outcome) {
	return func(o *outcome) {
		o.Helper()
		if o.granted(least) {
			o.want(o.thing(one).value, to, "answer ", o.reply, ": the number")
		} else {
			o.kept(one)
		}
	}
}

// queuedFor has engines stand in line for permits besides: this one, for so many, which hears what concerns it, before bob, for one.
func queuedFor(permits int, setup func(*box)) func(*box) {
	return func(b *box) {
		setup(b)
		b.isHeard(scripts.Inbox(nobody, bob))
		if permits > 0 {
			b.must("ZADD", permitLine, "1", permitPlace(someUUID, permits))
		}
		b.must("ZADD", permitLine, "2", permitPlace(bob, 1))
		b.must("PEXPIRE", permitLine, "1800000")
	}
}

// isHeard has somebody listen to a channel, unless somebody does.
func (b *box) isHeard(channel string) {
	b.Helper()
	if b.must("PUBSUB", "NUMSUB", channel) != "["+channel+" 0]" {
		return
	}
	conn, release := b.client.Dedicate()
	b.Cleanup(func() { conn.Close(); release() })
	conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(rueidis.PubSubMessage) {}})
	if err := conn.Do(context.Background(), conn.B().Subscribe().Channel(channel).Build()).Error(); err != nil {
		b.Fatal(err)
	}
}

// countsInLine is counts of a call that may also be refused for another reason than an error, and then takes nothing.
func countsInLine(to string) func(*outcome) {
	return func(o *outcome) {
		o.Helper()
		if o.reply > 0 || o.reply.Fault() != scripts.None {
			counts(1, to)(o)
			return
		}
		o.want(o.thing(one).value, o.before[one].value, "answer ", o.reply, ": the number")
	}
}

// poolInLine is pool likewise.
func poolInLine(numbers ...uint64) func(*outcome) {
	return func(o *outcome) {
		o.Helper()
		if _, refused := o.reply.Held(); refused {
			o.reply = -1
		}
		pool(1, true, numbers...)(o)
	}
}

var countingScenes = []scene{
	{"take", scripts.Take, counted(5), poolKeys, []any{"PUBLISH", 0, someUUID, 7, 1, "2x1,", 0, 0, nobody}, counts(1, "3")},
	{"take too many", scripts.Take, counted(1), poolKeys, []any{"PUBLISH", 0, someUUID, 7, 1, "2x1,", 0, 0, nobody}, counts(-1, "1")},
	{"take in line", scripts.Take, queuedFor(2, counted(5)), poolKeys, []any{"PUBLISH", 0, someUUID, 7, 1, "2x1,", 2, 0, nobody}, countsInLine("3")},
	{"take too many in line", scripts.Take, queuedFor(0, counted(1)), poolKeys, []any{"PUBLISH", 0, someUUID, 7, 1, "2x1,", 2, 0, nobody}, countsInLine("1")},
	{"take when another is called", scripts.Take, func(b *box) {
		queuedFor(0, counted(5))(b)
		b.must("ZADD", permitLine, strconv.FormatInt(-b.serverMillis(), 10), permitPlace(bob, 1))
	}, poolKeys, []any{"PUBLISH", 0, someUUID, 7, 1, "2x1,", 2, 0, nobody}, countsInLine("3")},
	{"take too many in line with a place for others", scripts.Take, queuedFor(3, counted(1)), poolKeys, []any{"PUBLISH", 0, someUUID, 7, 1, "2x1,", 3, 0, nobody}, countsInLine("1")},
	{"give up a place", scripts.Take, queuedFor(2, counted(5)), poolKeys, []any{"PUBLISH", 0, someUUID, 7, 0, "", 2, 0, nobody}, countsInLine("")},
	{"give with a line", scripts.Give, queuedFor(0, counted(0)), poolKeys, []any{"PUBLISH", 0, 7, 2, nobody}, counts(0, "2")},
	{"add with a line", scripts.AddPermits, queuedFor(0, counted(0)), poolKeys, []any{"PUBLISH", 0, 7, 2, nobody}, counts(0, "2")},
	{"set with a line", scripts.SetPermits, queuedFor(0, func(*box) {}), poolKeys, []any{"PUBLISH", 0, 7, 5, nobody}, counts(1, "5")},
	{"give", scripts.Give, counted(5), poolKeys, []any{"PUBLISH", 0, 7, 2, nobody}, counts(0, "7")},
	{"add", scripts.AddPermits, counted(5), poolKeys, []any{"PUBLISH", 0, 7, -7, nobody}, counts(0, "-2")},
	{"set", scripts.SetPermits, nil, poolKeys, []any{"PUBLISH", 0, 7, 5, nobody}, counts(1, "5")},
	{"drain", scripts.DrainPermits, counted(5), countKeys, []any{"PUBLISH", 0, 7, 0, nobody}, counts(1, "0")},
	{"count down", scripts.CountDown, counted(5), countKeys, []any{"PUBLISH", 0, 7, 2, nobody}, counts(0, "3")},
	{"count down to 0", scripts.CountDown, counted(2), countKeys, []any{"PUBLISH", 0, 7, 2, nobody}, counts(0, "")},
	{"count down by more than is left", scripts.CountDown, counted(1), countKeys, []any{"PUBLISH", 0, 7, 2, nobody}, counts(0, "")},
	{"set a latch", scripts.SetCount, nil, countKeys, []any{"PUBLISH", 0, 7, 5, nobody}, counts(1, "5")},
	{"delete a latch", scripts.DeleteCount, counted(5), countKeys, []any{"PUBLISH", 0, 7, 0, nobody}, counts(1, "")},
	{"set for a minute", scripts.SetPermits, nil, poolKeys, []any{"PUBLISH", 0, 7, "5,60000", nobody}, func(o *outcome) {
		o.Helper()
		if counts(1, "5")(o); o.granted(1) {
			o.lasts(one, time.Minute)
		}
	}},
	{"delete a semaphore", scripts.DeletePermits, counted(5), countKeys, []any{"PUBLISH", 0, 7, 0, nobody}, counts(1, "")},
	{"add permits that expire", scripts.PermitAdd, counted(5), poolKeys, []any{"PUBLISH", 0, 7, 1, nobody}, counts(0, "6")},
}

var (
	permitKeys  = []string{one, scripts.PermitsKey(one), countKeys[1], scripts.LineKey(one)}
	engineBytes = scripts.PermitBytes(someUUID)
)

// pooled sets up permits that are free, and others under numbers from 1 on, of which those before the living one are over.
func pooled(free, held, living int) func(*box) {
	return func(b *box) {
		counted(free)(b)
		for id := 1; id <= held; id++ {
			ends := "1000"
			if id >= living {
				ends = strconv.FormatInt(b.serverMillis()+half.Milliseconds(), 10)
			}
			b.must("ZADD", permitKeys[1], ends, string(scripts.PermitID(someUUID, uint64(id))))
		}
	}
}

// pool checks that permits are neither lost nor made, and that those with these numbers are held, for an hour, or are not.
func pool(least scripts.Reply, held bool, numbers ...uint64) func(*outcome) {
	return func(o *outcome) {
		o.Helper()
		free, _ := strconv.ParseInt(o.before[one].value, 10, 64)
		total := free + int64(len(o.before[permitKeys[1]].value)/16) // ids of 16 bytes, and blanks between them
		if sum := o.number(one) + number(o.TB.(*testing.T), o.must("ZCARD", permitKeys[1])); o.undoing && sum != total || sum > total {
			o.Errorf("answer %d: there are %d permits, of %d", o.reply, sum, total)
		}
		if !o.granted(least) {
			if o.reply.Fault() == scripts.None && o.reply != -1 {
				o.Errorf("answered %d", o.reply)
			}
			return
		}
		for _, n := range numbers {
			score, _ := strconv.ParseInt(strings.Trim(o.must("ZMSCORE", permitKeys[1], idOf(n)), "[]"), 10, 64)
			if left := score - o.serverMillis(); held != (left > 0) || held && left < hour.Milliseconds()-10_000 {
				o.Errorf("answer %d: permit %d ends in %d ms", o.reply, n, left)
			}
		}
	}
}

// freed is pool of a call that frees holds: sent again it finds nothing.
func freed(o *outcome) {
	o.Helper()
	if o.reply == 0 {
		o.reply = 1
	}
	pool(1, false, 1, 2)(o)
}

var permitScenes = []scene{
	{"take one permit", scripts.PermitTake, pooled(3, 1, 1), permitKeys, []any{"PUBLISH", 0, engineBytes, someUUID, 100, 0, leased(1), 0, 0, nobody}, pool(1, true, 100)},
	{"take one permit of a limit", scripts.PermitTake, pooled(3, 1, 1), permitKeys, []any{"PUBLISH", 0, engineBytes, someUUID, 100, 0, leased(1) + "/4", 0, 0, nobody}, pool(1, true, 100)},
	{"free one permit", scripts.PermitFree, pooled(3, 1, 1), permitKeys, []any{"PUBLISH", 0, engineBytes, 7, "1,1,0;", "", nobody}, freed},
	{"take permits", scripts.PermitTake, pooled(3, 1, 1), permitKeys, []any{"PUBLISH", 0, engineBytes, someUUID, 100, 1, leased(2), 0, 0, nobody}, pool(1, true, 100, 101)},
	{"take permits in line", scripts.PermitTake, queuedFor(2, pooled(3, 1, 1)), permitKeys, []any{"PUBLISH", 0, engineBytes, someUUID, 100, 1, leased(2), 2, 0, nobody}, poolInLine(100, 101)},
	{"take too many permits in line", scripts.PermitTake, queuedFor(0, pooled(1, 1, 1)), permitKeys, []any{"PUBLISH", 0, engineBytes, someUUID, 100, 1, leased(2), 2, 0, nobody}, poolInLine(100, 101)},
	{"give up a place for permits", scripts.PermitTake, queuedFor(2, pooled(3, 1, 1)), permitKeys, []any{"PUBLISH", 0, engineBytes, someUUID, 100, 0, leased(0), 2, 0, nobody}, pool(1, true)},
	{"free permits with a line", scripts.PermitFree, queuedFor(0, pooled(0, 2, 1)), permitKeys, []any{"PUBLISH", 0, engineBytes, 7, "1,2,0;", "", nobody}, freed},
	{"set permits with a line", scripts.PermitSet, queuedFor(0, pooled(0, 2, 1)), permitKeys, []any{"PUBLISH", 0, 7, 9, nobody}, counts(0, "7")},
	{"take permits that are over", scripts.PermitTake, pooled(1, 3, 3), permitKeys, []any{"PUBLISH", 0, engineBytes, someUUID, 100, 1, leased(2), 0, 0, nobody}, pool(1, true, 100, 101)},
	{"take too many, some are over", scripts.PermitTake, pooled(0, 3, 3), permitKeys, []any{"PUBLISH", 0, engineBytes, someUUID, 100, 1, leased(9), 0, 0, nobody},
		func(o *outcome) {
			if _, refused := o.reply.Held(); refused {
				o.reply = -1
			}
			pool(1, true, 100)(o)
		}},
	{"take permits again", scripts.PermitTake, pooled(3, 2, 1), permitKeys, []any{"PUBLISH", 0, engineBytes, someUUID, 1, 1, leased(2), 0, 0, nobody}, pool(1, true, 1, 2)},
	{"take permits of a limit", scripts.PermitTake, pooled(2, 2, 2), permitKeys, []any{"PUBLISH", 0, engineBytes, someUUID, 100, 1, leased(2) + "/4", 0, 0, nobody}, pool(1, true, 100, 101)},
	{"renew permits", scripts.PermitRenew, pooled(3, 2, 1), permitKeys[1:2], []any{engineBytes, "1,2,3600000;"}, pool(1, true, 1, 2)},
	{"free permits", scripts.PermitFree, pooled(3, 2, 1), permitKeys, []any{"PUBLISH", 0, engineBytes, 7, "1,2,0;", "", nobody}, freed},
	{"free permits by their ids, one of them twice", scripts.PermitFree, pooled(3, 3, 1), permitKeys,
		[]any{"PUBLISH", 0, engineBytes, 7, "0,3,0;", idOf(1) + idOf(2) + idOf(1), nobody}, pool(1, false, 1, 2)},
	{"set permits that expire", scripts.PermitSet, pooled(3, 2, 1), permitKeys, []any{"PUBLISH", 0, 7, 9, nobody}, counts(0, "7")},
	{"set fewer permits than are held", scripts.PermitSet, pooled(1, 2, 1), permitKeys, []any{"PUBLISH", 0, 7, 1, nobody}, counts(0, "-1")},
	{"set permits to none", scripts.PermitSet, nil, permitKeys, []any{"PUBLISH", 0, 7, 0, nobody}, counts(0, "0")},
	{"delete permits without a number", scripts.PermitDelete, func(b *box) {
		pooled(0, 2, 1)(b)
		b.must("DEL", one)
	}, permitKeys[:3], []any{"PUBLISH", 0, 7, 0, nobody}, counts(1, "")},
	{"delete permits that expire", scripts.PermitDelete, pooled(3, 2, 1), permitKeys[:3], []any{"PUBLISH", 0, 7, 0, nobody}, func(o *outcome) {
		o.Helper()
		if counts(1, "")(o); o.granted(1) {
			o.want(o.must("EXISTS", permitKeys[1]), "0", "those held")
		}
	}},
	{"count permits of which some are over", countOnly, pooled(3, 3, 3), permitKeys[:2], []any{"PUBLISH", nobody}, func(o *outcome) {
		if o.reply == 0 {
			o.want(o.must("ZCARD", permitKeys[1]), "1", "answer ", o.reply, ": held")
		}
		pool(0, false)(o)
	}},
}

// keysOf are those of a script that changes a number.
func keysOf(script scripts.Script) []string {
	switch script.Name {
	case scripts.PermitSet.Name:
		return permitKeys
	case scripts.PermitDelete.Name:
		return permitKeys[:3]
	case scripts.Give.Name, scripts.AddPermits.Name, scripts.SetPermits.Name, scripts.PermitAdd.Name:
		return poolKeys
	}
	return countKeys
}

func idOf(n uint64) string { return string(scripts.PermitID(someUUID, n)) }

// countOnly is permit_count.lua, but for its numbers.
var countOnly = scripts.Script{Name: scripts.PermitCount.Name, Text: "local function count()\n" + scripts.PermitCount.Text + "\nend\nreturn count()[1]\n"}
