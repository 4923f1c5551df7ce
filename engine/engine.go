// Package engine is a distributed lock engine on Redis. It is asynchronous and compatible with Redisson: Java and Go
// services can share locks.
//
// Open one [Engine] for a process, take a lock by its name, and give it back:
//
//	e, err := engine.Open(ctx, engine.Options{})
//	...
//	hold, err := e.Mutex("stock:7").Lock(ctx)
//	...
//	defer hold.Unlock(ctx) // released even if ctx has ended, which bounds only the wait for the answer
//
// A lock is a handle such as [Mutex]; making one costs nothing and asks nobody. Lock waits, TryLock asks once, and the
// Async forms return a future. Each grant is a [Hold]. [Do] locks, calls a function and unlocks.
//
// Leases: a watchdog renews a hold every third of [Options].Lease until it is unlocked. [WithLease] gives a hold a
// fixed lease, which nobody renews. A hold that could not be renewed in time ends: its [Hold.Done] is closed, its
// [Hold.Err] says why, and its contexts ([Hold.Context]) end. All this happens before the lock is granted again,
// provided that clocks run at the same speed within 1 % and that Redis keeps its data. Give the work under a lock a
// context of the hold.
//
// Waiting: a context bounds a wait, and so does [WithWait], which costs no timer. A cancelled call leaves nothing
// behind: if its lock is granted too late, the engine passes it to the next waiter or releases it.
//
// Errors: test with errors.Is. [ErrHeld] means that another owner has the lock. The group [ErrUnavailable] means that
// Redis cannot serve the request. [ErrLost] means that a hold ended before its Unlock. [ErrInvalid], [ErrForeignKey]
// and [ErrDeadlock] are errors of the caller.
//
// What no lock on Redis can promise is in docs/GUARANTEES.md. Where the resource can compare numbers, use [Engine.FencedMutex]
// and send the token with every write.
package engine

import (
	"cmp"
	"container/list"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher"
	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
	"github.com/wheellock/wheellock/dispatcher/rediserr"
	"github.com/wheellock/wheellock/dispatcher/topology"
	"github.com/wheellock/wheellock/wheel"
)

// Engine takes locks on one Redis server, or on one Redis Cluster. Any goroutine may use it.
//
// One engine serves a whole process. It has up to eight connections for commands, of which it uses four where Redis is near, six
// with [Options].Replicas or Fsync; one for unlock messages, one for queries and one for each Observe of package elect; and
// a dozen goroutines, however many locks are held or waited for. In a cluster it has as many for each master.
// With a server that speaks only RESP2, each connection may open another one, which is idle.
type Engine struct {
	opts       Options
	uuid       string              // the first part of this engine's owner fields
	salt       string              // the last part of the owners of simple locks
	client     rueidis.Client      // in a cluster used only for queries
	cluster    *dispatcher.Cluster // nil: a single server, or a Sentinel's
	clock      *wheel.Clock
	dispatcher *dispatcher.Dispatcher
	suspects   suspects
	callbacks  callbacks
	log        *relay
	losses     rationed
	notes      notes
	overdue    rationed
	forgets    rationed
	risks      backlog[risk]
	calls      calls
	quorums    quorumQueues
	fast       sync.Map // *compositeCall: those that end when too much is out of reach
	servers    []string // the run_id of the server, or of all masters of a cluster, as far as they tell
	database   int      // on that server
	contexts   contexts
	waiting    gate.Counter // requests not answered yet
	overloaded gate.Counter // requests refused by MaxRequests
	forgotten  gate.Counter // holds that were forgotten

	replicaTime time.Duration // how long replicas have to get what is granted
	patience    time.Duration // AnswerTimeout, with the replicas' time; 0: no bound

	closing  context.Context // ends when Close has begun
	close    context.CancelFunc
	dialing  context.Context // ends when Close waits for no server any more
	endDials context.CancelFunc

	mu     sync.Mutex     // guards closed, and that direct calls are entered before it
	closed bool           // Close has begun
	direct sync.WaitGroup // calls that use the client without the dispatcher
	ended  chan struct{}  // closed when Close is done
}

// Open connects to Redis, loads the scripts and checks the rights of the user. ctx bounds only the connecting.
//
// The error says what to change. It Is [ErrInvalid] for options, [ErrNotSent] if no server could be reached,
// [ErrRefused] if the server refused the user or lacks a command, and [ErrUnavailable] in all of these cases but the
// first. A server that is loading its data is asked again until ctx ends.
func Open(ctx context.Context, opts Options) (*Engine, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{uuid: newUUID(), salt: rand.Text(), ended: make(chan struct{})}
	e.quorums.queues, e.quorums.wanted = make(map[string]*list.List), make(map[string]wish)
	e.closing, e.close = context.WithCancel(context.Background())
	e.dialing, e.endDials = context.WithCancel(context.Background())
	opts.Logger, e.log = relayTo(opts.Logger)
	if !e.log.discards() {
		e.losses = rationed{logger: opts.Logger, most: lossLines, more: "wheellock: more locks were lost"}
		e.overdue = rationed{logger: opts.Logger, most: 1, more: "wheellock: more renewals are overdue"}
		e.forgets = rationed{logger: opts.Logger, most: lossLines, more: "wheellock: more locks were forgotten"}
	}
	opts.Redis.ClientName = opts.connectionName(e.uuid)
	e.opts = opts
	e.suspects.install(&opts.Redis, opts.WatchLoss)
	watchDials(&opts.Redis, e.dialing)
	e.replicaTime, e.database = opts.replicaTime(), opts.Redis.SelectDB
	e.patience = opts.patience()
	e.opts.Redis = rueidis.ClientOption{InitAddress: opts.Redis.InitAddress} // no secrets where fmt could print them
	e.clock = wheel.NewClock()
	undo := context.AfterFunc(ctx, e.endDials)
	began := time.Now()
	loaded, err := e.reach(ctx, opts.Redis)
	if !undo() && err == nil { // it would dial no more
		e.disconnect()
		err = endedBy(ctx)
	}
	if errors.Is(err, ErrInvalid) {
		return nil, err
	} else if err != nil {
		announced := topology.Announced(err)
		if until, has := ctx.Deadline(); ctx.Err() == nil && !(has && time.Now().After(until)) { // a socket may tell of a deadline before ctx does
			err = rediserr.Silent(err, announced, time.Since(began))
		}
		return nil, connecting(&opts, err, announced)
	}
	if err := e.callbacks.open(opts.Callbacks, opts.Logger); err != nil {
		e.disconnect()
		return nil, fmt.Errorf("wheellock: callback pool: %w", err)
	}
	e.dispatcher = dispatcher.New(e.dispatcherConfig(), loaded)
	e.suspects.to.Store(e.dispatcher)
	return e, nil
}

// reach connects and prepares, again and again while the server is still loading its data.
func (e *Engine) reach(ctx context.Context, o rueidis.ClientOption) (*redisconn.Loaded, error) {
	var loading error // what the server said last
	for {
		loaded, err := e.prepare(ctx, o)
		switch {
		case err != nil && strings.Contains(err.Error(), "LOADING"):
			loading = err
		case err != nil && ctx.Err() != nil: // while it was asked once more
			return nil, errors.Join(err, loading)
		default:
			return loaded, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(endedBy(ctx), loading)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// prepare connects, loads the scripts and checks the rights.
func (e *Engine) prepare(ctx context.Context, o rueidis.ClientOption) (*redisconn.Loaded, error) {
	client, known, err := topology.Reach(ctx, o, connect)
	if err != nil {
		return nil, err
	}
	e.client, e.cluster, e.servers = client, nil, nil
	var loaded *redisconn.Loaded
	if known != nil {
		err = e.prepareCluster(ctx, o, known)
	} else if loaded, err = e.load(ctx, client, e.probeKey()); err == nil && !o.ForceSingleClient && topology.AtNode(ctx, client) {
		err = errUnseen
	}
	if err == nil {
		return loaded, nil
	}
	if _, said := rediserr.Said(err); said || errors.Is(err, ErrRefused) { // a server that did not answer is not asked once more
		if masters, is := topology.AtSentinel(ctx, client); is {
			err = fmt.Errorf("%w: it knows %s", errSentinel, strings.Join(masters, ", "))
		}
	}
	e.disconnect()
	return nil, err
}

// load loads the scripts into a server and checks the rights there: all of them, also if one is missing for loading. unused is a key that
// nobody uses, in a hash slot of the server's own.
func (e *Engine) load(ctx context.Context, client rueidis.Client, unused string) (*redisconn.Loaded, error) {
	loaded, err := redisconn.Load(ctx, client, e.clock)
	if err != nil && !rediserr.Lacking(err) {
		return nil, err
	}
	if e.cluster != nil {
		e.opts.choosePubSub(ctx, client)
	}
	e.servers = append(e.servers, runID(ctx, client)...)
	return loaded, cmp.Or(e.checkRights(ctx, client, unused), err)
}

// disconnect closes the clients, those too that the dispatcher would have owned.
func (e *Engine) disconnect() {
	if e.cluster != nil {
		for _, r := range e.cluster.Reached {
			r.Client.Close()
		}
	}
	e.client.Close()
}

// probeKey begins, or is, a key that nobody uses.
func (e *Engine) probeKey() string { return "wheellock:probe:" + e.uuid }

// runID returns the server's; nothing if the user lacks the right to INFO, or if the server is not Redis.
func runID(ctx context.Context, client rueidis.Client) []string {
	info, _ := client.Do(ctx, client.B().Info().Section("server").Build()).ToString()
	_, rest, _ := strings.Cut(info, "run_id:")
	if id, _, _ := strings.Cut(rest, "\r"); id != "" {
		return []string{id}
	}
	return nil
}

// onServerOf reports whether two engines are one, or on the same server as far as the servers tell.
func (e *Engine) onServerOf(other *Engine) bool {
	return e == other || slices.ContainsFunc(e.servers, func(id string) bool { return slices.Contains(other.servers, id) })
}

func (e *Engine) checkRights(ctx context.Context, client rueidis.Client, unused string) error {
	rights := redisconn.Rights{
		Client: client, Key: unused, UUID: e.uuid, Publish: e.opts.PubSub.publish(),
		Cluster: e.cluster != nil, Replicas: e.opts.Replicas, Fsync: e.opts.Fsync > 0, Declared: e.opts.DeclaredKeysOnly,
	}
	missing, err := rights.Find(ctx)
	if err != nil {
		return err
	}
	switch {
	case slices.Contains(missing.Absent, "waitaof"):
		return invalid("Fsync %v: the server has no WAITAOF, which Redis has since 7.2", e.opts.Fsync)
	case missing.Disk != "":
		return invalid("Fsync %v: %s", e.opts.Fsync, missing.Disk)
	}
	if err := missing.Err(); err != nil {
		return &failure{err.Error(), ErrRefused} // which is how connecting groups it
	}
	return nil
}

// newUUID is a random UUID of version 8, by which scripts tell an owner of ours from Redisson's, which have version 4.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Shutdown closes the engine gently. New requests and waiters get [ErrClosed]. Holds go on until they are unlocked or
// ctx ends. Then it calls Close. The error Is ctx's if holds were left, and nil if none were, also if ctx had ended before.
func (e *Engine) Shutdown(ctx context.Context) error {
	var err error
	e.quorums.close()
	select {
	case <-e.dispatcher.Drain():
	case <-ctx.Done():
		if e.dispatcher.Stats().Held.Load() > 0 {
			err = endedBy(ctx)
		}
	}
	return errors.Join(err, e.Close())
}

// Close ends everything at once. Waiters get [ErrClosed]. Holds end with [ErrLost] and ErrClosed, and then their keys
// are freed.
//
// Close returns when that is done. If Redis does not answer, it gives up after three seconds, and the leases run out;
// silent connections take two seconds more to close. So Close lasts five seconds at most, plus one if a timing wheel is
// stuck, plus 100 ms if the log handler is slow. A function of [Options].Redis that has not returned by then (DialFn, DialCtxFn,
// AuthCredentialsFn, those of TLSConfig) is left behind with its goroutine, and so it is when the context of Open ends. A panic in
// such a function ends the process, as in any goroutine. A second call
// waits for the first. Never call Close from inside a callback. The error is always nil.
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
	e.close()
	timer := time.AfterFunc(dispatcher.CloseTime, e.endDials)
	e.dispatcher.Close()
	e.notes.close()
	timer.Stop()
	e.endDials()
	e.client.Close()
	e.direct.Wait()
	e.callbacks.close()
	e.overdue.close()
	e.forgets.close()
	e.losses.close()
	e.log.flush()
	return nil
}

// ID returns the engine's id: the part before the colon in the owner fields of its locks in Redis, [Hold.TenureID]. Each
// engine has its own. [Engine.Holder] tells what is known of an id.
func (e *Engine) ID() string { return e.uuid }

// enter begins a call that uses the client without the dispatcher. False: the engine closes.
func (e *Engine) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.direct.Add(1)
	}
	return !e.closed
}

func (e *Engine) leave() { e.direct.Done() }

// Format is String for every verb. Without it fmt would look into the engine.
func (e *Engine) Format(f fmt.State, _ rune) { fmt.Fprint(f, e.String()) }

// String names the engine's ID and where it is connected to, and no secret.
func (e *Engine) String() string {
	return fmt.Sprintf("wheellock engine %s on %v", e.uuid, e.opts.Redis.InitAddress)
}

// MarshalText is String, for JSON and others.
func (e *Engine) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// LogValue is what String says, for slog.
func (e *Engine) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", e.uuid), slog.String("identity", e.opts.Identity), slog.Any("redis", e.opts.Redis.InitAddress))
}
