package redsync

import (
	"context"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/interop/suites/servers"
)

// pool is one server with an engine for locks.
type pool struct {
	server int
	e      *engine.Engine
}

// newPools opens engines on n servers.
func newPools(n int) (pools []redis.Pool) {
	for i := range n {
		pools = append(pools, &pool{i, servers.Engine(i)})
	}
	return pools
}

func (p *pool) Get(context.Context) (redis.Conn, error) { return conn{server: p.server}, nil }

// conn is what the tests look at keys with. What only redsync's locks call is not there.
type conn struct {
	redis.Conn
	server int
}

// Get is the value of the holder.
func (c conn) Get(name string) (string, error) {
	owners := servers.Do(c.server, "HKEYS", name)
	if err := owners.Err(); err != nil || len(owners.Items) == 0 {
		return "", err
	}
	mu.Lock()
	defer mu.Unlock()
	return values[owners.Items[0].Text], nil
}

// Set has somebody else hold the lock.
func (c conn) Set(name, value string) (bool, error) {
	return true, servers.Do(c.server, "HSET", name, value, "1").Err()
}

func (c conn) PTTL(name string) (time.Duration, error) {
	ttl := servers.Do(c.server, "PTTL", name)
	return time.Duration(ttl.Int) * time.Millisecond, ttl.Err()
}

func (c conn) Close() error { return nil }
