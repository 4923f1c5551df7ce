// Package clientv3 has what the tests of etcd's package concurrency need of etcd's client: an address, a key, an answer with keys.
package clientv3

import (
	"context"

	"github.com/redis/rueidis"
)

type Config struct{ Endpoints []string }

// Client knows where the servers are, and sets keys.
type Client struct {
	Config
	redis rueidis.Client
}

func New(cfg Config) (*Client, error) {
	redis, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: cfg.Endpoints})
	return &Client{cfg, redis}, err
}

type PutResponse struct{}

func (c *Client) Put(ctx context.Context, key, value string) (*PutResponse, error) {
	return &PutResponse{}, c.redis.Do(ctx, c.redis.B().Set().Key(key).Value(value).Build()).Error()
}

func (c *Client) Close() error {
	c.redis.Close()
	return nil
}

type KeyValue struct {
	Key, Value     []byte
	CreateRevision int64
}

type GetResponse struct{ Kvs []*KeyValue }
