package chaos

import (
	"context"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/redisserver"
)

// faint is how long Redis may take to answer a PING on loopback before it counts as not running: an fsync on a busy
// disk, or another's turn on the processor.
const faint = 50 * time.Millisecond

// pulse asks Redis again and again, and tells when it did not answer, until ctx ends.
func pulse(ctx context.Context, addr string, tell func(span)) {
	redis := &redisserver.Admin{Network: "tcp", Addr: addr}
	defer redis.Close()
	for ctx.Err() == nil {
		at := now()
		redis.Do("PING") // a server that is frozen for longer than Admin waits is asked anew
		if end := now(); end.sub(at) > faint {
			tell(span{at, end})
		}
		pause(ctx, faint/5)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
