package scripts_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// stock is a semaphore of permits that expire.
type stock struct {
	*box
	keys []string // permits, those held, this engine's receipt, the line
}

// stocked has free permits, and others held under numbers from 1 on, of which those before the living one are over.
func stocked(b *box, name string, free, held, living int) *stock {
	s := &stock{b, []string{name, scripts.PermitsKey(name), scripts.ReceiptKey(name, someUUID), scripts.LineKey(name)}}
	b.must("SET", s.keys[0], fmt.Sprint(free))
	for id := 1; id <= held; id++ {
		ends := "1"
		if id >= living {
			ends = "4000000000000"
		}
		b.must("ZADD", s.keys[1], ends, string(scripts.PermitID(someUUID, uint64(id))))
	}
	b.must("SET", s.keys[2], "0:0", "PX", "60000")
	return s
}

func (s *stock) take(number, n int) string { return s.takeAgain(number, 0, n) }

func (s *stock) takeAgain(number, again, n int) string {
	s.Helper()
	return s.eval(scripts.PermitTake, s.keys, "PUBLISH", 0, scripts.PermitBytes(someUUID), someUUID, number, again, leased(n), 0, 0, scripts.SemaphoreChannel(s.keys[0]))
}

func (s *stock) free(number, first, n int) string {
	s.Helper()
	return s.eval(scripts.PermitFree, s.keys, "PUBLISH", 0, scripts.PermitBytes(someUUID), number, fmt.Sprintf("%d,%d,0;", first, n), "", scripts.SemaphoreChannel(s.keys[0]))
}

func (s *stock) renew(first, n int) string {
	s.Helper()
	return s.eval(scripts.PermitRenew, s.keys[1:2], scripts.PermitBytes(someUUID), fmt.Sprintf("%d,%d,%d;", first, n, twoHour.Milliseconds()))
}

// ends compares when a permit ends, as far as a minute goes.
func (s *stock) ends(number uint64, in time.Duration) {
	s.Helper()
	score, _ := strconv.ParseInt(s.must("ZSCORE", s.keys[1], string(scripts.PermitID(someUUID, number))), 10, 64)
	if left := time.Duration(score-s.serverMillis()) * time.Millisecond; left > in || left < in-time.Minute {
		s.Errorf("permit %d ends in %v, want %v", number, left, in)
	}
}

// wants compares how many permits are free, and how many are held.
func (s *stock) wants(free, held int) {
	s.Helper()
	s.want(s.must("GET", s.keys[0]), fmt.Sprint(free), "free")
	s.want(s.must("ZCARD", s.keys[1]), fmt.Sprint(held), "held")
}

// What permits that are over leave is taken in the same call.
func TestPermitsThatAreOverAreTaken(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		s := stocked(b, one, 1, 4, 3)
		news := b.listen(scripts.SemaphoreChannel(one))
		b.want(s.take(100, 2), "1", "take")
		b.must("PUBLISH", scripts.SemaphoreChannel(one), "the end")
		b.want(<-news, "1", "what was announced")
		s.wants(1, 4)
		b.want(s.take(102, 2)[:1], "-", "take of too many")
		s.wants(1, 4)
	})
}

// While a hash slot is on its way, a key that a script has emptied is gone for it: the node sends on what it has not. No
// permit is lost by that.
func TestPermitsInASlotOnItsWay(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 2, 0)
	slot := cluster.Slot(one)
	here, there := cluster.Nodes[0], cluster.Nodes[1]
	if cluster.NodeOf(slot) != here {
		here, there = there, here
	}
	b := &box{t, dial(t, here.Addr(), "", ""), here}
	s, counted := stocked(b, one, 0, 1, 2), stocked(b, "{"+one+"}:counted", 2, 3, 4)
	s.keys[3] = one // no line is named then
	cluster.BeginMove(slot, there)
	b.want(s.take(100, 1), "1", "take of the last one, which is over")
	s.wants(0, 1)
	b.want(s.free(101, 100, 1), "1", "free")
	b.want(b.must("GET", one), "1", "free permits")
	b.want(b.eval(scripts.PermitCount, counted.keys[:2], "PUBLISH", scripts.SemaphoreChannel(one)), "[0 5 0]", "count when all held ones are over")
}

// At maxmemory nothing is taken, but what is held is kept, and freed.
func TestPermitsAtMaxmemory(t *testing.T) {
	s := stocked(realBox(t), one, 2, 2, 1)
	s.want(s.take(100, 1), "1", "take")
	s.must("CONFIG", "SET", "maxmemory", "1")
	s.want(s.take(101, 1), fault(scripts.OutOfMem), "take")
	s.must("ZREM", s.keys[1], string(scripts.PermitID(someUUID, 2)))
	s.wants(1, 2)
	s.want(s.renew(100, 1), "1", "renew")
	s.ends(100, twoHour)
	s.want(s.free(102, 100, 1), "1", "free")
	s.wants(2, 1)
}

// Asked again after a lost answer, permits last as long as was asked for now, also at maxmemory.
func TestPermitsAskedForAgainAtMaxmemory(t *testing.T) {
	s := stocked(realBox(t), one, 1, 0, 1)
	s.want(s.take(100, 1), "1", "take")
	s.must("ZADD", s.keys[1], "4000000", string(scripts.PermitID(someUUID, 100))) // as if taken long ago
	s.must("CONFIG", "SET", "maxmemory", "1")
	s.want(s.takeAgain(100, 1, 1), "1", "take again")
	s.ends(100, hour)
	s.wants(0, 1)
}

// Asked again after somebody has freed one of them, permits are not all held any more.
func TestPermitsAskedForAgainAreAllHeldOrNone(t *testing.T) {
	onBoth(t, func(t *testing.T, b *box) {
		s := stocked(b, one, 2, 0, 1)
		b.want(s.take(100, 2), "1", "take")
		b.must("ZREM", s.keys[1], string(scripts.PermitID(someUUID, 101)))
		if reply := number(t, s.takeAgain(100, 1, 2)); reply >= 0 {
			t.Errorf("take again answered %d", reply)
		}
	})
}

// A user who lacks a right leaves nothing half done: a permit is free or held.
func TestPermitsOfAUserWithoutRights(t *testing.T) {
	b := realBox(t)
	for _, command := range []string{"zadd", "decrby", "zrem", "incrby"} {
		t.Run(command, func(t *testing.T) {
			s := stocked(b.fresh(t), one, 1, 1, 1)
			user := *s
			user.box = s.limited(t, "+@all", "&*", "~*", "-"+command)
			taken, freed := scripts.Reply(number(t, user.take(100, 1))), scripts.Reply(number(t, user.free(101, 1, 1)))
			if free, held := number(t, s.must("GET", s.keys[0])), number(t, s.must("ZCARD", s.keys[1])); free+held != 2 {
				t.Errorf("take answered %d, free %d; of two permits %d are free and %d held", taken, freed, free, held)
			}
			if taken.Fault() == scripts.None && freed.Fault() == scripts.None {
				t.Error("both worked")
			}
		})
	}
}
