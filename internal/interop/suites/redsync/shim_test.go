// Package redsync has the API of github.com/go-redsync/redsync/v4, by QuorumLocks of engines, for redsync's own tests. A pool has an engine of
// its own; a lock has a fixed lease, as there, and a value stands for a hold of this process.
package redsync

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"

	"github.com/wheellock/wheellock/engine"
)

// What is no lock is redsync's.
type (
	DelayFunc    = redsync.DelayFunc
	ErrTaken     = redsync.ErrTaken
	ErrNodeTaken = redsync.ErrNodeTaken
)

var (
	ErrFailed             = redsync.ErrFailed
	ErrExtendFailed       = redsync.ErrExtendFailed
	ErrLockAlreadyExpired = redsync.ErrLockAlreadyExpired
)

// Redsync makes locks on the majority of its pools.
type Redsync struct{ pools []redis.Pool }

func New(pools ...redis.Pool) *Redsync { return &Redsync{pools} }

// Option sets a field of a Mutex.
type Option func(*Mutex)

func WithExpiry(d time.Duration) Option { return func(m *Mutex) { m.expiry = d } }
func WithValue(v string) Option         { return func(m *Mutex) { m.value = v } }

// Mutex has the fields that the tests set or read.
type Mutex struct {
	name          string
	expiry        time.Duration // the lease
	tries         int
	delayFunc     DelayFunc // the tries with these pauses bound the wait
	genValueFunc  func() (string, error)
	value         string
	setNXOnExtend bool
	pools         []redis.Pool

	driftFactor, timeoutFactor float64 // are not heeded: the engine has its own margin and time-outs
	quorum                     int     // is not heeded: a QuorumLock needs the majority
}

func (r *Redsync) NewMutex(name string, opts ...Option) *Mutex {
	m := &Mutex{
		name: name, expiry: 8 * time.Second, tries: 32, genValueFunc: genValue, pools: r.pools, quorum: len(r.pools)/2 + 1,
		delayFunc: func(int) time.Duration { return 150 * time.Millisecond },
	}
	for _, o := range opts {
		o(m)
	}
	return m
}

var (
	mu     sync.Mutex                  // guards the rest
	holds  = map[string]*engine.Hold{} // by value
	values = map[string]string{}       // by the owner field of each part
)

func genValue() (string, error) {
	random := make([]byte, 16)
	_, err := rand.Read(random)
	return base64.StdEncoding.EncodeToString(random), err
}

func (m *Mutex) Value() string { return m.value }

func (m *Mutex) Lock() error {
	if m.tries == 1 {
		return m.TryLock()
	}
	var wait time.Duration
	for i := 1; i < m.tries; i++ {
		wait += m.delayFunc(i)
	}
	return m.take(func(q *engine.QuorumLock) (*engine.Hold, error) {
		return q.Lock(context.Background(), engine.WithLease(m.expiry), engine.WithWait(wait))
	})
}

func (m *Mutex) TryLock() error { return m.TryLockContext(context.Background()) }

func (m *Mutex) TryLockContext(ctx context.Context) error {
	return m.take(func(q *engine.QuorumLock) (*engine.Hold, error) { return q.TryLock(ctx, engine.WithLease(m.expiry)) })
}

func (m *Mutex) take(take func(*engine.QuorumLock) (*engine.Hold, error)) error {
	engines := make([]*engine.Engine, len(m.pools))
	for i, p := range m.pools {
		engines[i] = p.(*pool).e
	}
	q, err := engine.Quorum(m.name, engines...)
	if err != nil {
		return err
	}
	value, err := m.genValueFunc()
	if err != nil {
		return err
	}
	hold, err := take(q)
	switch {
	case errors.Is(err, engine.ErrHeld):
		return &ErrTaken{}
	case errors.Is(err, engine.ErrWaitTimeout):
		return ErrFailed
	case err != nil:
		return err
	}
	m.value = value
	mu.Lock()
	defer mu.Unlock()
	holds[value] = hold
	for owner := range strings.SplitSeq(hold.TenureID(), ",") {
		values[owner] = value
	}
	return nil
}

// hold is that of the value.
func (m *Mutex) hold() *engine.Hold {
	mu.Lock()
	defer mu.Unlock()
	return holds[m.value]
}

func (m *Mutex) Unlock() (bool, error) {
	hold := m.hold()
	if hold == nil {
		return false, ErrLockAlreadyExpired
	}
	err := hold.Unlock(context.Background())
	if errors.Is(err, engine.ErrLost) || errors.Is(err, engine.ErrUnlocked) {
		err = ErrLockAlreadyExpired
	}
	return err == nil, err
}

// Extend may take a lock that ended again, if setNXOnExtend is set.
func (m *Mutex) Extend() (bool, error) {
	hold := m.hold()
	if hold == nil {
		return false, ErrExtendFailed
	}
	err := hold.Extend(context.Background(), m.expiry)
	if errors.Is(err, engine.ErrLost) && m.setNXOnExtend {
		err = m.TryLock()
	}
	return err == nil, err
}

func (m *Mutex) Valid() (bool, error) {
	hold := m.hold()
	return hold != nil && hold.Err() == nil, nil
}
