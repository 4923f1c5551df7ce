package engine

import (
	"context"
	"errors"
	"slices"
	"time"

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
// order. A server that restarts without its data within a lease forgets the part that it granted. It is not reentrant:
// [WithOwner] is [ErrInvalid]. Callers of one process queue in the process, and TryLock fails with [ErrHeld] at once while
// there are any, or one holds the lock. Processes wait for the part of one server, the first that can be reached, in its line
// (ARCHITECTURE.md), and ask the others when they have it: so list the servers in the same order in every process. If no majority granted
// it, the error Is ErrHeld if any server said that another owner has it, unless too many servers failed for reasons that do not pass.
type QuorumLock struct{ several }

// Quorum makes a lock on the majority of engines, which must be on different servers. It fails with [ErrInvalid] if
// there is no engine, if one is nil, or if two are on the same server, as far as the servers tell.
//
// [Open] fails while its server is down. So that a process can start then, one engine of an odd number may be left out: a majority of
// the others is one of all. Never leave out more, and not one of an even number: two majorities could miss each other.
func Quorum(name string, engines ...*Engine) (*QuorumLock, error) {
	return quorum(name, (*Engine).Mutex, engines)
}

// SimpleQuorum is Quorum of the SimpleMutexes of the name: its lock is that of redsync and node-redlock on the same servers.
func SimpleQuorum(name string, engines ...*Engine) (*QuorumLock, error) {
	return quorum(name, (*Engine).SimpleMutex, engines)
}

// quorum makes a QuorumLock of locks of this kind.
func quorum(name string, lockOf func(*Engine, string) *Mutex, engines []*Engine) (*QuorumLock, error) {
	if len(engines) == 0 {
		return nil, invalid("a QuorumLock on no servers")
	}
	var members []Locker
	for i, e := range engines {
		if e == nil {
			return nil, invalid("a QuorumLock with a nil engine")
		}
		if slices.ContainsFunc(engines[:i], e.onServerOf) {
			return nil, invalid("a QuorumLock with two engines on the same server")
		}
		m := lockOf(e, name)
		if _, err := e.key(name, m.kind.machine()); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return &QuorumLock{several{handle{engines[0], name, quorumIndex}, members, len(engines)/2 + 1, (*compositeCall).askInTurn}}, nil
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

// lookAfter is how often a call that waits in the line of a server looks whether that server can be reached.
const lookAfter = time.Second

// waitInLine waits for the part of the server that is at place, unless that server cannot be reached any more, and then asks the others.
func (c *compositeCall) waitInLine(place int) (*Hold, int, error) {
	waiting, stop := context.WithCancel(c.asking)
	defer stop()
	server := c.lock.members[place].(*Mutex)
	line := server.LockAsync(waiting, c.opts...) // it is answered soon when the time for asking ends
	for {
		look, end := context.WithTimeout(context.WithoutCancel(c.ctx), lookAfter)
		part, err := line.Wait(look)
		late := err != nil && look.Err() != nil
		end()
		switch {
		case late && (server.e.dispatcher.Up() || c.isAnswered(server)):
			continue
		case late:
			after(server.e, line).Then(func([]*Hold, error) {
				part, err := line.Result()
				c.takeLate(nil, answer{hold: part, err: err})
			})
			return c.askServers(nil)
		case err != nil && c.asking.Err() != nil:
			if end := (*unmet)(nil); errors.As(err, &end) {
				c.last = end.last
			}
			return nil, place, err
		default:
			return c.askServers(&answer{place: place, hold: part, err: err})
		}
	}
}

// isAnswered reports whether the server of a lock answers, though not all links of its engine work: in a cluster another node may be down.
// The end of the time for asking says nothing.
func (c *compositeCall) isAnswered(server *Mutex) bool {
	look, end := context.WithTimeout(c.asking, lookAfter)
	defer end()
	_, _, err := server.inspect(look, false)
	return c.asking.Err() != nil || look.Err() == nil && !errors.Is(err, ErrNotSent) && !errors.Is(err, ErrUncertain)
}

// askServers asks every server once, under fresh owner ids, but for the one of which the answer is known; nil: none is. It returns as soon as
// a majority granted the lock or can no longer grant it, and in the line of which server to wait. A later grant joins the Hold, or is given
// back. The end of ctx ends the questions until then and not afterwards: callers end their contexts when they have what they wanted, and the
// hold would lack the servers that are later.
func (c *compositeCall) askServers(known *answer) (h *Hold, place int, err error) {
	began, n, patience := time.Now(), len(c.lock.members), silence(c.demand.lease)
	if within := c.lock.e.answerTime(c.ctx); c.once && within > 0 {
		patience = min(patience, within)
	}
	asking, stop := context.WithTimeout(context.WithoutCancel(c.ctx), patience)
	undecided := context.AfterFunc(c.asking, stop)
	answers := make(chan answer, n)
	for i, l := range c.lock.members {
		if known != nil && i == known.place {
			known.end, place = began.Add(c.demand.lease), i
			answers <- *known
			continue
		}
		go func() {
			h, err := l.TryLock(asking, c.opts...)
			if c.asking.Err() != nil && errors.Is(err, context.Canceled) {
				err = endedBy(c.asking)
			}
			answers <- answer{i, h, err, began.Add(c.demand.lease)}
		}()
	}
	parts, errs := make([]*Hold, n), make([]error, n) // of each server one of the two, or neither
	granted, refused := 0, 0
	for granted < c.lock.need && refused <= n-c.lock.need {
		a := <-answers
		if parts[a.place], errs[a.place] = a.hold, a.err; a.err == nil {
			granted++
		} else {
			refused++
		}
	}
	switch inTime := undecided(); {
	case granted < c.lock.need:
		c.giveBack(parts)
		err = c.lock.verdict(errs)
	case !inTime:
		c.giveBack(parts)
		err = c.lock.failed(endedBy(c.asking))
	default:
		h, err = c.granted(began, parts, errs)
	}
	late := futures.New[struct{}](&c.lock.e.callbacks, nil)
	switch {
	case err == nil:
	case c.once: // the error is told when what the others grant is free, too
		c.releasing(late.Future())
		time.AfterFunc(c.lock.e.freeTime()/overdueShare, stop)
	default:
		stop()
	}
	if errors.Is(err, ErrHeld) {
		place = lineFrom(place, errs)
	}
	go func() {
		defer stop()
		for range n - granted - refused {
			c.takeLate(h, <-answers)
		}
		late.Settle(struct{}{}, nil)
	}()
	return h, place, err
}

// lineFrom is the first server from place on that did not fail. One did not, as it said that another has the lock. One that has not answered
// yet counts as well, so that all processes wait in the same line.
func lineFrom(place int, errs []error) int {
	for {
		place %= len(errs)
		if err := errs[place]; err == nil || errors.Is(err, ErrHeld) {
			return place
		}
		place++
	}
}

// granted makes the Hold of the parts that a majority has granted. The other servers are asked again.
func (c *compositeCall) granted(began time.Time, parts []*Hold, errs []error) (*Hold, error) {
	notes := slices.DeleteFunc(slices.Clone(c.opts), func(o LockOption) bool { return o.which != noteOption })
	r := &repairs{of: c.lock, opts: notes, fixed: c.demand.fixed, lease: c.demand.lease, end: began.Add(c.demand.lease), servers: make([]missing, len(parts))}
	for i := range r.servers {
		r.servers[i].asked = began
	}
	h, err := c.lock.whole(parts, r, c.dropping)
	if err != nil {
		return nil, err
	}
	for i, err := range errs {
		if err != nil {
			h.composite().setMissing(h, i, nil, err)
		}
	}
	return h, nil
}

// takeLate takes up an answer that has come after the majority's: a grant joins h while h lasts, and is given back otherwise, or if h is nil.
func (c *compositeCall) takeLate(h *Hold, a answer) {
	if h != nil {
		h.composite().answered(h, a)
	} else {
		c.giveBack([]*Hold{a.hold})
	}
}

// verdict returns the error if no majority was reached: ErrHeld if any server said so, unless so many servers failed for
// reasons that do not pass, or refused one request more, that the call is to fail at once. A server that did not answer in time counts as uncertain.
func (s *several) verdict(errs []error) error {
	var said, final []error
	for _, err := range errs {
		if err == nil {
			continue
		}
		said = append(said, s.bare(err))
		if errors.Is(err, ErrClosed) || errors.Is(err, ErrInvalid) || errors.Is(err, ErrForeignKey) || errors.Is(err, ErrOverloaded) || errors.Is(err, ErrRefused) && !passing(err) {
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
