package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/futures"
)

// QuorumLock is a lock that is held on the majority of several independent Redis servers (Redlock; Redisson's
// RedissonRedLock). It stays available while a minority is down or cut off. It asks all servers at once. It is held if
// a majority granted it and the lease of that majority, less a margin for clocks, is not over. Each server's part is
// renewed by its own engine; the Hold is lost when the majority is.
//
// A Hold repairs itself: a server that was late, down or held by another owner, or has lost its part since, is asked for it
// once in a third of the lease, for as long as the Hold has its majority; for a part that it has lost, not before all other parts
// were due for a renewal, so that a majority which forgot at once ends the Hold. Until then the Hold
// stands on fewer servers. On a bare majority, two of three, it is exactly as safe, but the loss of one more server ends
// it. [Hold.Parts] and [Observer].Part say on how many servers it stands. Only servers that have their part now count for
// Err, Deadline, Unlock and Extend. With [WithLease] no part is asked for beyond the lease of the Hold, and a part that was
// lost is missed only when its lease is over or with [Options].WatchLoss, because nobody renews it. MaxHold counts from the
// grant of the Hold. To free a lock by force, force it on a majority of the servers within a third of the lease: a part that
// is freed alone is taken again.
//
// It is no safer against pauses than a Mutex. It has no fencing token, because tokens of several servers have no common
// order. A server that restarts without its data within a lease forgets the part that it granted. It is not reentrant.
// Callers of one process queue in the process, and waiting costs a goroutine. Processes ask again after random pauses,
// because no message can tell of a majority.
type QuorumLock struct {
	handle
	engines []*Engine
}

// Quorum makes a lock on the majority of engines, which must be on different servers. It fails with [ErrInvalid] if
// there is no engine, if one is nil, or if two are on the same server, as far as the servers tell.
func Quorum(name string, engines ...*Engine) (*QuorumLock, error) {
	if len(engines) == 0 {
		return nil, invalid("a QuorumLock on no servers")
	}
	servers := make(map[string]bool)
	for _, e := range engines {
		if e == nil {
			return nil, invalid("a QuorumLock with a nil engine")
		}
		for _, id := range append(e.servers[:len(e.servers):len(e.servers)], e.uuid) { // if the server does not tell, at least no engine may appear twice
			if servers[id] {
				return nil, invalid("a QuorumLock with two engines on the same server")
			}
			servers[id] = true
		}
		if _, err := e.key(name, gate.MutexKind); err != nil {
			return nil, err
		}
	}
	return &QuorumLock{handle{engines[0], name, quorumIndex}, append([]*Engine(nil), engines...)}, nil
}

func (q *QuorumLock) keys() (all []lockKey, err error) {
	for _, e := range q.engines {
		key, err := e.key(q.name, gate.MutexKind)
		if err != nil {
			return nil, err
		}
		all = append(all, lockKey{e, key})
	}
	return all, nil
}

// Kind returns [KindQuorum].
func (q *QuorumLock) Kind() Kind { return KindQuorum }

func (q *QuorumLock) need() int { return len(q.engines)/2 + 1 }

// Lock waits until a majority is held. Leases, cancellation and errors are as with [Mutex.Lock]; [WithOwner] is
// [ErrInvalid].
func (q *QuorumLock) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	o := q.observe(opts)
	h, err := q.lock(ctx, opts)
	return q.returned(ctx, &o, h, err)
}

func (q *QuorumLock) lock(ctx context.Context, opts []LockOption) (*Hold, error) {
	d, err := q.check(ctx, opts, false)
	if err != nil {
		return nil, err
	}
	opts = append(withoutWait(opts), asPart)
	if d.wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d.wait, quorumWait(d.wait))
		defer cancel()
	}
	turn, err := q.turn(ctx)
	if err != nil {
		return nil, err
	}
	refused := error(ErrUnavailable)
	for try := 0; ; try++ {
		h, err := q.attempt(ctx, d, opts)
		if err == nil {
			turn.passAfter(h)
			return h, nil
		}
		if ctx.Err() == nil {
			refused = err
		}
		if ctx.Err() == nil && passing(err) {
			err = backOff(ctx, try, err)
		}
		if err != nil && (ctx.Err() != nil || !passing(err)) {
			turn.pass()
			return nil, q.gaveUp(ctx, err, refused)
		}
	}
}

// quorumWait is the cause with which the context of a Lock WithWait ends.
type quorumWait time.Duration

func (q quorumWait) Error() string {
	return fmt.Sprintf("wheellock: wait of %v over", time.Duration(q))
}

// gaveUp is the error of a Lock that ends with err after it was last refused with another.
func (q *QuorumLock) gaveUp(ctx context.Context, err, refused error) error {
	wait, over := context.Cause(ctx).(quorumWait)
	switch {
	case over:
		err = ErrWaitTimeout
	case ctx.Err() != nil:
		err = endedBy(ctx)
	default:
		return q.failed(err)
	}
	return q.failed(unmetAfter(err, refused, time.Duration(wait)))
}

// TryLock asks every server once and does not wait. While this process holds the lock or callers of it wait, it fails
// with [ErrHeld] at once. If no majority granted it, the error Is ErrHeld if any server said that another owner has it,
// unless too many servers failed for reasons that do not pass. Other errors are as with [Mutex.TryLock].
func (q *QuorumLock) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	o := q.observe(opts)
	h, err := q.tryLock(ctx, opts)
	return q.returned(ctx, &o, h, err)
}

func (q *QuorumLock) tryLock(ctx context.Context, opts []LockOption) (*Hold, error) {
	d, err := q.check(ctx, opts, true)
	if err != nil {
		return nil, err
	}
	turn, free := q.tryTurn()
	if !free {
		return nil, &HeldError{Name: q.name, TTL: -1}
	}
	h, err := q.attempt(ctx, d, append(slices.Clip(opts), asPart))
	if err != nil {
		turn.pass()
		return nil, err
	}
	turn.passAfter(h)
	return h, nil
}

// LockAsync is Lock on a goroutine of its own. The end of ctx and the future's Cancel abandon it.
func (q *QuorumLock) LockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return inBackground(ctx, q.e, func(ctx context.Context) (*Hold, error) { return q.Lock(ctx, opts...) })
}

// TryLockAsync is TryLock on a goroutine of its own. Cancellation is as with LockAsync.
func (q *QuorumLock) TryLockAsync(ctx context.Context, opts ...LockOption) *futures.Future[*Hold] {
	return inBackground(ctx, q.e, func(ctx context.Context) (*Hold, error) { return q.TryLock(ctx, opts...) })
}

func (q *QuorumLock) check(ctx context.Context, opts []LockOption, try bool) (demand, error) {
	d, err := q.e.opts.read(opts, try, q.kind)
	if err == nil && ctx.Err() != nil {
		err = endedBy(ctx)
	}
	if err != nil {
		err = q.failed(err)
	}
	return d, err
}

// silence is how long a server may take to answer: a server that is cut off must not use up the lease that the others have
// granted.
func silence(lease time.Duration) time.Duration { return max(lease/10, 10*time.Millisecond) }

// answer is the answer of one server.
type answer struct {
	place int // of the server in q.engines
	hold  *Hold
	err   error
	end   time.Time // when a fixed lease was to end
}

// attempt asks every server once, under fresh owner ids. It returns as soon as a majority granted the lock or can no longer
// grant it. A later grant joins the Hold, or is given back. The end of ctx ends the questions until then and not
// afterwards: callers end their contexts when they have what they wanted, and the hold would lack the servers that are later.
func (q *QuorumLock) attempt(ctx context.Context, d demand, opts []LockOption) (*Hold, error) {
	began := time.Now()
	asking, stop := context.WithTimeout(context.WithoutCancel(ctx), silence(d.lease))
	undecided := context.AfterFunc(ctx, stop)
	n := len(q.engines)
	answers := make(chan answer, n)
	for i, e := range q.engines {
		go func() {
			h, err := e.Mutex(q.name).TryLock(asking, opts...)
			answers <- answer{i, h, err, began.Add(d.lease)}
		}()
	}
	parts, errs := make([]*Hold, n), make([]error, n) // of each server one of the two, or neither
	granted, refused := 0, 0
	for granted < q.need() && refused <= n-q.need() {
		a := <-answers
		parts[a.place], errs[a.place] = a.hold, a.err
		switch {
		case a.err == nil:
			granted++
			continue
		case errors.Is(a.err, context.Canceled): // by the end of ctx
			errs[a.place] = q.failed(endedBy(ctx))
		}
		refused++
	}
	inTime, left := undecided(), n-granted-refused
	if granted < q.need() || !inTime {
		stop()
		giveBack(parts)
		q.takeLate(answers, left, nil, stop)
		if granted < q.need() {
			return nil, q.verdict(errs)
		}
		return nil, q.failed(endedBy(ctx))
	}
	c := &composite{need: q.need(), parts: parts, repairs: &repairs{q: q, fixed: d.fixed, lease: d.lease, end: began.Add(d.lease), servers: make([]missing, n)}}
	for i := range c.repairs.servers {
		c.repairs.servers[i].asked = began
	}
	h := q.whole(c)
	q.takeLate(answers, left, h, stop)
	if h.Err() != nil { // the answers were too slow: the lease is already over
		return nil, &opError{doing: "lock", name: q.name, err: errTooLate, words: "the lease was over before a majority had answered: ask with a longer lease"}
	}
	for i, err := range errs {
		if err != nil {
			c.setMissing(h, i, nil, err)
		}
	}
	return h, nil
}

// takeLate takes the answers that are still to come: a grant joins h while h lasts, and is given back otherwise.
func (q *QuorumLock) takeLate(answers <-chan answer, n int, h *Hold, stop context.CancelFunc) {
	if n == 0 {
		stop()
		return
	}
	go func() {
		defer stop()
		for range n {
			a := <-answers
			if h != nil {
				h.composite().answered(h, a)
			} else if a.err == nil {
				a.hold.UnlockAsync()
			}
		}
	}()
}

// verdict returns the error if no majority was reached: ErrHeld if any server said so, unless so many servers failed for
// reasons that do not pass that asking again is useless. A server that did not answer in time counts as uncertain.
func (q *QuorumLock) verdict(errs []error) error {
	var final []error
	for _, err := range errs {
		if errors.Is(err, ErrClosed) || errors.Is(err, ErrInvalid) || errors.Is(err, ErrForeignKey) || errors.Is(err, ErrRefused) && !passing(err) {
			final = append(final, err)
		}
	}
	if len(q.engines)-len(final) < q.need() {
		return errors.Join(final...)
	}
	for _, err := range errs {
		if errors.Is(err, ErrHeld) {
			return err
		}
	}
	if !slices.ContainsFunc(errs, passing) { // such as the end of the time that one server has
		errs = append([]error{ErrUncertain}, errs...)
	}
	return q.failed(errors.Join(errs...))
}
