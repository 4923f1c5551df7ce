package redsync

import "github.com/go-redsync/redsync/v4/redis"

type testCase struct {
	poolCount int
	pools     []redis.Pool
}

// makeCases has one: the engine has one way to Redis, not six.
func makeCases(n int) map[string]*testCase {
	return map[string]*testCase{"engine": {n, newPools(n)}}
}
