package rivals

import "github.com/redis/go-redis/v9"

// goRedis is how the client of redislock and redsync is set up.
type goRedis int

const (
	// asItComes: a deadline that passes while a command is under way is not heeded. Its time-outs are 5 s, a sixth of
	// the lease that redislock's README takes; so they are of ours.
	asItComes goRedis = iota
	// heedsDeadlines sets ContextTimeoutEnabled.
	heedsDeadlines
)

func (g goRedis) connect(l login) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: l.addr, Username: l.user, Password: l.password,
		DialTimeout: l.lease / 6, ReadTimeout: l.lease / 6, WriteTimeout: l.lease / 6,
		ContextTimeoutEnabled: g == heedsDeadlines,
	})
}
