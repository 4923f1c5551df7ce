package engine

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/futures"
)

// MultiLock is several locks that are taken together, all or nothing, as Redisson's RedissonMultiLock. Its name is the names
// of the members, with commas between. It asks all members at once without waiting. If one is taken, it gives the others back, waits for
// that one, and asks for the others again while it has it. So it never holds some members while it waits for others, and two MultiLocks
// of the same members in any order cannot deadlock.
//
// Its Hold ends when the first of its parts is lost; the others are then given back. Members may be of any kind and of
// several engines.
type MultiLock struct{ several }

// lockKey is a key that a lock locks. No two members of a MultiLock may have the same one.
type lockKey struct {
	e   *Engine
	key string
}

// same reports whether two keys are one in Redis, as far as the servers tell: through one engine, or through two on the
// same database of the same server.
func (l lockKey) same(other lockKey) bool {
	if l.key != other.key || l.e == other.e {
		return l == other
	}
	return l.e.database == other.e.database && l.e.onServerOf(other.e)
}

// Multi makes one lock of several. It fails with [ErrInvalid] if there is none, if one is nil, or if two lock the same
// key, because such a MultiLock would wait for itself.
//
// Two engines on one database of one server are recognised by the run_id that the server told each of them at Open.
// They are not recognised if the user may not run INFO, if the server has no run_id because it is not Redis, or if the
// server was restarted or another became the master between the two calls of Open.
func Multi(locks ...Locker) (*MultiLock, error) {
	if len(locks) == 0 {
		return nil, invalid("a MultiLock of no locks")
	}
	seen := make(map[string][]lockKey)
	names := make([]string, len(locks))
	for i, l := range locks {
		if l == nil || reflect.ValueOf(l).IsZero() { // also a nil *Mutex
			return nil, invalid("a MultiLock with a nil member")
		}
		keys, err := l.keys()
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			if slices.ContainsFunc(seen[k.key], k.same) {
				return nil, invalid("a MultiLock with %s twice", quote(k.key))
			}
			seen[k.key] = append(seen[k.key], k)
		}
		names[i] = l.Name()
	}
	members := slices.Clone(locks)
	slices.SortStableFunc(members, func(a, b Locker) int { return strings.Compare(a.Name(), b.Name()) })
	whole := handle{members[0].home(), strings.Join(names, ","), multiIndex}
	return &MultiLock{several{whole, members, len(members), (*compositeCall).askAll}}, nil
}

// All makes one lock of the Mutexes of many names, such as all accounts of a transfer. It is [Multi] of e.Mutex of each name,
// and fails as that does. What is asked of many names at once goes to Redis in few script calls: one for each 128 names, in a cluster of each
// master.
func (e *Engine) All(names ...string) (*MultiLock, error) {
	locks := make([]Locker, len(names))
	for i, name := range names {
		locks[i] = e.Mutex(name)
	}
	return Multi(locks...)
}

// askAll asks all members of a MultiLock.
func (c *compositeCall) askAll() { c.askOthers(-1, nil) }

// askOthers asks all members but the first, which is held already if it is not -1.
func (c *compositeCall) askOthers(first int, held *Hold) {
	var answers []*futures.Future[*Hold]
	for i, l := range c.lock.members {
		if i != first {
			answers = append(answers, l.TryLockAsync(c.asking, c.opts...))
		}
	}
	after(c.lock.e, answers...).Then(func([]*Hold, error) { c.answered(first, held, answers) })
}

// answered reads the answers of all members. In case one was not granted, the others are given back.
func (c *compositeCall) answered(first int, held *Hold, answers []*futures.Future[*Hold]) {
	var holds []*Hold
	var err error
	refused := -1 // the first member that was not granted, or the first with which it is no use to wait
	for i := range c.lock.members {
		h, failed := held, error(nil)
		if i != first {
			h, failed = answers[0].Result()
			answers = answers[1:]
		}
		if failed == nil {
			holds = append(holds, h)
		} else if refused < 0 || !passing(failed) && passing(err) {
			refused, err = i, failed
		}
	}
	if err != nil {
		giveBack(holds)
		c.refused(refused, err)
		return
	}
	if h, err := c.lock.whole(holds, nil); err == nil || c.once {
		c.settle(h, err)
	} else {
		c.pause(err, c.askAll)
	}
}

// refused goes on after a member was not granted: the call waits for that member, and then asks for the others.
func (c *compositeCall) refused(member int, err error) {
	switch {
	case c.once:
		c.settle(nil, err)
		return
	case c.ctx.Err() != nil: // err may come from a member that was not asked any more
		c.settle(nil, c.over())
		return
	case c.asking.Err() == nil || passing(err):
		c.last = err
	}
	c.pause(err, func() {
		answer := c.lock.members[member].LockAsync(c.ctx, c.waitOptions()...)
		after(c.lock.e, answer).Then(func([]*Hold, error) {
			if held, err := answer.Result(); err != nil {
				if over := (*unmet)(nil); errors.As(err, &over) {
					over.wait = c.demand.wait // of which the member's is the rest
				}
				c.settle(nil, err)
			} else {
				c.askOthers(member, held)
			}
		})
	})
}

// waitOptions are those of the wait for one member. After the end of the wait a minimal one is left.
func (c *compositeCall) waitOptions() []LockOption {
	if c.end.IsZero() {
		return c.opts
	}
	return append(slices.Clone(c.opts), WithWait(max(time.Until(c.end), time.Nanosecond)))
}
