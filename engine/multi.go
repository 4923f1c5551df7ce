package engine

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/wheellock/wheellock/futures"
)

// MultiLock is several locks that are taken together, all or nothing, as Redisson's RedissonMultiLock. Its name is the names
// of the members, with commas between. It asks all members at once without waiting. If one is taken, it gives the others back, waits for
// that one in line, as other callers do, and asks for the others, the first eight and then more at a time, while it has it. If one of these is
// taken, it waits for that one, too, and keeps those whose names come before it. So MultiLocks of one program do not wait for each other, in
// whatever order they name their members.
//
// A member that does not come within the call's patience has it give back what it has and go on waiting, with nothing. The patience is
// 125 to 250 ms and doubles each time, up to 32 s, and is at most half of what is left of a fixed lease or of [Options].MaxHold. It bounds how
// long a MultiLock may keep a name from others while it waits, and how long a call and others that have what it waits for, and wait for what
// it has, keep each other waiting. It bounds the call's wait, too: if nobody waits in the line of any member for more than 125 ms, the
// MultiLock has its turn within the sum of these waits, and within ten times their sum if nobody waits for more than 16 s. With
// [WithLease] the lease counts from the last member on, and MaxHold from the first.
//
// Its Hold ends with the first of its parts; the others are then given back. Members may be of any kind and of several engines. Those of a
// MultiLock among them are members.
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
	var members []Locker
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
		if m, nested := l.(*MultiLock); nested {
			members = append(members, m.members...)
		} else {
			members = append(members, l)
		}
	}
	slices.SortStableFunc(members, byName)
	whole := handle{members[0].home(), strings.Join(names, ","), multiIndex}
	return &MultiLock{several{whole, members, len(members), (*compositeCall).askAll}}, nil
}

// byName is the order in which members are waited for: of one name, that of their servers' addresses.
func byName(a, b Locker) int {
	one, other := &a.home().opts.Redis, &b.home().opts.Redis
	return cmp.Or(strings.Compare(a.Name(), b.Name()), slices.Compare(one.InitAddress, other.InitAddress), cmp.Compare(one.SelectDB, other.SelectDB))
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

// askAll asks all members of a MultiLock, when it has none of them.
func (c *compositeCall) askAll() { c.askRest(make([]*Hold, len(c.lock.members)), len(c.lock.members)) }

// fewMembers are asked first by a call that has waited for one: of many more others may have some, and then most would be taken, and kept from
// others, in vain, each time anew. If all are granted, twice as many are asked next.
const fewMembers = 8

// askRest asks the members of which holds has none, the first of them, without waiting.
func (c *compositeCall) askRest(holds []*Hold, most int) {
	var answers []*futures.Future[*Hold]
	for i, member := range c.lock.members {
		if holds[i] == nil && len(answers) < most {
			answers = append(answers, member.TryLockAsync(c.asking, c.opts...))
		}
	}
	after(c.lock.e, answers...).Then(func([]*Hold, error) { c.answered(holds, answers) })
}

// answered reads the answers of the first members that holds lacked, and has the call wait for the first that was not granted, or answers it if
// there is one with which it is no use to wait. It keeps members before that one only, so that calls for the same members do not wait for each other. A
// call that has not waited yet keeps none: if one name is taken for long, the others stay free.
func (c *compositeCall) answered(holds []*Hold, answers []*futures.Future[*Hold]) {
	var refusal error
	refused, keeps := 0, len(answers) < len(holds)
	unread := answers
	for i, h := range holds {
		if h != nil || len(unread) == 0 {
			continue
		}
		h, err := unread[0].Result()
		holds[i], unread = h, unread[1:]
		if err != nil && (refusal == nil || !passing(err) && passing(refusal)) {
			refused, refusal = i, err
		}
	}
	switch {
	case refusal != nil:
	case slices.Contains(holds, nil):
		c.askRest(holds, 2*len(answers))
		return
	default:
		c.complete(holds)
		return
	}
	if c.ctx.Err() == nil && (c.asking.Err() == nil || passing(refusal)) { // else it may come from a member that was not asked any more
		c.last = refusal
	}
	final := c.final(refusal)
	if !keeps || final != nil {
		c.giveBack(holds)
	} else {
		c.giveBack(holds[refused:])
		c.kept = c.kept || refused > 0
	}
	if final != nil {
		c.settle(nil, final)
	} else {
		c.waitFor(refused, holds)
	}
}

// waitFor waits in line for a member, and then asks for the rest. If that member is slow to come, the call gives back what it has, and goes on
// waiting.
func (c *compositeCall) waitFor(i int, holds []*Hold) {
	had := slices.Clone(holds)
	answer := c.lock.members[i].LockAsync(c.ctx, c.waitOptions()...)
	slow := time.AfterFunc(c.patience(holds), func() { c.giveBack(had) })
	after(c.lock.e, answer).Then(func([]*Hold, error) {
		if !slow.Stop() {
			clear(holds)
			c.tries++
		}
		held, err := answer.Result()
		if err != nil {
			if over := (*unmet)(nil); errors.As(err, &over) {
				over.wait = c.demand.wait // of which the member's is the rest
			}
			c.giveBack(holds)
			c.settle(nil, err)
			return
		}
		holds[i] = held
		c.askRest(holds, fewMembers)
	})
}

// The shortest and the longest patience, and how much of what is left of a fixed lease it may use up.
const (
	leastPatience = 125 * time.Millisecond
	mostDoubled   = 7 // to 16 s
	leaseShare    = 2
)

// patience is how long the call keeps the members that it has while it waits for another one: a random time, so that two calls that wait for
// each other do not both give up, up to twice the least, which doubles each time that it was too short. Of a fixed lease, and of MaxHold, a
// part is left in any case.
func (c *compositeCall) patience(holds []*Hold) time.Duration {
	least := leastPatience << min(c.tries, mostDoubled)
	patience := least + rand.N(least)
	for _, h := range holds {
		if h != nil && (c.demand.fixed || h.e.opts.MaxHold > 0) {
			patience = min(patience, time.Until(h.Deadline())/leaseShare)
		}
	}
	return patience
}

// complete answers the call with the Hold of all members. Those that came before others have less left of a fixed lease: it counts anew.
func (c *compositeCall) complete(holds []*Hold) {
	h, err := c.lock.whole(holds, nil, c.dropping)
	if err == nil && c.demand.fixed && c.kept {
		if err = h.Extend(c.ctx, c.demand.lease); err != nil {
			c.giveBack([]*Hold{h})
		}
	}
	if err == nil {
		c.settle(h, nil)
	} else if final := c.final(err); final != nil {
		c.settle(nil, final)
	} else {
		c.pause(err)
		c.askAll()
	}
}

// waitOptions are those of the wait for one member. After the end of the wait a minimal one is left.
func (c *compositeCall) waitOptions() []LockOption {
	if c.end.IsZero() {
		return c.opts
	}
	return append(slices.Clone(c.opts), WithWait(max(time.Until(c.end), time.Nanosecond)))
}
