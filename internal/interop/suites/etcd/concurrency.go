// Package concurrency has the API of etcd's package of that name, by an engine and package elect, for etcd's tests. A session is an engine:
// its end ends what it holds and waits for. There is no session without its client, no lease of a session, and no transaction.
package concurrency

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/engine"
	"github.com/wheellock/wheellock/engine/elect"
	"github.com/wheellock/wheellock/internal/interop/suites/etcd/clientv3"
	"github.com/wheellock/wheellock/internal/interop/suites/servers"
)

// Errors as etcd's.
var (
	ErrLocked           = errors.New("taken by another session")
	ErrSessionExpired   = errors.New("the session has ended")
	ErrLockReleased     = errors.New("not locked")
	ErrElectionNoLeader = errors.New("nobody leads")
)

// Session is one owner of locks.
type Session struct {
	e *engine.Engine

	mu    sync.Mutex           // guards terms
	terms map[string]*campaign // of this session, by the name of the election
}

func NewSession(client *clientv3.Client) (*Session, error) {
	e, err := servers.Open(rueidis.ClientOption{InitAddress: client.Endpoints})
	return &Session{e: e, terms: make(map[string]*campaign)}, err
}

func (s *Session) Close() error { return s.e.Close() }

// Mutex is a lock of a session.
type Mutex struct {
	mutex *engine.Mutex
	hold  *engine.Hold // nil: not locked
}

func NewMutex(s *Session, prefix string) *Mutex { return &Mutex{mutex: s.e.Mutex(prefix)} }

func (m *Mutex) Lock(ctx context.Context) (err error) {
	m.hold, err = m.mutex.Lock(ctx)
	if errors.Is(err, engine.ErrClosed) {
		return ErrSessionExpired
	}
	return err
}

func (m *Mutex) TryLock(ctx context.Context) (err error) {
	m.hold, err = m.mutex.TryLock(ctx)
	if errors.Is(err, engine.ErrHeld) {
		return ErrLocked
	}
	return err
}

func (m *Mutex) Unlock(ctx context.Context) error {
	if m.hold == nil {
		return ErrLockReleased
	}
	err := m.hold.Unlock(ctx)
	if errors.Is(err, engine.ErrUnlocked) {
		return ErrLockReleased
	}
	return err
}

// Election is one that a session stands for.
type Election struct {
	s    *Session
	name string
}

func NewElection(s *Session, prefix string) *Election { return &Election{s, prefix} }

// ResumeElection finds the campaign in the session.
func ResumeElection(s *Session, prefix, _ string, _ int64) *Election { return &Election{s, prefix} }

// campaign runs until stop; it has led when over is closed, or failed.
type campaign struct {
	stop context.CancelFunc
	over chan struct{}
	err  error // why it is over; set before
}

// Campaign waits until the session leads. Then it leads until Resign.
func (e *Election) Campaign(ctx context.Context, value string) error {
	run, stop := context.WithCancel(context.Background())
	c := &campaign{stop: stop, over: make(chan struct{})}
	leads := make(chan struct{})
	go func() {
		defer close(c.over)
		c.err = elect.New(e.s.e, e.name, elect.Options{Identity: value}).Run(run, func(ctx context.Context, _ int64) error {
			close(leads)
			<-ctx.Done()
			stop() // a lost term is no leadership any more
			return ctx.Err()
		})
	}()
	select {
	case <-leads:
	case <-c.over:
		return c.err
	case <-ctx.Done():
		stop()
		<-c.over
		return ctx.Err()
	}
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	e.s.terms[e.name] = c
	return nil
}

func (e *Election) Resign(context.Context) error {
	e.s.mu.Lock()
	c := e.s.terms[e.name]
	delete(e.s.terms, e.name)
	e.s.mu.Unlock()
	if c != nil {
		c.stop()
		<-c.over
	}
	return nil
}

func (e *Election) view() *elect.Election { return elect.New(e.s.e, e.name, elect.Options{}) }

func (e *Election) Leader(ctx context.Context) (*clientv3.GetResponse, error) {
	leader, err := e.view().Leader(ctx)
	if errors.Is(err, elect.ErrNoLeader) {
		return nil, ErrElectionNoLeader
	}
	return e.response(leader), err
}

func (e *Election) Observe(ctx context.Context) <-chan *clientv3.GetResponse {
	seen := make(chan *clientv3.GetResponse)
	go func() {
		defer close(seen)
		for leader := range e.view().Observe(ctx) {
			select {
			case seen <- e.response(leader):
			case <-ctx.Done():
				return
			}
		}
	}()
	return seen
}

func (e *Election) response(l elect.Leader) *clientv3.GetResponse {
	return &clientv3.GetResponse{Kvs: []*clientv3.KeyValue{{Key: []byte(e.name), Value: []byte(l.Identity), CreateRevision: l.Term}}}
}
