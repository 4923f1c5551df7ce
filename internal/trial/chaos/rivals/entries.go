package rivals

import "slices"

// everybody lists who takes part, in the order of the tables.
var everybody = []entry{
	{
		name:     "wheellock",
		settings: "only the lease",
		promise: "a call that failed or was cancelled leaves nothing behind; a holder is told before anybody else is granted, unless the " +
			"data of Redis is lost: then at the next renewal, a third of the lease later",
		open: openWheellock(false),
	},
	{
		name:     "wheellock, WatchLoss",
		settings: "the option WatchLoss",
		promise:  "told of a deleted key within a round trip",
		rows:     []row{deletes},
		open:     openWheellock(true),
	},
	{
		name:     "rueidislock",
		settings: "KeyMajority 1 and NoLoopTracking, as its README says for one Redis; TryNextAfter 1 s, as its author advises under load",
		promise: "the hold's context is \"canceled automatically and immediately once the KeyMajority is not held anymore\", also when Redis is " +
			"down or keys were deleted; a waiter tries again \"automatically and immediately once it has been released\"; of calls that fail, nothing",
		open: openRueidislock,
	},
	{
		name: "redislock",
		settings: "go-redis with ContextTimeoutEnabled, its time-outs a sixth of the lease, as its 5 s are of the README's 30 s; exponential back-off " +
			"from 16 to 250 ms; renewed by a careful user's loop (careful.go), which is no part of the library",
		promise: "ErrNotObtained of Refresh \"means the lock was lost\"; it \"deliberately does not bundle a built-in watchdog\" and tells nothing " +
			"by itself; of calls that fail, nothing",
		open: openRedislock(heedsDeadlines, careful),
	},
	{
		name: "redislock, README's watchdog",
		settings: "as redislock, on go-redis as it comes; renewed by the loop of its README: every third of the lease, and the work's " +
			"context ends when a refresh fails",
		promise: "as redislock",
		rows:    []row{partitions, deletes},
		open:    openRedislock(asItComes, readme),
	},
	{
		name:     "redislock, no ctx deadlines",
		settings: "as redislock, on go-redis as it comes, which does not heed a context's deadline while a command is under way",
		promise:  "as redislock",
		rows:     []row{cancels},
		open:     openRedislock(asItComes, careful),
	},
	{
		name: "redsync",
		settings: "go-redis as for redislock; its own delay between tries, 50 to 250 ms; renewed by the careful user's loop with Extend, no part of " +
			"the library",
		promise: "Until is \"the time of validity\"; it renews nothing and tells nothing by itself; of calls that fail, nothing",
		open:    openRedsync(heedsDeadlines),
	},
	{
		name:     "redsync, no ctx deadlines",
		settings: "as redsync, on go-redis as it comes",
		promise:  "as redsync",
		rows:     []row{cancels},
		open:     openRedsync(asItComes),
	},
}

// in are those who take part in a row.
func in(r row) (some []entry) {
	for _, e := range everybody {
		if e.rows == nil || slices.Contains(e.rows, r) {
			some = append(some, e)
		}
	}
	return some
}
