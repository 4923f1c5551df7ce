// Package engine is a distributed lock engine on Redis: asynchronous, and compatible with Redisson.
//
//	e, err := engine.Open(ctx, engine.Options{})
//	hold, err := e.Mutex("stock:7").Lock(ctx)
//	defer hold.Unlock(context.Background())
//
// An Engine (engine.go, options.go, names.go, connection.go, cluster.go, url.go) hands out locks by name: Mutex (mutex.go),
// RWMutex (rwmutex.go), and what stands beside them in files of their own names. A blocking call waits on a call
// that is used again (call.go); an Async form is a request with a future (request.go), whose callbacks run on a pool
// (callbacks.go). A call or a request goes to the dispatcher and becomes, when granted, a Hold (hold.go; endings.go says
// who hears of its end). What can go wrong is in errors.go, what stands in Redis in state.go, what was counted in
// stats.go. Log records are handed to the user's handler by a goroutine of their own (logging.go).
//
// A held lock is renewed by the watchdog until it is unlocked, unless WithLease gives it a fixed lease. A
// hold that could not be renewed ends, and its contexts with it, before anybody else can have the lock:
// under the assumption that clocks run at the same speed within 1 % and that Redis keeps its data. What no
// lock on Redis can promise stands in README.md.
package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/internal/gate"
	"github.com/wheellock/wheellock/wheel"
)

// Engine takes locks on one Redis, or one Redis Cluster. Any goroutine may use it. One engine serves a whole process:
// it has up to three connections for commands, one for unlock messages and one for questions, and a handful of
// goroutines whatever is held or waits; in a cluster so many for each master. With a server that speaks RESP2 alone each
// connection may bring another one along, which is idle.
type Engine struct {
	opts       Options
	uuid       string              // the first part of our owner fields
	client     rueidis.Client      // of a cluster, for queries alone
	cluster    *dispatcher.Cluster // nil: a single server, or a Sentinel's
	clock      *wheel.Clock
	dispatcher *dispatcher.Dispatcher
	suspects   suspects
	callbacks  callbacks
	log        *relay
	calls      calls
	quorums    quorumQueues
	servers    []string // the run_id of the server, or of those of a cluster, as far as they tell
	database   int      // there
	contexts   contexts
	stats      gate.Stats
	waiting    gate.Counter // requests not answered yet
	overloaded gate.Counter // requests turned away by MaxRequests

	replicaTime time.Duration // how long replicas have to get what is granted
	patience    time.Duration // AnswerTimeout, with the replicas' time; 0: no bound

	mu     sync.Mutex     // guards closed, and that direct calls are entered before it
	closed bool           // Close has begun
	direct sync.WaitGroup // calls that use the client past the dispatcher
	ended  chan struct{}  // closed when Close is done
}

// Open connects to Redis, loads the scripts and checks the rights of the user. ctx bounds connecting only.
// The errors say what to fix: ErrInvalid for options, ErrUnavailable and its group for Redis.
func Open(ctx context.Context, opts Options) (*Engine, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{uuid: newUUID(), ended: make(chan struct{})}
	opts.Logger, e.log = relayTo(opts.Logger)
	e.opts = opts
	if opts.WatchLoss {
		e.suspects.ask(&opts.Redis)
	}
	e.replicaTime, e.database = opts.replicaTime(), opts.Redis.SelectDB
	e.patience = opts.patience()
	e.opts.Redis = rueidis.ClientOption{InitAddress: opts.Redis.InitAddress} // no secrets where fmt finds them
	e.clock = wheel.NewClock()
	loaded, err := e.reach(ctx, opts.Redis)
	if err != nil {
		return nil, connecting(&opts, err)
	}
	if err := e.callbacks.open(opts.Callbacks, opts.Logger); err != nil {
		e.disconnect()
		return nil, fmt.Errorf("wheellock: callback pool: %w", err)
	}
	e.dispatcher = dispatcher.New(e.dispatcherConfig(), loaded)
	e.suspects.tell(e.dispatcher)
	return e, nil
}

func (e *Engine) dispatcherConfig() dispatcher.Config {
	o := &e.opts
	return dispatcher.Config{
		Client: e.client, Cluster: e.cluster, Clock: e.clock, Logger: o.Logger, UUID: e.uuid,
		Replicas: o.Replicas, ReplicaTime: e.replicaTime,
		Publish: o.PubSub.publish(), WatchLoss: o.WatchLoss, FenceTTL: o.FenceTTL, MaxPerName: o.MaxWaitersPerName, ProbeTime: o.Lease / 3,
		Declared: o.DeclaredKeysOnly,
		Gate: &gate.Config{
			UUID: e.uuid, FairWaiterLease: o.FairWaiterLease,
			Lease: o.Lease, HandoffTime: max(o.HandoffTime, 0), PollCap: o.PollCap, Echo: o.PubSub.echo(), MaxHold: o.MaxHold, Stats: &e.stats,
		},
	}
}

// reach connects and prepares, again and again while the server is still loading its data.
func (e *Engine) reach(ctx context.Context, o rueidis.ClientOption) (*redisconn.Loaded, error) {
	for {
		loaded, err := e.prepare(ctx, o)
		if err == nil || !strings.Contains(err.Error(), "LOADING") {
			return loaded, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(endedBy(ctx), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// prepare connects, loads the scripts and checks the rights.
func (e *Engine) prepare(ctx context.Context, o rueidis.ClientOption) (*redisconn.Loaded, error) {
	client, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	e.client, e.cluster, e.servers = client, nil, nil
	var loaded *redisconn.Loaded
	if client.Mode() == rueidis.ClientModeCluster {
		loaded, err = e.prepareCluster(ctx, o)
	} else if loaded, err = redisconn.Load(ctx, client, e.clock); err == nil {
		e.identify(ctx, client)
		if err = e.checkRights(ctx, client, loaded); err == nil && !o.ForceSingleClient && ofCluster(ctx, client) {
			err = errUnseen
		}
	}
	if err != nil {
		e.disconnect()
		return nil, err
	}
	return loaded, nil
}

// disconnect closes what was to become the dispatcher's.
func (e *Engine) disconnect() {
	if e.cluster != nil {
		for _, r := range e.cluster.Reached {
			r.Client.Close()
		}
	}
	e.client.Close()
}

// identify notes who the server says it is; it does not for want of a right, or because it is no Redis.
func (e *Engine) identify(ctx context.Context, client rueidis.Client) {
	info, _ := client.Do(ctx, client.B().Info().Section("server").Build()).ToString()
	_, rest, _ := strings.Cut(info, "run_id:")
	if id, _, _ := strings.Cut(rest, "\r"); id != "" {
		e.servers = append(e.servers, id)
	}
}

func (e *Engine) checkRights(ctx context.Context, client rueidis.Client, loaded *redisconn.Loaded) error {
	rights := redisconn.Rights{
		Client: client, Loaded: loaded, UUID: e.uuid, Publish: e.opts.PubSub.publish(),
		Cluster: e.cluster != nil, Wait: e.opts.Replicas > 0, Declared: e.opts.DeclaredKeysOnly,
	}
	missing, err := rights.Find(ctx)
	if err != nil {
		return err
	}
	if err := missing.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return nil
}

// newUUID is a random UUID, version 4, as Redisson's client id.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Shutdown closes gently: new requests and waiters get ErrClosed, holds go on until they are unlocked or
// ctx ends; then Close. Its error is ctx's when holds were left.
func (e *Engine) Shutdown(ctx context.Context) error {
	var err error
	select {
	case <-e.dispatcher.Drain():
	case <-ctx.Done():
		err = endedBy(ctx)
	}
	return errors.Join(err, e.Close())
}

// Close ends everything at once: waiters get ErrClosed, holds end with ErrLost and ErrClosed, then their
// keys are freed. It returns when that is done. When Redis does not answer it gives up after three seconds, and the
// leases run out; connections on which nothing comes take two more to close. So it lasts for five seconds at most, but
// for a timing wheel that is stuck (one more) and a log handler that is slow (100 ms). It may be called again, and waits
// for the first call. Never call it from inside a callback.
func (e *Engine) Close() error {
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	e.mu.Unlock()
	if !first {
		<-e.ended
		return nil
	}
	defer close(e.ended)
	e.dispatcher.Close()
	e.client.Close()
	e.direct.Wait()
	e.callbacks.close()
	e.log.flush()
	return nil
}

// enter begins a call that uses the client past the dispatcher. False: the engine closes.
func (e *Engine) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.direct.Add(1)
	}
	return !e.closed
}

func (e *Engine) leave() { e.direct.Done() }

// Format shows where the engine is connected to, and no secret, for every verb.
func (e *Engine) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "wheellock engine %s on %v", e.uuid, e.opts.Redis.InitAddress)
}
