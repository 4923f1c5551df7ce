package scripts_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// permitsEnding sets up free permits, and held ones, numbered from 1 on, that end so many ms from the frozen now.
func permitsEnding(b *box, free int, in ...int64) {
	b.must("SET", one, strconv.Itoa(free))
	for i, in := range in {
		b.must("ZADD", permitKeys[1], strconv.FormatInt(frozenNow+in, 10), idOf(uint64(i+1)))
	}
}

// leased is one caller that wants so many permits for an hour; none if it is 0.
func leased(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%dx1x%d,", n, hour.Milliseconds())
}

func (b *box) takePermits(number uint64, n int) string {
	return b.eval(frozen(scripts.PermitTake), permitKeys, "PUBLISH", 0, engineBytes, someUUID, number, 0, leased(n), 0, 0, nobody)
}

// The number of permits and what is left of the first held one decide.
func TestPermitTake(t *testing.T) {
	b := realBox(t)
	for _, c := range []struct {
		what  string
		free  int
		held  []int64
		n     int
		reply string
		left  string // free permits afterwards
	}{
		{"as many as there are", 2, nil, 2, "1", "0"},
		{"one more", 2, nil, 3, "-1", "2"},
		{"those that are over count", 1, []int64{0, -5}, 3, "1", "0"},
		{"those that end next do not", 1, []int64{1, 5}, 2, "-3", "1"},
		{"the wait is that for the first", 0, []int64{5000, 90000}, 1, "-5002", "0"},
		{"too few with those that are over", 0, []int64{-5, 7000}, 2, "-7002", "1"},
		{"what never ends is not waited for", 0, []int64{922337203685477 - frozenNow}, 1, "-1", "0"},
		{"what ends in the last year of Lua is", 0, []int64{922337203685476 - frozenNow}, 1, fmt.Sprint(int64(-(922337203685476 - frozenNow) - 2)), "0"},
	} {
		b.run(t, c.what, func(t *testing.T, b *box) {
			permitsEnding(b, c.free, c.held...)
			b.want(b.takePermits(0x0102030405, c.n), c.reply, "permit_take")
			b.want(b.must("GET", one), c.left, "free")
			if c.reply == "1" {
				b.want(b.must("EXISTS", permitKeys[2]), "0", "EXISTS of the receipt, which a call leaves that was sent before")
				for i := range c.n {
					b.want(b.must("ZSCORE", permitKeys[1], idOf(0x0102030405+uint64(i))), strconv.FormatInt(frozenNow+3_600_000, 10), "the end")
				}
			}
		})
	}
	b.run(t, "a key with an end takes the held ones along", func(t *testing.T, b *box) {
		permitsEnding(b, 1)
		b.want(b.takePermits(7, 1), "1", "permit_take")
		b.want(b.must("PTTL", permitKeys[1]), "-1", "PTTL of the held ones of a key without an end")
		b.must("SET", one, "1", "PX", "3600000")
		b.want(b.takePermits(8, 1), "1", "permit_take")
		if ttl := b.thing(permitKeys[1]).ttl; ttl <= 0 || ttl > frozenTTL {
			t.Errorf("the held ones end in %d ms, want %d or a little less", ttl, frozenTTL)
		}
	})
	b.run(t, "also within a millisecond", func(t *testing.T, b *box) {
		permitsEnding(b, 1)
		b.want(b.eval(frozen(answering(scripts.PermitTake, "PTTL", "1")), permitKeys, "PUBLISH", 0, engineBytes, someUUID, 7, 0, leased(1), 0, 0, nobody), "1", "permit_take")
		if ttl := b.must("PTTL", permitKeys[1]); ttl == "-1" {
			t.Error("the held ones do not end")
		}
	})
	b.run(t, "too few leave a receipt when the call was sent before", func(t *testing.T, b *box) {
		permitsEnding(b, 0, 5000)
		args := []any{"PUBLISH", 0, engineBytes, someUUID, 7, 0, leased(1), 0, 0, nobody}
		b.want(b.eval(frozen(scripts.PermitTake), permitKeys, args...), "-5002", "permit_take")
		b.want(b.must("EXISTS", permitKeys[2]), "0", "EXISTS of the receipt")
		args[5] = 1
		refused := answering(frozen(scripts.PermitTake), "SET", "{ err = "+strconv.Quote(refusals[scripts.OutOfMem])+" }")
		b.want(b.eval(refused, permitKeys, args...), fault(scripts.OutOfMem), "permit_take when Redis refuses the receipt")
		b.want(b.eval(frozen(scripts.PermitTake), permitKeys, args...), "-5002", "permit_take sent again")
		b.want(b.must("GET", permitKeys[2]), "7:-5002", "the receipt")
	})
	b.run(t, "taken, and over meanwhile", func(t *testing.T, b *box) {
		permitsEnding(b, 5)
		b.must("SET", permitKeys[2], "7:1")
		b.want(b.takePermits(7, 1), "-1", "permit_take")
		b.want(b.must("GET", one), "5", "free")
	})
	b.run(t, "a receipt that is none", func(t *testing.T, b *box) {
		permitsEnding(b, 5)
		b.must("SET", permitKeys[2], "no receipt")
		b.want(b.takePermits(7, 1), "1", "permit_take")
	})
	b.run(t, "asked again they last a millisecond longer at least", func(t *testing.T, b *box) {
		permitsEnding(b, 5, 3_600_000, 9_000_000)
		b.want(b.eval(frozen(scripts.PermitTake), permitKeys, "PUBLISH", 0, engineBytes, someUUID, 1, 1, leased(2), 0, 0, nobody), "1", "permit_take")
		b.want(b.must("ZSCORE", permitKeys[1], idOf(1)), strconv.Itoa(frozenNow+3_600_001), "the end")
		b.want(b.must("ZSCORE", permitKeys[1], idOf(2)), strconv.Itoa(frozenNow+9_000_001), "the end")
		b.want(b.must("GET", one), "5", "free")
	})
}

// A call with a limit makes the number of permits so many, those that are held among them, whatever it was, and counts its callers then.
// invariant: limit-counts-all-holds
func TestPermitTakeOfALimit(t *testing.T) {
	b := realBox(t)
	heard := b.listen(nobody)
	take := func(b *box, number uint64, limit int64, n int) string {
		return b.eval(frozen(scripts.PermitTake), permitKeys, "PUBLISH", 0, engineBytes, someUUID, number, 0, fmt.Sprint(leased(n), "/", limit), 0, 0, nobody)
	}
	for _, c := range []struct {
		what  string
		free  int // -99: there is no number
		held  []int64
		limit int64
		n     int
		reply string
		left  string
		heard string // what is announced
	}{
		{"there is none", -99, nil, 3, 1, "1", "2", "3"},
		{"there is no number, and all are held", -99, []int64{5000, 6000}, 2, 1, "-5002", "0", ""},
		{"there is no number, and one of those that are held is over", -99, []int64{-5, 6000}, 2, 1, "1", "0", ""},
		{"it is the same", 1, []int64{5000}, 2, 1, "1", "0", ""},
		{"it grows", 0, []int64{5000, 6000}, 4, 1, "1", "1", "4"},
		{"it grows, and is too little", 0, []int64{5000, 6000}, 3, 2, "-5002", "1", "3"},
		{"it shrinks", 3, []int64{5000}, 2, 1, "1", "0", ""},
		{"it shrinks below what is held", 1, []int64{5000, 6000, 7000}, 1, 1, "-5002", "-2", ""},
		{"it shrinks below what is held, of which some are over", 0, []int64{-5, -5, 7000}, 1, 1, "-7002", "0", ""},
		{"a number that is wrong", -7, []int64{5000}, 2, 1, "1", "0", "2"},
		{"the largest", 5, nil, 1 << 50, 1, "1", "1125899906842623", "1125899906842624"},
	} {
		b.run(t, c.what, func(t *testing.T, b *box) {
			permitsEnding(b, c.free, c.held...)
			if c.free == -99 {
				b.must("DEL", one)
			}
			b.want(take(b, 100, c.limit, c.n), c.reply, "permit_take")
			b.want(b.must("GET", one), c.left, "free")
			b.want(b.said(nobody, heard), c.heard, "the channel")
		})
	}
	b.run(t, "its number ends in a day, unless it was set, and no permit with it", func(t *testing.T, b *box) {
		takes := func(number uint64, limit string) {
			b.want(b.eval(scripts.PermitTake, permitKeys, "PUBLISH", 0, engineBytes, someUUID, number, 0, leased(1)+limit, 0, 0, nobody), "1", "permit_take")
		}
		day := 24 * hour.Milliseconds()
		wantTTL := func(key string, want int64) {
			t.Helper()
			if ttl := b.thing(key).ttl; ttl > want || ttl < min(want, want-5000) {
				t.Errorf("%s ends in %d ms, want %d", key, ttl, want)
			}
		}
		takes(100, "/9")
		wantTTL(one, day)
		wantTTL(permitKeys[1], -1)
		b.must("PEXPIRE", one, fmt.Sprint(day/2+9000))
		takes(101, "")
		takes(102, "/9")
		wantTTL(one, day/2+9000)
		wantTTL(permitKeys[1], day/2+9000) // by the take without a limit
		b.must("PEXPIRE", one, fmt.Sprint(day/2-1))
		takes(103, "/9")
		wantTTL(one, day)
		wantTTL(permitKeys[1], 4398046511104)
		b.must("SET", one, "5")
		takes(104, "/9")
		wantTTL(one, -1)
	})
	b.run(t, "one that was sent before, or comes late, has no effect", func(t *testing.T, b *box) {
		b.want(take(b, 100, 2, 2), "1", "permit_take")
		b.want(take(b, 100, 2, 2), "1", "permit_take again")
		b.want(take(b, 102, 3, 1), "1", "a later permit_take")
		take(b, 100, 2, 2)
		b.want(b.must("GET", one), "0", "free")
		b.want(b.must("ZCARD", permitKeys[1]), "3", "held")
	})
	b.run(t, "one that Redis refuses takes nothing", func(t *testing.T, b *box) {
		permitsEnding(b, 1)
		refused := answering(frozen(scripts.PermitTake), "INCRBY", refusal(scripts.OutOfMem))
		b.want(b.eval(refused, permitKeys, "PUBLISH", 0, engineBytes, someUUID, 100, 0, leased(1)+"/5", 0, 0, nobody), fault(scripts.OutOfMem), "permit_take")
		b.want(b.must("GET", one), "1", "free")
		b.want(b.must("EXISTS", permitKeys[1], permitKeys[2]), "0", "EXISTS of those held, and the receipt")
	})
}

// One call takes the permits of many callers, from the front as far as they go, under numbers in a row and with a lease for each. Asked again it
// answers how many of them, from the front, are there as a whole, also without its receipt, and takes no more.
func TestPermitTakeOfManyCallers(t *testing.T) {
	b := realBox(t)
	take := func(b *box, again int) string {
		return b.eval(frozen(scripts.PermitTake), permitKeys, "PUBLISH", 0, engineBytes, someUUID, 0x01FE, again, "1x2x1000,2x1x2000,1x9x3000,", 0, 0, nobody)
	}
	permitsEnding(b, 5, -1)
	b.want(take(b, 0), "5", "permit_take") // of 6, one of which was over
	b.want(b.must("GET", one), "0", "free")
	for i, ends := range []int{1000, 1000, 2000, 2000, 3000, 3000} {
		b.want(b.must("ZSCORE", permitKeys[1], idOf(0x01FE+uint64(i))), strconv.Itoa(frozenNow+ends), "the end of permit ", i)
	}
	b.want(take(b, 1), "5", "permit_take again")
	b.must("DEL", permitKeys[2])
	b.must("SET", one, "9")
	b.want(take(b, 1), "5", "permit_take again without its receipt")
	b.must("ZREM", permitKeys[1], idOf(0x0201))
	b.want(take(b, 1), "2", "permit_take again after one of the third caller was freed")
	b.want(b.must("GET", one), "9", "free")
}

// One call frees the permits of many holds, and says of which some were there.
func TestPermitFreeOfManyHolds(t *testing.T) {
	b := realBox(t)
	heard := b.listen(nobody)
	permitsEnding(b, 5, 9000, 9000, -1, 9000)
	for _, want := range []string{"21", "0"} { // sent twice
		b.want(b.eval(frozen(scripts.PermitFree), permitKeys, "PUBLISH", 0, engineBytes, 7, "1,2,0;7,1,0;3,1,0;8,9,0;4,2,0;", "", nobody), want, "permit_free")
	}
	b.want(b.must("GET", one), "9", "free")
	b.want(b.must("EXISTS", permitKeys[1]), "0", "EXISTS of those held")
	b.want(b.said(nobody, heard), "4", "the channel")
}

// One call frees the permits of holds and those that are given by their ids; of what several want to free the first has it.
func TestPermitFreeOfHoldsAndIDs(t *testing.T) {
	b := realBox(t)
	permitsEnding(b, 5, 9000, 9000, -1, 9000, 9000)
	given := idOf(1) + idOf(2) + idOf(2) + idOf(4) + idOf(4) + idOf(3) + idOf(5)
	for range 2 { // sent twice
		b.want(b.eval(frozen(scripts.PermitFree), permitKeys, "PUBLISH", 0, engineBytes, 7, "0,1,0;1,1,0;0,2,0;0,2,0;4,1,0;0,2,0;3,1,0;", given, nobody), "77", "permit_free")
		b.want(b.must("GET", one), "9", "free")
		b.want(b.must("ZRANGE", permitKeys[1], "0", "-1"), "["+idOf(5)+"]", "those held")
	}
}

// Of more than 48 holds all are freed, or none.
func TestPermitFreeOfAllOrNone(t *testing.T) {
	b := realBox(t)
	for _, n := range []int{49, 990} {
		for _, lost := range []int{0, 1, n} {
			b := b.fresh(t)
			permitsEnding(b, 5, make([]int64, n)...)
			b.must("ZADD", permitKeys[1], "4000000000000", idOf(5000))
			b.must("ZREM", permitKeys[1], idOf(uint64(lost)))
			reply, free := "1", strconv.Itoa(5+n+1)
			if lost > 0 {
				reply, free = "0", "5"
			}
			for range 2 { // sent twice
				b.want(b.eval(frozen(scripts.PermitFree), permitKeys, "PUBLISH", 0, engineBytes, 7, permitsOf(n)+"0,1,0;", idOf(5000), nobody), reply, n, " holds, of which is lost ", lost)
			}
			b.want(b.must("GET", one), free, "free")
			b.want(b.thing(permitKeys[2]).value, "7:"+reply, "the receipt")
		}
	}
}

// Who asks for permits of a semaphore that is not there is told so.
func TestNoSemaphoreIsTold(t *testing.T) {
	onBothKinds(t, func(t *testing.T, q *queueing) {
		for place, want := range []scripts.Place{{}, {Stands: true, New: true, Leads: true}} {
			q := q.fresh(t, 0)
			q.isRefused(ann, 1, place, want)
			q.must("DEL", one, permitLine)
			if reply := q.asks(ann, 1, place); !reply.Absent() || reply.Place() != want {
				t.Errorf("answered %d: %+v", reply, reply.Place())
			}
			q.gives(0)
			if reply := q.asks(ann, 1, 0); reply.Absent() {
				t.Errorf("answered %d of none that are free", reply)
			}
		}
	})
}

// Permits that are over come back to those that are free; who listens is told when there are some.
func TestPermitsThatAreOverComeBack(t *testing.T) {
	b := realBox(t)
	heard := b.listen(nobody)
	for free, want := range map[int]string{3: "4", 0: "1", -1: "", -7: ""} {
		b := b.fresh(t)
		permitsEnding(b, free, 0, 1)
		b.want(b.eval(frozen(scripts.PermitCount), permitKeys[:2], "PUBLISH", nobody), fmt.Sprintf("[0 %d 1]", free+1), "permit_count")
		b.want(b.said(nobody, heard), want, "the channel")
	}
}

// Of two names each is announced on its own channel, whether the permits were enough or not.
func TestPermitTakeOfTwoNames(t *testing.T) {
	b := realBox(t)
	heard := b.listen("second")
	keys := append(permitKeys[:4:4], two, scripts.PermitsKey(two), scripts.ReceiptKey(two, someUUID), scripts.LineKey(two))
	for n, want := range map[int]string{1: "", 9: "2"} { // those that are over are not looked for if enough are free
		b := b.fresh(t)
		permitsEnding(b, 5)
		b.must("SET", two, "1")
		b.must("ZADD", scripts.PermitsKey(two), "1000", idOf(3))
		b.eval(frozen(scripts.PermitTake), keys, "PUBLISH", 0, engineBytes, someUUID, 7, 0, leased(1), 0, 0, nobody, 8, 0, leased(n), 0, 0, "second")
		b.want(b.said("second", heard), want, "the channel, of ", n)
	}
}

func TestPermitFree(t *testing.T) {
	b := realBox(t)
	heard := b.listen(nobody)
	for _, c := range []struct {
		what     string
		first, n int
		ids      string
		reply    string
		heard    string
		free     string
	}{
		{"one of ours: how many are free now", 2, 1, "", "1", "6", "6"},
		{"one of ours that is over", 1, 1, "", "1", "6", "6"},
		{"two of ours: how many came", 1, 2, "", "1", "2", "7"},
		{"ours that are partly there", 3, 2, "", "1", "6", "6"},
		{"ours that are not there", 8, 2, "", "0", "", "5"},
		{"given ones", 0, 2, idOf(2) + idOf(3), "1", "2", "7"},
		{"a given one that is over", 0, 2, idOf(1) + idOf(2), "0", "", "5"},
		{"a given one that ends this millisecond", 0, 1, idOf(4), "0", "", "5"},
		{"a given one that is not there", 0, 2, idOf(2) + idOf(9), "0", "", "5"},
	} {
		b.run(t, c.what, func(t *testing.T, b *box) {
			permitsEnding(b, 5, -9, 1, 9000)
			if c.first == 0 && c.n == 1 {
				b.must("ZADD", permitKeys[1], strconv.Itoa(frozenNow), idOf(4))
			}
			holds := fmt.Sprintf("%d,%d,0;", c.first, c.n)
			args := []any{"PUBLISH", 0, engineBytes, 7, holds, c.ids, nobody}
			refused, receipt := answering(frozen(scripts.PermitFree), "INCRBY", refusal(scripts.OutOfMem)), ""
			if c.ids != "" { // only then there is one
				refused = answering(frozen(scripts.PermitFree), "SET", refusal(scripts.OutOfMem))
				receipt = "7:" + c.reply
			}
			if c.ids != "" || c.reply == "1" {
				b.want(b.eval(refused, permitKeys, args...), fault(scripts.OutOfMem), "permit_free when Redis refuses")
			}
			b.want(b.eval(frozen(scripts.PermitFree), permitKeys, args...), c.reply, "permit_free")
			b.want(b.must("GET", one), c.free, "free")
			b.want(b.thing(permitKeys[2]).value, receipt, "the receipt")
			b.want(b.said(nobody, heard), c.heard, "the channel")
		})
	}
}

// Given ids are those of their name.
func TestPermitFreeOfTwoNames(t *testing.T) {
	b := realBox(t)
	permitsEnding(b, 5, 9000, 9000)
	b.must("SET", two, "5")
	b.must("ZADD", scripts.PermitsKey(two), "4000000000000", idOf(3))
	keys := append(permitKeys[:4:4], two, scripts.PermitsKey(two), scripts.ReceiptKey(two, someUUID), scripts.LineKey(two))
	b.want(b.eval(frozen(scripts.PermitFree), keys, "PUBLISH", 0, engineBytes, 7, "0,2,0;", idOf(1)+idOf(2), nobody, 7, "0,1,0;", idOf(3), nobody), "1", "permit_free")
	b.want(b.must("MGET", one, two), "[7 6]", "free")
}

// Of several holds the answer says which are there in whole.
func TestPermitRenew(t *testing.T) {
	b := realBox(t)
	for holds, want := range map[string]string{
		"1,1,100;": "1", "1,1,100;2,1,100;3,1,100;": "7", "1,1,100;9,1,100;3,1,100;": "5", "9,1,100;2,2,100;": "2", "3,2,100;": "0", "8,2,1;1,3,1;": "2",
	} {
		b := b.fresh(t)
		permitsEnding(b, 0, 50, 5000, 50)
		b.want(b.eval(frozen(scripts.PermitRenew), permitKeys[1:2], engineBytes, holds), want, holds)
		b.want(b.must("ZCARD", permitKeys[1]), "3", "held")
	}
	b.fresh(t)
	permitsEnding(b, 0, 50, 5000)
	b.eval(frozen(scripts.PermitRenew), permitKeys[1:2], engineBytes, "1,2,100;")
	b.want(b.must("ZSCORE", permitKeys[1], idOf(1)), strconv.Itoa(frozenNow+100), "the end of the first")
	b.want(b.must("ZSCORE", permitKeys[1], idOf(2)), strconv.Itoa(frozenNow+5001), "the end of the second")
	for n, want := range map[int]string{48: "281474976710655", 49: "1", 1000: "1"} {
		b.fresh(t)
		permitsEnding(b, 0, make([]int64, n)...)
		b.want(b.eval(frozen(scripts.PermitRenew), permitKeys[1:2], engineBytes, permitsOf(n)), want, n, " holds")
		b.must("ZREM", permitKeys[1], idOf(17))
		b.want(b.eval(frozen(scripts.PermitRenew), permitKeys[1:2], engineBytes, permitsOf(n)), map[bool]string{true: "281474976645119", false: "0"}[n == 48], n, " holds, one of them lost")
		b.want(b.must("ZSCORE", permitKeys[1], idOf(uint64(n))), strconv.Itoa(frozenNow+101), "the end of the last")
	}
}

// permitsOf is so many holds of one permit each, from number 1 on.
func permitsOf(n int) string {
	var holds []byte
	for i := range n {
		holds = scripts.AppendPermitHold(holds, uint64(i+1), 1, 100*time.Millisecond)
	}
	return string(holds)
}

// Callers in line are served from the front, as far as the permits go.
func TestTakeServesFromTheFront(t *testing.T) {
	b := realBox(t)
	for _, c := range []struct {
		free  int
		line  string
		taken int
	}{
		{5, "2x2,1x3", 5}, {5, "2x3,1x2", 4}, {0, "1x1", 0}, {-3, "1x1", 0}, {7, "3x1,2x2", 7}, {6, "3x1,2x2", 5}, {2, "3x1,1x1", 0}, {9, "3x1", 3}, {3, "3x1", 3},
	} {
		for again, receipt := range map[int]string{0: "", 1: "7:-1"} {
			b := b.fresh(t)
			reply := strconv.Itoa(c.taken)
			if c.taken == 0 {
				reply = "-1"
			}
			b.must("SET", one, strconv.Itoa(c.free))
			b.want(b.eval(scripts.Take, poolKeys, "PUBLISH", 0, someUUID, 7, again, c.line, 0, 0, nobody), reply, c.free, " for ", c.line, ": take")
			b.want(b.must("GET", one), strconv.Itoa(c.free-c.taken), "free")
			if c.taken > 0 {
				receipt = "7:" + strconv.Itoa(c.taken)
			}
			b.want(b.thing(countKeys[1]).value, receipt, "the receipt")
		}
	}
	for _, n := range []string{"1", "2"} {
		b.fresh(t)
		b.must("SET", one, "5")
		b.eval(scripts.Take, poolKeys, "PUBLISH", 0, someUUID, 7, 0, n+"x1", 0, 0, nobody)
		b.must("PEXPIRE", countKeys[1], "1000")
		refused := answering(scripts.Take, "PEXPIRE", "{ err = "+strconv.Quote(refusals[scripts.ReadOnly])+" }")
		b.want(b.eval(refused, poolKeys, "PUBLISH", 0, someUUID, 7, 1, n+"x1", 0, 0, nobody), fault(scripts.ReadOnly), "take again when Redis refuses")
		b.want(b.eval(scripts.Take, poolKeys, "PUBLISH", 0, someUUID, 7, 1, n+"x1", 0, 0, nobody), n, "take again")
		b.lasts(countKeys[1], time.Minute)
	}
}
