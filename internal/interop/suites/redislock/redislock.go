// Package redislock has the API of github.com/bsm/redislock, by an engine, for redislock's own tests. A Client has the engine of its Redis
// client; a lock has a fixed lease, as there, and a token is an owner, who may take a lock again.
package redislock

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/interop/suites/servers"
)

// What is no lock is redislock's.
type (
	RetryStrategy = redislock.RetryStrategy
	RedisClient   = redislock.RedisClient
	Options       = redislock.Options
)

var (
	ErrNotObtained     = redislock.ErrNotObtained
	ErrLockNotHeld     = redislock.ErrLockNotHeld
	NoRetry            = redislock.NoRetry
	LinearBackoff      = redislock.LinearBackoff
	ExponentialBackoff = redislock.ExponentialBackoff
	LimitRetry         = redislock.LimitRetry
)

// Client takes locks by one engine.
type Client struct {
	e   *engine.Engine
	err error // why there is none
}

var (
	mu      sync.Mutex // guards the rest
	clients = map[*redis.Options]*Client{}
	owners  = map[string]engine.Owner{} // by token
)

// New returns the client of a Redis client.
func New(client RedisClient) *Client {
	opts := client.(interface{ Options() *redis.Options }).Options()
	mu.Lock()
	defer mu.Unlock()
	c := clients[opts]
	if c == nil {
		c = new(Client)
		c.e, c.err = servers.Open(rueidis.ClientOption{InitAddress: []string{opts.Addr}, SelectDB: opts.DB})
		clients[opts] = c
	}
	return c
}

// ownerOf is who has a token.
func ownerOf(token string) engine.Owner {
	mu.Lock()
	defer mu.Unlock()
	if _, known := owners[token]; !known {
		owners[token] = engine.NewOwner()
	}
	return owners[token]
}

// Lock is a hold.
type Lock struct {
	*Client
	keys            []string
	token, metadata string
	hold            *engine.Hold
}

func Obtain(ctx context.Context, client RedisClient, key string, ttl time.Duration, opt *Options) (*Lock, error) {
	return New(client).Obtain(ctx, key, ttl, opt)
}

func ObtainMulti(ctx context.Context, client RedisClient, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return New(client).ObtainMulti(ctx, keys, ttl, opt)
}

func (c *Client) Obtain(ctx context.Context, key string, ttl time.Duration, opt *Options) (*Lock, error) {
	return c.obtain(ctx, []string{key}, ttl, opt, func(how ...engine.LockOption) (*engine.Hold, error) {
		return c.e.Mutex(key).TryLock(ctx, how...)
	})
}

func (c *Client) ObtainMulti(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	all, err := c.e.All(keys...)
	if err != nil {
		return nil, err
	}
	return c.obtain(ctx, keys, ttl, opt, func(how ...engine.LockOption) (*engine.Hold, error) { return all.TryLock(ctx, how...) })
}

func (c *Client) obtain(ctx context.Context, keys []string, ttl time.Duration, opt *Options, try func(...engine.LockOption) (*engine.Hold, error)) (*Lock, error) {
	if c.err != nil {
		return nil, c.err
	}
	if opt == nil {
		opt = new(Options)
	}
	l := &Lock{Client: c, keys: keys, token: opt.Token, metadata: opt.Metadata}
	if l.token == "" {
		random := make([]byte, 16)
		_, _ = rand.Read(random) // it never fails
		l.token = base64.RawURLEncoding.EncodeToString(random)
	}
	err := again(ctx, ttl, opt, func() (err error) {
		l.hold, err = try(engine.WithLease(ttl), engine.WithOwner(ownerOf(l.token)))
		if errors.Is(err, engine.ErrHeld) {
			return ErrNotObtained
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// again repeats what is not obtained as the strategy says, for the time of a ttl if the context has no deadline.
func again(ctx context.Context, ttl time.Duration, opt *Options, try func() error) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, ttl)
		defer cancel()
	}
	for refused := false; ; refused = true {
		err := try()
		if refused && errors.Is(err, context.DeadlineExceeded) { // the time was over during a further try
			return errors.Join(ErrNotObtained, err)
		}
		if !errors.Is(err, ErrNotObtained) || opt.RetryStrategy == nil {
			return err
		}
		pause := opt.RetryStrategy.NextBackoff()
		if pause <= 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(pause):
		}
	}
}

func (l *Lock) Key() string      { return l.keys[0] }
func (l *Lock) Keys() []string   { return l.keys }
func (l *Lock) Token() string    { return l.token }
func (l *Lock) Metadata() string { return l.metadata }

// TTL is the shortest of those of all keys; 0: the lock is lost.
func (l *Lock) TTL(ctx context.Context) (least time.Duration, err error) {
	if l == nil {
		return 0, ErrLockNotHeld
	}
	for i, key := range l.keys {
		state, err := l.e.Mutex(key).Inspect(ctx)
		if err != nil {
			return 0, err
		}
		if l.hold.Err() != nil || !state.Ours {
			return 0, nil
		}
		if i == 0 || state.TTL < least {
			least = state.TTL
		}
	}
	return least, nil
}

func (l *Lock) Refresh(ctx context.Context, ttl time.Duration, _ *Options) error {
	if l == nil {
		return ErrNotObtained
	}
	err := l.hold.Extend(ctx, ttl)
	if ended(err) {
		return ErrNotObtained
	}
	return err
}

func (l *Lock) Release(ctx context.Context) error {
	if l == nil {
		return ErrLockNotHeld
	}
	err := l.hold.Unlock(ctx)
	if ended(err) {
		return ErrLockNotHeld
	}
	return err
}

func ended(err error) bool {
	return errors.Is(err, engine.ErrLost) || errors.Is(err, engine.ErrUnlocked)
}
