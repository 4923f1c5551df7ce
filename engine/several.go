package engine

import (
	"container/list"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/wheellock/wheellock/futures"
)

// several is a lock that consists of others: it is held while at least need of its members are.
type several struct {
	handle
	members []Locker
	need    int
	ask     func(*compositeCall) // asks the members, from the beginning
}

func (s *several) keys() (all []lockKey, err error) {
	for _, l := range s.members {
		keys, err := l.keys()
		if err != nil {
			return nil, err
		}
		all = append(all, keys...)
	}
	return all, nil
}

// Kind returns [KindMulti] or [KindQuorum].
func (s *several) Kind() Kind { return s.kind.text() }

// Lock waits until the lock is held. opts apply to every member, [WithWait] to the whole call. Leases, cancellation and
// errors are as with [Mutex.Lock], with the errors of the members that were asked last.
func (s *several) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return s.block(ctx, false, opts)
}

// TryLock asks every member once and does not wait. If too few were granted, it gives them back, and the error is of a
// member that was not, as with [Mutex.TryLock].
func (s *several) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return s.block(ctx, true, opts)
}

// LockAsync is Lock without blocking. A waiting future costs no goroutine, but for one for each name of a QuorumLock. The end of ctx and
// the future's Cancel abandon it.
func (s *several) LockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return observed(s.observe(opts), s.start(ctx, false, opts), nil)
}

// TryLockAsync is TryLock without blocking. Cancellation is as with LockAsync.
func (s *several) TryLockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return observed(s.observe(opts), s.start(ctx, true, opts), nil)
}

// block is a call that waits. A hold that has come goes back if ctx has ended meanwhile.
func (s *several) block(ctx context.Context, once bool, opts []LockOption) (*Hold, error) {
	o := s.observe(opts)
	h, err := s.start(ctx, once, opts).Wait(context.Background()) // ctx ends the call itself
	if err == nil && ctx.Err() != nil {
		soon, stop := context.WithTimeout(context.Background(), s.e.freeTime()/overdueShare)
		h.Unlock(soon)
		stop()
		h, err = nil, s.failed(endedBy(ctx))
	}
	o.notifyDone(h, err)
	return h, err
}

// compositeCall is one call for several, from the call to its answer. No goroutine waits for it: the one that has the last answer
// of the members asks the next question.
type compositeCall struct {
	lock    *several
	once    bool // it does not wait
	demand  demand
	opts    []LockOption    // for members
	ctx     context.Context // ends with the caller's, by Cancel, and when the call is settled
	asking  context.Context // ends with the wait besides: a silent server must not prolong it
	stop    context.CancelFunc
	end     time.Time // of the wait; zero: it has none
	began   time.Time
	tries   int
	last    error // the last answer of any member
	promise futures.Promise[*Hold]
	place   *list.Element // in the queue of a QuorumLock's calls, whose mutex guards it; nil: it has none
	links   *links        // with WithFailFast; else nil
	kept    bool          // a MultiLock kept members while it waited for others

	dropping *dropping // of the hold; nil: it is not watched

	mu       sync.Mutex                  // guards the rest
	releases []*futures.Future[struct{}] // without an answer
}

// start makes the call; once: it does not wait.
func (s *several) start(ctx context.Context, once bool, opts []LockOption) *futures.Future[*Hold] {
	d, err := s.e.opts.read(opts, once, s.kind)
	if err == nil && ctx.Err() != nil {
		err = endedBy(ctx)
	}
	if err != nil {
		return futures.Settled[*Hold](&s.e.callbacks, nil, s.failed(err))
	}
	if !once && s.waitsFor(above(ctx), d.owner) {
		return futures.Settled[*Hold](&s.e.callbacks, nil, s.selfWait("lock"))
	}
	c := &compositeCall{lock: s, once: once, demand: d, opts: s.forParts(opts), last: ErrUnavailable, began: time.Now(), dropping: s.e.watchDropping(d.part)}
	if d.fast && !once {
		ctx = c.watchLinks(ctx)
	}
	c.ctx, c.stop = context.WithCancel(ctx)
	c.asking = c.ctx
	if d.wait > 0 {
		c.end = time.Now().Add(d.wait)
		asking, ended := context.WithDeadline(c.ctx, c.end)
		cancel := c.stop
		c.asking, c.stop = asking, func() { ended(); cancel() }
	}
	c.promise.Init(&s.e.callbacks, c)
	c.endIfCutOff()
	s.ask(c)
	return c.promise.Future()
}

// forParts are the options of the questions to members. The calls of a QuorumLock have a queue of their own.
func (s *several) forParts(opts []LockOption) []LockOption {
	return append(slices.DeleteFunc(slices.Clone(opts), func(o LockOption) bool {
		return o.which == waitOption || o.which == queueOption && s.kind == quorumIndex
	}), asPart)
}

// Cancelled implements futures.Canceler. What is granted afterwards is given back.
func (c *compositeCall) Cancelled() { c.stop() }

// giveBack unlocks holds that the call does not keep, and forgets them. It does not wait for the answers.
func (c *compositeCall) giveBack(holds []*Hold) {
	var releases []*futures.Future[struct{}]
	for i, h := range holds {
		if h != nil {
			releases = append(releases, h.UnlockAsync())
			holds[i] = nil
		}
	}
	c.releasing(releases...)
}

// releasing adds to the releases that have no answer yet, and returns them.
func (c *compositeCall) releasing(more ...*futures.Future[struct{}]) []*futures.Future[struct{}] {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.releases = slices.DeleteFunc(append(c.releases, more...), func(f *futures.Future[struct{}]) bool {
		_, err := f.Result()
		return err != futures.ErrPending
	})
	return slices.Clone(c.releases)
}

// overdueShare is the part of AnswerTimeout for which a call waits for its releases when its own time is over.
const overdueShare = 10

// freeTime is how long a call waits at most, from its beginning, until what it has given back is free.
func (e *Engine) freeTime() time.Duration { return orDefault(e.patience, defaultAnswerTimeout) }

// awaitReleases returns when what the call has given back is free, or was not in time.
func (c *compositeCall) awaitReleases() {
	releases := c.releasing()
	if len(releases) == 0 {
		return
	}
	most := c.lock.e.freeTime()
	least := most / overdueShare
	inTime, stop := context.WithTimeout(context.Background(), max(least, most-time.Since(c.began)))
	defer stop()
	defer context.AfterFunc(c.asking, func() { time.AfterFunc(least, stop) })()
	for ; len(releases) > 0 && inTime.Err() == nil; releases = c.releasing() {
		futures.All(releases...).Wait(inTime)
	}
}

// settle answers the call. An error is told when what the call had is free.
func (c *compositeCall) settle(h *Hold, err error) {
	if err != nil && c.wasCutOff() {
		err = c.lock.failed(ErrNotSent)
	}
	if err != nil {
		c.awaitReleases()
	}
	c.stop()
	c.forgetLinks()
	if c.lock.kind == quorumIndex {
		c.passTurn(h)
	}
	if !c.promise.Settle(h.handOut(), err) && h != nil {
		h.UnlockAsync()
	}
}

// over is the error of a call if its context, or its wait, has ended; nil: neither has.
func (c *compositeCall) over() error {
	switch {
	case c.ctx.Err() != nil:
		return c.lock.failed(c.lock.unmetAfter(endedBy(c.ctx), c.last, 0))
	case c.asking.Err() != nil:
		return c.lock.failed(c.lock.unmetAfter(ErrWaitTimeout, c.last, c.demand.wait))
	}
	return nil
}

// final is the error with which the call ends after a member said err; nil: it goes on, for members may be asked again.
func (c *compositeCall) final(err error) error {
	over := c.over()
	switch {
	case c.once || over == nil && !passing(err):
		return err
	case over != nil:
		return over
	}
	c.last = err
	return nil
}

// pause waits until the members may be asked again, or until the end of the wait.
func (c *compositeCall) pause(err error) {
	c.tries++
	pause, stop := context.WithTimeout(c.asking, backOffTime(c.tries-1, err))
	defer stop()
	<-pause.Done()
}

// backOffTime is a random time that grows with the tries, so that two callers that collided do not collide again: up to
// 80 ms if another owner had the lock, and up to 160 ms after any other error.
func backOffTime(try int, last error) time.Duration {
	longest := time.Millisecond << min(try, 7)
	if errors.Is(last, ErrHeld) {
		longest = min(longest, 64*time.Millisecond)
	}
	return longest/4 + time.Duration(rand.Int64N(int64(longest)))
}

// passing reports whether a member that said err is worth waiting for.
func passing(err error) bool {
	return errors.Is(err, ErrHeld) || errors.Is(err, ErrNotSent) || errors.Is(err, ErrUncertain) ||
		errors.Is(err, ErrNotReplicated) || errors.Is(err, errPasses)
}
