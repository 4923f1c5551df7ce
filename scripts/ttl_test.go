package scripts_test

import (
	"testing"
	"time"

	"github.com/wheellock/wheellock/internal/redistest"
	"github.com/wheellock/wheellock/scripts"
)

// A Java service may give a lease of centuries. Its reply must not run into the numbers that mean something else.
func TestAcquireOfALockWithAnyTTLIsHeld(t *testing.T) {
	redis := redistest.Start(t)
	redis.MustDo("HSET", "stock:7", "java:1", "1")
	for _, c := range []struct {
		millis string
		ttl    time.Duration
	}{
		{"60000", time.Minute},
		{"4398046511104", 1 << 42 * time.Millisecond},
		{"4398046521104", 1 << 42 * time.Millisecond},
		{"2251799813695248", 1 << 42 * time.Millisecond}, // 2^51 and 10 s: a fault
		{"4503599637370496", 1 << 42 * time.Millisecond}, // 2^52 and 10 s: too late
		{"9007199264740992", 1 << 42 * time.Millisecond}, // 2^53 and 10 s
		{"9000000000000000000", 1 << 42 * time.Millisecond},
	} {
		redis.MustDo("PEXPIRE", "stock:7", c.millis)
		for _, answer := range []redistest.Reply{
			redis.MustDo("EVAL", scripts.Acquire.Text, "1", "stock:7", "0", "me:1", "30000"),
			redis.MustDo("EVAL", scripts.AcquireFenced.Text, "2", "stock:7", "token", "0", "1", "0", "me:1", "30000"),
		} {
			ttl, held := scripts.Reply(answer.Int).Held()
			if !held || ttl > c.ttl || ttl < c.ttl-10*time.Second {
				t.Errorf("TTL %s ms: answered %d, held %t by %v; want %v", c.millis, answer.Int, held, ttl, c.ttl)
			}
		}
	}
	redis.MustDo("PERSIST", "stock:7")
	answer := redis.MustDo("EVAL", scripts.Acquire.Text, "1", "stock:7", "0", "me:1", "30000")
	if ttl, held := scripts.Reply(answer.Int).Held(); !held || ttl >= 0 {
		t.Errorf("without TTL: answered %d, held %t by %v; want less than 0", answer.Int, held, ttl)
	}
}
