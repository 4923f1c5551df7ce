package target

import (
	"context"

	"github.com/wheellock/wheellock/cmd/internal/redisflags"
	"github.com/wheellock/wheellock/engine"
)

// Connect uses the Redis that somebody named. An engine reaches it first: it finds what would keep the load from running, and its
// error says what to do.
func Connect(ctx context.Context, redis redisflags.Flags) (*Target, error) {
	t := &Target{Kind: Given, Address: Address{Flags: redis}}
	o, err := t.Address.Options()
	if err != nil {
		return nil, err
	}
	e, err := engine.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	e.Close()
	if err := t.connect(ctx); err != nil {
		return nil, err
	}
	return t, nil
}
