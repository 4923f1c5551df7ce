package scripts_test

import (
	"math"
	"testing"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

func TestReplyToAnAcquire(t *testing.T) {
	for _, c := range []struct {
		reply scripts.Reply
		taken bool
		ttl   time.Duration
		held  bool
	}{
		{reply: 1, taken: true},
		{reply: math.MaxInt64, taken: true}, // a fencing token
		{reply: -1, ttl: -time.Millisecond, held: true},
		{reply: -2, ttl: 0, held: true}, // PTTL 0 is still held
		{reply: -3, ttl: time.Millisecond, held: true},
		{reply: -30_002, ttl: 30 * time.Second, held: true},
		{reply: -(1<<42 + 2), ttl: 1 << 42 * time.Millisecond, held: true},
		{reply: -(1<<51 - 1), ttl: 1 << 42 * time.Millisecond, held: true},
		{reply: -(1<<51 + 2)}, // OOM
		{reply: -(1<<52 + 1_700_000_000_000)},
	} {
		if ttl, held := c.reply.Held(); ttl != c.ttl || held != c.held || c.reply.Granted() != c.taken {
			t.Errorf("%d: taken %t, held %t by %v; want %t, %t by %v", c.reply, c.reply.Granted(), held, ttl, c.taken, c.held, c.ttl)
		}
	}
}

func TestReplyThatCameTooLate(t *testing.T) {
	const now int64 = 1_700_000_000_000
	if millis, late := scripts.Reply(-(1<<52 + now)).Late(); !late || millis != now {
		t.Errorf("late %t at %d, want %d", late, millis, now)
	}
	for _, r := range []scripts.Reply{1, 0, -1, -(1<<51 + 1), -(1<<52 - 1)} {
		if _, late := r.Late(); late {
			t.Errorf("%d is late", r)
		}
	}
}

func TestReplyOfFaults(t *testing.T) {
	for fault, words := range map[scripts.Fault]string{
		scripts.ReadOnly:   "READONLY: the server is a replica",
		scripts.OutOfMem:   "OOM: the server is at maxmemory",
		scripts.Misconf:    "MISCONF: the server cannot save and has stopped writes",
		scripts.NoReplicas: "NOREPLICAS: not enough good replicas",
		scripts.NoPerm:     "NOPERM: the user may not use this key or command",
		scripts.Other:      "an error inside the script",
		16:                 "it is a key of another type",
		16 + 1:             "it is a string",
		16 + 5:             "it is a hash of another kind",
		16 + 6:             "it is a stream",
		16 + 7:             "an error inside the script",
	} {
		r := scripts.Reply(-(1 << 51) - int64(fault))
		if got := r.Fault(); got != fault || got.String() != words {
			t.Errorf("%d: fault %d, %q; want %d, %q", r, got, got, fault, words)
		}
		if _, foreign := fault.Foreign(); foreign != (fault >= 16 && fault <= 22) {
			t.Errorf("fault %d: foreign %t", fault, foreign)
		}
	}
	for _, r := range []scripts.Reply{1, 0, -1, -2, -30_002, -(1 << 52)} {
		if fault := r.Fault(); fault != scripts.None {
			t.Errorf("%d: fault %v", r, fault)
		}
	}
}

// FuzzReply: whatever a server answers is one thing, and makes sense.
func FuzzReply(f *testing.F) {
	for _, r := range []int64{
		0, 1, -1, -2, -30_002, math.MaxInt64, math.MinInt64, -(1<<42 + 2), -(1<<42 + 3), -(1<<51 - 1), -(1 << 51), -(1<<51 + 1),
		-(1<<51 + 16), -(1<<51 + 22), -(1<<51 + 23), -(1<<52 - 1), -(1 << 52), -(1<<52 + 1_700_000_000_000), -(1<<52 + 1),
	} {
		f.Add(r)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		r := scripts.Reply(n)
		ttl, held := r.Held()
		millis, late := r.Late()
		fault := r.Fault()
		meanings := 0
		for _, means := range []bool{r.Granted(), held, late, fault != scripts.None} {
			if means {
				meanings++
			}
		}
		if nothing := n == 0 || n == -(1<<51); meanings > 1 || meanings == 0 && !nothing {
			t.Errorf("%d means %d things: taken %t, held %t, late %t, fault %d", n, meanings, r.Granted(), held, late, fault)
		}
		if ttl < -time.Millisecond || ttl > 140*365*24*time.Hour {
			t.Errorf("%d: TTL %v", n, ttl)
		}
		if millis < 0 {
			t.Errorf("%d: server time %d", n, millis)
		}
		if fault.String() == "" {
			t.Errorf("%d: fault %d has no words", n, fault)
		}
		if what, foreign := fault.Foreign(); foreign && (what == "" || fault.Passing()) {
			t.Errorf("%d: a foreign key %q, passing %t", n, what, fault.Passing())
		}
	})
}

// A refusal says what is left of the owner's lease beside what it says of a place.
func TestReplyPlace(t *testing.T) {
	for reply, want := range map[scripts.Reply]scripts.Place{
		1: {}, 0: {}, -1: {}, -30_002: {}, -1<<51 - 3: {}, -1<<52 - 5: {}, -(1<<42 + 2): {},
		-1<<43 - 30_002: {Stands: true}, -2<<43 - 30_002: {Stands: true, New: true},
		-3<<43 - 30_002: {Stands: true, Listens: true}, -4<<43 - 30_002: {Stands: true, New: true, Listens: true},
	} {
		if got := reply.Place(); got != want {
			t.Errorf("%d: %+v, want %+v", reply, got, want)
		}
		if ttl, held := reply.Held(); want.Stands && (!held || ttl != 30*time.Second) {
			t.Errorf("%d: held %t for %v, want 30s", reply, held, ttl)
		}
	}
	for k := scripts.Reply(1); k <= 4; k++ {
		if ttl, held := (-k<<43 - 1).Held(); !held || ttl >= 0 {
			t.Errorf("place %d without a TTL: %v, %v", k, ttl, held)
		}
	}
}

// Where counts and codes meet.
func TestReplyPlaceAtItsBounds(t *testing.T) {
	for reply, want := range map[scripts.Reply]bool{
		-1<<43 + 1: false, -1 << 43: true, -1<<43 - 1: true, // the longest TTL that is told is 2^42 ms
		-1<<51 + 1: true, -1 << 51: false, -1<<51 - 1: false,
		-1<<52 + 1: false, -1 << 52: false, math.MinInt64: false, scripts.Passed: false, math.MaxInt64: false,
	} {
		if got := reply.Place().Stands; got != want {
			t.Errorf("%d: a place stands %t, want %t", reply, got, want)
		}
	}
}

func TestReplyWaiting(t *testing.T) {
	for reply, want := range map[scripts.Reply][2]int64{
		0: {0, 0}, 3: {3, 0}, 1<<32 - 1: {1<<32 - 1, 0}, 1 << 32: {0, 1}, 1<<32 + 3: {3, 1}, 10_000 << 32: {0, 10_000},
		scripts.Passed - 1: {1<<32 - 1, 1<<18 - 1}, scripts.Passed: {int64(scripts.Passed), 0}, scripts.Passed + 1: {int64(scripts.Passed) + 1, 0},
		-1: {-1, 0}, scripts.PublishDenied: {-2, 0}, -1<<51 - 3: {-1<<51 - 3, 0},
	} {
		if listeners, places := reply.Waiting(); int64(listeners) != want[0] || places != want[1] {
			t.Errorf("%d: %d listeners, %d places; want %d", reply, listeners, places, want)
		}
	}
}

func TestReplyGiven(t *testing.T) {
	for reply, heard := range map[scripts.Reply]scripts.Reply{scripts.Passed + 1: 0, scripts.Passed + 2: 1, scripts.Passed + 10_001: 10_000} {
		if got, given := reply.Given(); !given || got != heard {
			t.Errorf("%d: given %t, heard by %d; want %d", reply, given, got, heard)
		}
	}
	for _, reply := range []scripts.Reply{scripts.Passed, scripts.Passed - 1, 1, 0, scripts.NotMine, scripts.PublishDenied, -1<<51 - 3, math.MinInt64} {
		if _, given := reply.Given(); given {
			t.Errorf("%d: given", reply)
		}
	}
}
