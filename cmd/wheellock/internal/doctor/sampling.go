package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/wheellock/wheellock/dispatcher/redisconn"
)

// sample is one round trip of TIME and EVALSHA.
type sample struct {
	sent, read time.Duration // by our monotonic clock, since the first
	server     time.Duration // its clock, since 1970
	script     error         // what EVALSHA was answered
}

// sampleScript costs the server nothing.
const sampleScript = "return 1"

// manySamples is how many samples there are if each is answered at once.
const manySamples = 100

// samples makes round trips, one after the other, for the time of --during. They are made once.
func (n *node) samples() []sample {
	if n.seen == nil && n.unseen == nil {
		n.unseen = n.sample()
	}
	if n.err == nil {
		n.err = n.unseen
	}
	return n.seen
}

func (n *node) sample() error {
	digest, err := n.do("SCRIPT", "LOAD", sampleScript).ToString()
	if err != nil {
		return fmt.Errorf("SCRIPT LOAD: %w", err)
	}
	start := time.Now()
	n.wall = time.Duration(start.UnixNano())
	tick := time.NewTicker(max(n.during/manySamples, time.Millisecond))
	defer tick.Stop()
	for len(n.seen) == 0 || time.Since(start) < n.during {
		s, err := n.roundTrip(start, digest)
		if err != nil {
			return fmt.Errorf("TIME: %w", err)
		}
		n.seen = append(n.seen, s)
		select {
		case <-tick.C:
		case <-n.ctx.Done():
			return n.ctx.Err()
		}
	}
	return nil
}

func (n *node) roundTrip(start time.Time, digest string) (s sample, err error) {
	ctx, stop := context.WithTimeout(n.ctx, askTime)
	defer stop()
	b := n.client.B()
	s.sent = time.Since(start)
	answers := n.client.DoMulti(ctx, b.Time().Build(), b.Evalsha().Sha1(digest).Numkeys(0).Build())
	s.read = time.Since(start)
	s.script = answers[1].Error()
	micros, err := redisconn.ServerMicros(answers[0])
	s.server = time.Duration(micros) * time.Microsecond
	return s, err
}
