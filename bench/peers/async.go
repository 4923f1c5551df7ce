package main

import (
	"context"
	"sync"
	"time"
)

// driveAsync keeps one pair per caller in flight: the callback of one starts the next.
func driveAsync(contestant asyncContestant) loadDriver {
	return func(ctx context.Context, m *meter) error {
		var wg sync.WaitGroup
		for i := range m.callers {
			c := &m.callers[i]
			var done func(error)
			done = func(err error) {
				c.end(err)
				if err != nil {
					time.Sleep(pauseAfterFailure)
				}
				if m.is(stopped) {
					wg.Done()
					return
				}
				contestant.PairAsync(ctx, c.begin(), c.inside, done)
			}
			wg.Add(1)
			contestant.PairAsync(ctx, c.begin(), c.inside, done)
		}
		wg.Wait()
		return nil
	}
}
