package redislock_test

import (
	"github.com/redis/go-redis/v9"

	"github.com/wheellock/wheellock/internal/interop/suites/servers"
)

var redisOpts = &redis.Options{Addr: servers.Addr(0), DB: 9}
