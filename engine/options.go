package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/rueidis"

	"github.com/wheellock/wheellock/dispatcher/gate"
	"github.com/wheellock/wheellock/dispatcher/redisconn"
)

// Options say how an [Engine] works. The zero value works, against 127.0.0.1:6379. Printing or marshalling Options
// never shows a secret.
//
// The fields are grouped: the connection; leases and their renewal; waiting; bounds; safety against failover; and
// servers, messages and names. Leases are rounded up to whole milliseconds, the unit of Redis. Open reports every
// invalid field at once, as [ErrInvalid].
type Options struct {
	// Redis says how to connect. The engine honours InitAddress, Username, Password, AuthCredentialsFn, SelectDB,
	// ClientName, TLSConfig, Dialer, DialCtxFn, DialFn, ConnWriteTimeout, Sentinel, ShuffleInit and ForceSingleClient;
	// AlwaysPipelining, which has goroutines of the client read each connection; and AlwaysRESP2, for a server whose
	// RESP3 is not to be used (the engine itself detects a server without RESP3). DisableCache and DisableRetry are
	// what the engine sets anyway. Any other field that is set is an error, because the engine depends on its value.
	//
	// InitAddress names a server, or any nodes of a Redis Cluster; Open finds out which. Default 127.0.0.1:6379.
	// ForceSingleClient treats one node of a cluster as a single server. With Sentinel.MasterSet the addresses are
	// those of the sentinels. The engine listens to them and also asks them every two seconds, unless
	// Sentinel.TopologyRefreshInterval says otherwise. AuthCredentialsFn is asked for the sentinels, too, in place of
	// Sentinel.Username and Sentinel.Password: its argument has the address.
	Redis rueidis.ClientOption
	// Identity is the name of this process, for people: [Engine.Holder] and CLIENT LIST show it. It is a part of the names of the
	// connections, "<Redis.ClientName>/<Engine.ID>/<Identity>", and of nothing else: keys and owner fields are
	// Redisson's. Up to 128 visible ASCII characters, which is what Redis has in names; any other is [ErrInvalid].
	// Default: program@host:pid, with "_" in place of other characters. "-" for none: then the name is
	// Redis.ClientName alone, and Holder finds nothing.
	Identity string

	// Leases, and how they are renewed.

	// Lease is how long Redis keeps a lock that nobody renews: Redisson's lockWatchdogTimeout. Use one value in a
	// fleet. The watchdog renews every third of it. Whole milliseconds, 100ms to 30 days; default 30s.
	//
	// A lock that goes from process to process has a shorter first lease: at most 2s, which count from when its process last asked for the lock.
	// It is renewed after at most 50ms. If Redis stands still for longer than that lease in this moment, as for a fork or a
	// failover, the hold is lost, however long Lease is. See [Hold.Deadline].
	Lease time.Duration
	// MaxHold is how long a watched hold lasts at most. It then ends with [ErrMaxHold]. Default 0: no bound.
	MaxHold time.Duration
	// OnForgotten says what becomes of a hold that was forgotten: it was not unlocked, and the garbage collector has found that nothing refers to
	// it any more, so that nobody can. [TellForgotten] has the log, Stats.Forgotten and Observer.Forgotten tell of it, with the place of the call
	// that asked for the lock, and [ReleaseForgotten] has it unlocked then. Both do so when the watchdog renews the hold after that, a third of
	// Lease later at most: a hold WithLease ends by itself and is not told, nor is one that has ended, such as by Close. Of a lock of several
	// the hold of the whole is told, at a renewal of a member whose engine has the option, too.
	//
	// A context of the hold that is in use, or from which one in use was derived, keeps it, and so does a future that has it. The channels of
	// [Hold.Done] and [Hold.Wanted], and that of the Done of a context, do not: a goroutine that waits for such a channel alone, as in
	// <-hold.Context(ctx).Done(), and wants the lock held meanwhile needs runtime.KeepAlive behind that.
	//
	// Each hold costs about 300 bytes and a microsecond more. Default [IgnoreForgotten], which costs nothing.
	OnForgotten OnForgotten
	// FenceTTL is how long the counter of a fenced lock outlives its last new owner. Whole milliseconds, at least 1s;
	// default 0: for ever, as Redisson's. Tokens grow even after a counter has expired.
	FenceTTL time.Duration
	// HandoffTime is how long this process hands a lock, or the permits of a [Limit], on among its callers without asking Redis. After
	// that, other processes that wait for it get their turn. Default 10ms, or a tenth of Lease if that is shorter, which is
	// also the maximum; negative: never.
	HandoffTime time.Duration

	// Waiting.

	// PollCap is how long a waiter sleeps at most before it asks again, in case every message was lost. At least 10ms;
	// default 2s. Over 30s is as 30s: a place in line is forgotten a minute after the last question.
	PollCap time.Duration

	// AnswerTimeout is how long a call that does not wait for a lock waits for an answer of Redis if its context has no
	// deadline. That applies to TryLock and TryAcquire with their Async forms, Unlock, Extend, ForceUnlock, Inspect,
	// and the calls that change or count permits and latches. After it they fail with [ErrUncertain], and the engine
	// goes on by itself: it releases what was to be unlocked, or what a TryLock may have taken, until the lease has run
	// out. UnlockAsync and ReleaseAsync go on waiting, because their futures cost no goroutine.
	//
	// With Replicas it is longer by the time that the replicas have. It may be up to 25 ms late. At least 10ms; default
	// 1s, or a third of Lease if that is shorter; negative: no bound, so that a TryLock waits until the connection is
	// found dead, and an Unlock until the hold's Deadline.
	AnswerTimeout time.Duration

	// FairWaiterLease is how long the waiters of a process that died stay in the queues of fair locks, which is how
	// long they may delay the queue. While there are waiters, a third of it is the longest pause between two questions.
	// Whole milliseconds, 100ms to 1h; default 5s.
	FairWaiterLease time.Duration

	// Bounds. They apply to new requests only, never to unlocks.

	// MaxRequests is how many requests for locks may wait in the engine. One more fails with [ErrOverloaded]. Default
	// 262,144.
	MaxRequests int
	// MaxWaitersPerName is the same bound for one name. Default 131,072.
	MaxWaitersPerName int
	// Callbacks is how many workers run the callbacks of futures. A callback that has waited for 50 to 100 ms gets a
	// goroutine of its own. Default 256.
	Callbacks int

	// Safety against failover.

	// Replicas is the number of replicas that must acknowledge a grant before it counts, and a renewal before it moves
	// Deadline, even if fewer are connected (Redis' WAIT). A replica that acknowledged a lock still has it when it
	// takes over. So if every replica must acknowledge, no failover can lose a lock. If fewer must, a failover can
	// promote a replica that never had it.
	//
	// The replicas have a tenth of Lease, at most a second. A grant that too few acknowledged in that time is released
	// again: TryLock fails with [ErrNotReplicated], and Lock goes on asking for as long as it may wait. If too few
	// acknowledge the renewals of a hold it ends at its Deadline. Needs the right to WAIT. Default 0: the master's answer is
	// enough.
	//
	// [AllReplicas] stands for all that are connected when the lock is taken, also for none.
	Replicas int

	// Fsync is how long a server that writes an append-only file may take to have a grant on its disk before the grant
	// counts, and a renewal before it moves Deadline (Redis' WAITAOF). A lock that was confirmed so survives a crash of the
	// server. With "appendfsync always" that takes no longer than without; with "everysec" every grant waits for up to a
	// second; with "no" nothing is ever known to be on the disk, so nothing is granted. A grant that is not on disk in time is
	// treated as one that too few Replicas have, and the error is the same. Both may be set.
	//
	// Whole milliseconds, at most three quarters of Redis.ConnWriteTimeout, after which a silent connection counts as dead,
	// less what Replicas have: 1.5s with a Lease of 30s and no Replicas. Needs Redis 7.2 or newer with "appendonly yes", else Open fails with
	// ErrInvalid, and the right to WAITAOF. Default 0: the server's memory is enough.
	Fsync time.Duration

	// Servers, messages and names.

	// DeclaredKeysOnly lets no script touch a key that its call does not declare, for servers and proxies that refuse
	// that (Dragonfly, for one). By default a call in a cluster carries names of any hash slots of a node, and declares one
	// key; a node that is seen to refuse that gets calls of one hash slot by itself. With DeclaredKeysOnly each hash slot is a call, which
	// costs a master two to three times as much for each lock. Besides, by default the release of a read lock looks whether
	// the other readers of the lock are alive, at keys that only the script can know. Without that look, a reader that
	// leaves beside other readers leaves the lock to its TTL. Then, once a reader's process has died, or was cut off from
	// Redis for longer than its lease, writers wait until nobody has read for the longest lease of a reader. Nothing else
	// changes. Channels are not keys, and never declared. Default false.
	DeclaredKeysOnly bool

	// PubSub says which channels announce an unlock. Default [PubSubAuto]. All processes that share locks must use the
	// same kind.
	PubSub PubSub
	// WatchLoss makes Redis tell the engine within a round trip when the key of a held lock is deleted, by DEL,
	// FLUSHALL or a force-unlock. Without it the next renewal notices that, and so it does in the first 50ms of a lock that another
	// process has given to this one: its key is watched from its first renewal on. It costs a command per call, and memory in
	// Redis for each held key (client tracking). It needs RESP3 and the right to CLIENT TRACKING. Default false.
	WatchLoss bool
	// NameMapper makes the key of a name, as Redisson's NameMapper does; usually it puts a prefix before it. It must be
	// safe for concurrent use. Default nil: the key is the name.
	NameMapper func(name string) string
	// Observer is told of every grant, every failed call and the end of every hold. Default nil: nothing is observed,
	// and nothing is paid for it.
	Observer *Observer
	// Logger gets records of broken links, refused rights and writes, lost and forgotten locks and panics of callbacks, never of single calls. A lost lock is a
	// warning with its name, kind, how long it was held, to 0.1 s, and the cause; of more than ten in ten seconds the rest is one
	// record with their number; so is one that was forgotten, with where it was asked for. A fixed lease that runs out counts as lost, a hold that Close ends does not. Its handler runs on a goroutine of
	// its own: one that is slow, blocks or panics harms nothing. If 1,024 records wait, further ones are dropped, and the
	// handler is told how many. Close waits for the handler for at most 100 ms. Default nil: no records.
	Logger *slog.Logger
}

// AllReplicas as [Options].Replicas stands for every replica that is connected when the lock is taken. The master is asked with
// each batch of commands which those are, which needs the right to ROLE besides. A replica counts as connected once it has
// acknowledged anything: one that is still loading does not count.
//
// With no replica connected a lock is granted, as by Redisson's checkLockSyncedSlaves. So a master that a failover or a broken
// network has left without replicas goes on granting locks alone, and a failover can lose them. A number, or the server's
// min-replicas-to-write, prevents that.
//
// A replica that leaves holds up the grants that are under way for the time that replicas have. One that stands still lets
// nothing be granted until the master disconnects it (repl-timeout). Redisson is content when one of several has the lock.
const AllReplicas = redisconn.AllReplicas

// PubSub is the kind of Redis' channels for unlock messages. Plain and sharded channels are separate: all processes
// that share locks must use the same kind.
type PubSub uint8

// The kinds of channels.
const (
	PubSubAuto    PubSub = iota // Redisson's rule: sharded in a cluster that has it, else plain
	PubSubPlain                 // PUBLISH
	PubSubSharded               // SPUBLISH, Redis 7
	PubSubBoth                  // both, for processes that use different kinds
)

// publish is the kind as the scripts know it.
func (p PubSub) publish() string {
	return [...]string{"PUBLISH", "PUBLISH", "SPUBLISH", "BOTH"}[p]
}

// String names the kind.
func (p PubSub) String() string {
	names := [...]string{"auto", "plain", "sharded", "both"}
	if int(p) >= len(names) {
		return fmt.Sprintf("PubSub(%d)", p)
	}
	return names[p]
}

const (
	defaultLease       = 30 * time.Second // Redisson's
	minWatchedLease    = 100 * time.Millisecond
	defaultHandoffTime = 10 * time.Millisecond
	defaultPollCap     = 2 * time.Second

	defaultAnswerTimeout = time.Second

	defaultFairWaiterLease = 5 * time.Second
)

// withDefaults fills in what is zero and reports every complaint at once.
func (o Options) withDefaults() (Options, error) {
	var complaints []error
	require := func(good bool, format string, args ...any) {
		if !good {
			complaints = append(complaints, invalid(format, args...))
		}
	}
	o.Lease = orDefault(o.Lease, defaultLease)
	if o.Lease < minWatchedLease || o.Lease > MaxLease {
		require(false, "Lease %v: must be from %v to %v", o.Lease, minWatchedLease, MaxLease)
		o.Lease = defaultLease
	}
	o.Lease = gate.CeilMillis(o.Lease)
	o.FairWaiterLease = orDefault(o.FairWaiterLease, defaultFairWaiterLease)
	require(o.FairWaiterLease >= minWatchedLease && o.FairWaiterLease <= time.Hour, "FairWaiterLease %v: must be from %v to 1h", o.FairWaiterLease, minWatchedLease)
	o.FairWaiterLease = gate.CeilMillis(o.FairWaiterLease)
	o.HandoffTime = orDefault(o.HandoffTime, min(defaultHandoffTime, o.Lease/10))
	require(o.HandoffTime <= o.Lease/10, "HandoffTime %v: at most a tenth of Lease, %v", o.HandoffTime, o.Lease/10)
	o.AnswerTimeout = orDefault(o.AnswerTimeout, min(defaultAnswerTimeout, o.Lease/3))
	require(o.AnswerTimeout <= 0 || o.AnswerTimeout >= 10*time.Millisecond, "AnswerTimeout %v: at least 10ms, or negative for no bound", o.AnswerTimeout)
	o.PollCap = orDefault(o.PollCap, defaultPollCap)
	require(o.PollCap >= 10*time.Millisecond, "PollCap %v: at least 10ms", o.PollCap)
	require(o.MaxHold >= 0, "MaxHold %v: must not be negative", o.MaxHold)
	o.AnswerTimeout, o.PollCap, o.MaxHold = min(o.AnswerTimeout, longest), min(o.PollCap, longest), min(o.MaxHold, longest)
	require(o.FenceTTL == 0 || o.FenceTTL >= time.Second, "FenceTTL %v: at least 1s, or 0 for no end", o.FenceTTL)
	for _, bound := range []struct {
		name  string
		value *int
		usual int
	}{{"MaxRequests", &o.MaxRequests, 1 << 18}, {"MaxWaitersPerName", &o.MaxWaitersPerName, 1 << 17}, {"Callbacks", &o.Callbacks, 256}} {
		*bound.value = orDefault(*bound.value, bound.usual)
		require(*bound.value > 0, "%s %d: must be positive", bound.name, *bound.value)
	}
	require(o.Replicas >= AllReplicas, "Replicas %d: must not be negative, but for AllReplicas", o.Replicas)
	require(o.PubSub <= PubSubBoth, "PubSub %d: unknown", o.PubSub)
	require(o.OnForgotten <= ReleaseForgotten, "OnForgotten %d: unknown", o.OnForgotten)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Identity = orDefault(o.Identity, defaultIdentity())
	wrong := o.connection()
	if most := o.mostFsync(); wrong == nil {
		require(o.Fsync >= 0 && o.Fsync%time.Millisecond == 0 && o.Fsync <= most,
			"Fsync %v: must be whole milliseconds, at most %v with this Lease and Redis.ConnWriteTimeout", o.Fsync, most)
	}
	complaints = append(complaints, checkIdentity(o.Identity), wrong)
	return o, errors.Join(complaints...)
}

// patience is how long an answer is waited for; 0: as long as it takes.
func (o *Options) patience() time.Duration {
	switch {
	case o.AnswerTimeout < 0:
		return 0
	case o.Replicas != 0:
		return o.AnswerTimeout + o.replicaTime() + o.Fsync
	}
	return o.AnswerTimeout + o.Fsync
}

func orDefault[T comparable](value, usual T) T {
	var zero T
	if value == zero {
		return usual
	}
	return value
}

// String shows every field but functions, the Observer and the Logger, and of Redis only the addresses: no secret.
func (o Options) String() string {
	return fmt.Sprintf("{Redis:%v Identity:%s Lease:%v MaxHold:%v OnForgotten:%v FenceTTL:%v HandoffTime:%v PollCap:%v AnswerTimeout:%v FairWaiterLease:%v MaxRequests:%d MaxWaitersPerName:%d Callbacks:%d Replicas:%d Fsync:%v DeclaredKeysOnly:%t PubSub:%v WatchLoss:%t}",
		o.Redis.InitAddress, o.Identity, o.Lease, o.MaxHold, o.OnForgotten, o.FenceTTL, o.HandoffTime, o.PollCap, o.AnswerTimeout, o.FairWaiterLease, o.MaxRequests, o.MaxWaitersPerName, o.Callbacks, o.Replicas, o.Fsync, o.DeclaredKeysOnly, o.PubSub, o.WatchLoss)
}

// GoString is String: %#v shows no secret either.
func (o Options) GoString() string { return o.String() }

// Format is String for every verb.
func (o Options) Format(f fmt.State, _ rune) { fmt.Fprint(f, o.String()) }

// MarshalText is String, for JSON and others.
func (o Options) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// LogValue is String, for slog.
func (o Options) LogValue() slog.Value { return slog.StringValue(o.String()) }
