package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
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
// order. A server that restarts without its data within a lease forgets the part that it granted. It is not reentrant:
// [WithOwner] is [ErrInvalid]. Callers of one process queue in the process, and TryLock fails with [ErrHeld] at once while
// there are any, or one holds the lock. Processes ask again after random pauses, because no message can tell of a majority. If
// no majority granted it, the error Is ErrHeld if any server said that another owner has it, unless too many servers failed for
// reasons that do not pass.
type QuorumLock struct{ several }

// Quorum makes a lock on the majority of engines, which must be on different servers. It fails with [ErrInvalid] if
// there is no engine, if one is nil, or if two are on the same server, as far as the servers tell.
func Quorum(name string, engines ...*Engine) (*QuorumLock, error) {
	if len(engines) == 0 {
		return nil, invalid("a QuorumLock on no servers")
	}
	servers := make(map[string]bool)
	var members []Locker
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
		members = append(members, e.Mutex(name))
	}
	return &QuorumLock{several{handle{engines[0], name, quorumIndex}, members, len(engines)/2 + 1, (*severalCall).askServers}}, nil
}

// silence is how long a server may take to answer: a server that is cut off must not use up the lease that the others have
// granted.
func silence(lease time.Duration) time.Duration { return max(lease/10, 10*time.Millisecond) }

// answer is the answer of one server.
type answer struct {
	place int // of the server among the members
	hold  *Hold
	err   error
	end   time.Time // when a fixed lease was to end
}

// turn is the right to ask the servers, and then to hold the lock: one caller of this process has it at a time.
type turn struct {
	of    *turns
	name  string
	begin func() // called when the turn has come, by a goroutine of its own
}

// turns are the callers of an engine's QuorumLocks by name, in their order: the first has the turn.
type turns struct {
	mu     sync.Mutex
	queues map[string][]*turn
}

// enter joins the queue, and returns how many are before t. If there are any, a call that asks only once does not join.
func (t *turn) enter(once bool) (before int) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.of.queues == nil {
		t.of.queues = make(map[string][]*turn)
	}
	queue := t.of.queues[t.name]
	if once && len(queue) > 0 {
		return len(queue)
	}
	t.of.queues[t.name] = append(queue, t)
	if len(queue) == 0 {
		go t.begin()
	}
	return len(queue)
}

// leave takes t out of the queue, and the next caller may ask. waiting: only if the turn has not come. False: it is not taken out.
func (t *turn) leave(waiting bool) bool {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	queue := t.of.queues[t.name]
	i := slices.Index(queue, t)
	if i < 0 || waiting && i == 0 {
		return false
	}
	if queue = slices.Delete(queue, i, i+1); len(queue) == 0 {
		delete(t.of.queues, t.name)
		return true
	}
	t.of.queues[t.name] = queue
	if i == 0 {
		go queue[0].begin()
	}
	return true
}

// last has the turn left when h ends; nil: now.
func (t *turn) last(h *Hold) {
	if h == nil {
		t.leave(false)
		return
	}
	h.onEnd(func(error) { t.leave(false) })
}

// askServers asks the servers of a QuorumLock when its turn has come. While a majority has not answered, that costs a goroutine.
func (c *severalCall) askServers() {
	c.turn = &turn{&c.e.quorums, c.name, c.attempt}
	taken := &HeldError{Name: c.name, TTL: -1}
	switch before := c.turn.enter(c.once); {
	case before == 0:
	case c.once:
		c.settle(nil, taken)
	default:
		context.AfterFunc(c.asking, func() {
			if c.turn.leave(true) {
				c.last = taken
				c.settle(nil, c.over())
			}
		})
	}
}

// attempt asks the servers, again and again unless once.
func (c *severalCall) attempt() {
	switch h, err := c.majority(); {
	case err == nil:
		c.settle(h, nil)
	case c.once:
		c.settle(nil, err)
	default:
		c.pause(err, c.attempt)
	}
}

// majority asks every server once, under fresh owner ids. It returns as soon as a majority granted the lock or can no longer
// grant it. A later grant joins the Hold, or is given back. The end of ctx ends the questions until then and not
// afterwards: callers end their contexts when they have what they wanted, and the hold would lack the servers that are later.
func (c *severalCall) majority() (*Hold, error) {
	began, lease := time.Now(), c.demand.lease
	asking, stop := context.WithTimeout(context.WithoutCancel(c.ctx), silence(lease))
	undecided := context.AfterFunc(c.asking, stop)
	n := len(c.members)
	answers := make(chan answer, n)
	for i, l := range c.members {
		go func() {
			h, err := l.TryLock(asking, c.opts...)
			answers <- answer{i, h, err, began.Add(lease)}
		}()
	}
	parts, errs := make([]*Hold, n), make([]error, n) // of each server one of the two, or neither
	granted, refused := 0, 0
	for granted < c.need && refused <= n-c.need {
		a := <-answers
		parts[a.place], errs[a.place] = a.hold, a.err
		switch {
		case a.err == nil:
			granted++
			continue
		case errors.Is(a.err, context.Canceled): // by the end of ctx
			errs[a.place] = endedBy(c.asking)
		}
		refused++
	}
	inTime, left := undecided(), n-granted-refused
	if granted < c.need || !inTime {
		stop()
		giveBack(parts)
		late(answers, left, nil, stop)
		if granted < c.need {
			return nil, c.verdict(errs)
		}
		return nil, c.failed(endedBy(c.asking))
	}
	r := &repairs{of: c.several, fixed: c.demand.fixed, lease: lease, end: began.Add(lease), servers: make([]missing, n)}
	for i := range r.servers {
		r.servers[i].asked = began
	}
	h := c.whole(&composite{need: c.need, parts: parts, repairs: r})
	late(answers, left, h, stop)
	if h.Err() != nil { // the answers were too slow: the lease is already over
		return nil, c.tooLate(h)
	}
	for i, err := range errs {
		if err != nil {
			h.composite().miss(h, i, nil, err)
		}
	}
	return h, nil
}

// late takes up the answers that are still to come: a grant joins h while h lasts, and is given back otherwise.
func late(answers <-chan answer, n int, h *Hold, stop context.CancelFunc) {
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
func (s *several) verdict(errs []error) error {
	var said, final []error
	for _, err := range errs {
		if err == nil {
			continue
		}
		said = append(said, s.bare(err))
		if errors.Is(err, ErrClosed) || errors.Is(err, ErrInvalid) || errors.Is(err, ErrForeignKey) || errors.Is(err, ErrRefused) && !passing(err) {
			final = append(final, s.bare(err))
		}
	}
	if len(s.members)-len(final) < s.need {
		return s.failed(errors.Join(final...))
	}
	if i := slices.IndexFunc(errs, func(err error) bool { return errors.Is(err, ErrHeld) }); i >= 0 {
		return errs[i]
	}
	if !slices.ContainsFunc(said, passing) { // such as the end of the time that one server has
		said = append([]error{ErrUncertain}, said...)
	}
	return s.failed(errors.Join(said...))
}
