package target

import (
	"context"

	"github.com/wheellock/wheellock/internal/redisflags"
)

// Connect uses the Redis that somebody named.
func Connect(ctx context.Context, redis redisflags.Flags) (*Target, error) {
	t := &Target{Kind: Given, Address: Address{Flags: redis}}
	if err := t.connect(ctx); err != nil {
		return nil, err
	}
	return t, nil
}
