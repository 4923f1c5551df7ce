package rivals

import (
	"context"
	"time"
)

// reserve is the part of the lease that a careful user does not rely on: 1 %, as redsync's drift factor.
const reserve = 100

// keep is what a careful user writes around a lock that nobody renews. It refreshes every third of the lease, soon
// again after an error, and ends work when the refresh is refused or, whatever the network does, when the time is
// over that the last good one was sure to give. refresh tells that time.
func keep(work context.Context, end context.CancelFunc, until time.Time, lease time.Duration,
	refresh func(context.Context) (time.Time, error), refused func(error) bool) {
	over := time.AfterFunc(time.Until(until), end)
	defer over.Stop()
	wait := time.NewTimer(lease / 3)
	defer wait.Stop()
	for {
		select {
		case <-work.Done():
			return
		case <-wait.C:
		}
		ctx, cancel := context.WithDeadline(work, until)
		next, err := refresh(ctx)
		cancel()
		switch {
		case err == nil:
			until = next
			over.Reset(time.Until(until))
			wait.Reset(lease / 3)
		case refused(err):
			end()
			return
		default:
			wait.Reset(lease / 30)
		}
	}
}
