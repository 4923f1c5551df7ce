package testkit

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/wheellock/wheellock/scripts"
)

// Outsider is another program that uses the same locks by Redisson's plain protocol: its two scripts, its
// channel, nothing of ours. It has connections of its own, straight to the server.
type Outsider struct {
	TB     testing.TB
	Client rueidis.Client
	Owner  string
}

// Redisson's acquire and release, by their meaning.
const (
	RedissonAcquire = `if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
	redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
	redis.call('PEXPIRE', KEYS[1], ARGV[1])
	return nil
end
return redis.call('PTTL', KEYS[1])`
	RedissonRelease = `if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return nil end
if redis.call('HINCRBY', KEYS[1], ARGV[2], -1) > 0 then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], ARGV[1])
return 1`
)

var (
	AcquireScript = rueidis.NewLuaScript(RedissonAcquire)
	ReleaseScript = rueidis.NewLuaScript(RedissonRelease)
)

// NewOutsider connects another program until the end of the test.
func NewOutsider(tb testing.TB, addr string) *Outsider {
	tb.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	if err != nil {
		tb.Fatalf("outsider: %v", err)
	}
	tb.Cleanup(client.Close)
	return &Outsider{TB: tb, Client: client, Owner: "0b7d4c7e-0000-4000-8000-00000000feed:1"}
}

// Try asks once. granted is the moment at which the answer was read.
func (o *Outsider) Try(name string, lease time.Duration) (granted time.Time, taken bool) {
	err := AcquireScript.Exec(context.Background(), o.Client, []string{name},
		[]string{strconv.FormatInt(lease.Milliseconds(), 10), o.Owner}).Error()
	if rueidis.IsRedisNil(err) {
		return time.Now(), true
	}
	if err != nil {
		o.TB.Errorf("outsider: acquire: %v", err)
	}
	return time.Time{}, false
}

// Take asks once and must get it.
func (o *Outsider) Take(name string, lease time.Duration) {
	o.TB.Helper()
	if _, taken := o.Try(name, lease); !taken {
		o.TB.Fatalf("outsider: %s is taken", name)
	}
}

// Free gives it back and wakes who listens; false: it was not the outsider's.
func (o *Outsider) Free(name string) bool {
	err := ReleaseScript.Exec(context.Background(), o.Client, []string{name, scripts.LockChannel(name)}, []string{"0", o.Owner}).Error()
	if err != nil && !rueidis.IsRedisNil(err) {
		o.TB.Errorf("outsider: release: %v", err)
	}
	return err == nil
}
