// Package guarded stores values under a lock (contrib/flight, contrib/idempotency).
package guarded

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
)

// set stores a value if the owner still has the lock. Compare and write are one step, so a process that was paused past its
// lease does not overwrite the value of its successor.
// KEYS[1] the lock, KEYS[2] the value; ARGV[1] owner, ARGV[2] value, ARGV[3] how long it stands, in ms; 1: stored, 0: the lock is lost
var set = rueidis.NewLuaScript(`
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1`)

// again is the pause between two tries while the hash slot moves to another node of a cluster.
const again = 20 * time.Millisecond

// Set stores a value for so long, in whole milliseconds, if in Redis the lock is that of hold; false: it is not. Both keys are in one hash slot.
// While this is on its way to another node of a cluster, they cannot be reached together: Set waits for that, until ctx or hold ends.
func Set(ctx context.Context, client rueidis.Client, hold *engine.Hold, lock, key string, value []byte, keep time.Duration) (bool, error) {
	for {
		stored, err := set.Exec(ctx, client, []string{lock, key},
			[]string{hold.TenureID(), rueidis.BinaryString(value), strconv.FormatInt(keep.Milliseconds(), 10)}).AsInt64()
		if err == nil || !strings.HasPrefix(err.Error(), "TRYAGAIN") {
			return stored == 1, err
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return false, err
		case <-hold.Done():
			return false, err
		}
	}
}
