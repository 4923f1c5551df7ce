package rivals

import (
	"context"
	"slices"
	"sync"
	"time"
)

// lateBeat is how late a goroutine that sleeps a millisecond may wake up.
const lateBeat = 5 * time.Millisecond

// pace knows when this process did not run: then nobody in it could be told or granted anything.
type pace struct {
	mu     sync.Mutex // guards the rest
	beat   time.Time  // when it last ran
	stalls []stall
}

// A stall is a time in which it did not.
type stall struct{ from, to time.Time }

// keepPace watches until ctx ends.
func keepPace(ctx context.Context) *pace {
	p := &pace{beat: time.Now()}
	go func() {
		for ctx.Err() == nil {
			time.Sleep(time.Millisecond)
			p.mu.Lock()
			now := time.Now()
			if now.Sub(p.beat) > time.Millisecond+lateBeat {
				p.stalls = append(p.stalls, stall{p.beat, now})
			}
			p.beat = now
			p.mu.Unlock()
		}
	}()
	return p
}

// stood is the longest time, worth mentioning, that the process has not run since then.
func (p *pace) stood(since time.Time) (most time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.beat) > time.Millisecond+lateBeat {
		most = now.Sub(p.beat)
	}
	for _, s := range slices.Backward(p.stalls) {
		if s.to.Before(since) {
			break
		}
		most = max(most, s.to.Sub(s.from))
	}
	return most
}
