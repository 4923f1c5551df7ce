package faults_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/internal/redisnet"
	"github.com/wheellock/wheellock/internal/testkit"
	"github.com/wheellock/wheellock/internal/virtual"
)

// blackHoles are the ways in which nothing passes for a time; what is held arrives afterwards.
var blackHoles = []func(l *redisnet.Link, until time.Time){
	func(l *redisnet.Link, until time.Time) { l.Up.Hold(until); l.Down.Hold(until) },
	func(l *redisnet.Link, until time.Time) { l.Up.Hold(until) },
	func(l *redisnet.Link, until time.Time) { l.Down.Hold(until) },
	func(l *redisnet.Link, until time.Time) { l.Up.Lose(until); l.Down.Lose(until) },
}

// A holder that Redis cannot be reached from is told before anybody else is granted the lock, each time, at whatever moment between two
// renewals nothing passes any more. The margin is 1 % of the lease, here 10 ms,
// however long answers take. A fixed lease is not outlived either.
func TestFaultBlackHoledHolderIsToldFirst(t *testing.T) {
	t.Parallel()
	smallest := time.Hour
	times := testkit.Times(t, 1000, 25)
	virtual.Seeds(t, times, func(w *virtual.World, random *rand.Rand) {
		e, l := w.Connect(testkit.Lease(time.Second))
		trip := time.Duration(random.Int64N(int64(50 * time.Millisecond)))
		l.Mend(func() time.Duration { return trip })
		var opts []engine.LockOption
		if random.IntN(4) == 0 {
			opts = append(opts, engine.WithLease(time.Second))
		}
		h := testkit.MustLock(w.T, e.Mutex("partitioned"), opts...)
		var told time.Time
		ended := make(chan struct{})
		go func() { <-h.Done(); told = time.Now(); close(ended) }()
		time.Sleep(time.Duration(random.Int64N(int64(700 * time.Millisecond)))) // two renewals come in this time
		blackHoles[random.IntN(len(blackHoles))](l, time.Now().Add(5*time.Second))
		for !w.Try("partitioned", time.Minute) { // the contender, at the first moment
			time.Sleep(max(100*time.Microsecond, time.Duration(w.Server.Do("PTTL", "partitioned").Int-1)*time.Millisecond))
		}
		if h.Err() == nil || !testkit.Ended(h) {
			w.T.Fatalf("granted to another before the hold was told; its error is %v", h.Err())
		}
		<-ended
		smallest = min(smallest, time.Since(told))
		if err := h.Err(); !testkit.IsAny(err, engine.ErrLost) {
			w.T.Errorf("the hold ended with %v", err)
		}
		time.Sleep(10 * time.Second)
		if got := w.Owners("partitioned"); len(got) == 0 || got[0] != virtual.Outsider {
			w.T.Errorf("it was taken from the contender by %q", got)
		}
		w.Free("partitioned")
		w.Quiet(e, 0)
	})
	t.Logf("%d holders were told before the contender was granted, the last of them %v before", times, smallest)
}
