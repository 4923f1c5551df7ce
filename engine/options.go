package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/rueidis"
)

// Options say how an Engine works. The zero value works, against 127.0.0.1:6379. Printing or marshalling it
// never shows a secret.
type Options struct {
	// Redis says how to connect. Honoured are InitAddress, Username, Password, AuthCredentialsFn, SelectDB,
	// ClientName, TLSConfig, Dialer, DialCtxFn, DialFn, ConnWriteTimeout, Sentinel, ShuffleInit, ForceSingleClient, and
	// AlwaysPipelining, which has connections read by goroutines of their own; AlwaysRESP2 for a server whose RESP3 is
	// not to be used (that it has none is found out); DisableCache and DisableRetry are what the engine sets anyway. Any
	// other field that is set is an error: the engine depends on its value.
	//
	// InitAddress names a server, or any nodes of a Redis Cluster: which it is Open finds out by itself. A single node
	// of a cluster is taken for a server with ForceSingleClient. With Sentinel.MasterSet they are the sentinels, who
	// are asked every two seconds besides what they tell, unless Sentinel.TopologyRefreshInterval says otherwise.
	Redis rueidis.ClientOption

	// Lease is how long Redis keeps a lock that nobody renews any more: Redisson's lockWatchdogTimeout, and
	// like it one value per fleet. Renewed every third of it. Whole milliseconds, 100ms to 30 days; default 30s.
	Lease time.Duration
	// MaxHold is how long a watched hold lasts at most; it then ends with ErrMaxHold. Default 0: no bound.
	MaxHold time.Duration
	// FenceTTL is how long the counter of a fenced lock outlives its last new owner, in whole milliseconds.
	// Default 0: for ever, as Redisson's. Tokens grow also after a counter has expired.
	FenceTTL time.Duration
	// HandoffTime is how long a lock is handed on inside this process without asking Redis. Other processes
	// that listen for the lock get it afterwards. Default 10ms, at most a tenth of Lease; negative: never.
	HandoffTime time.Duration
	// PollCap is how long a waiter sleeps at most before it asks again, should every message be lost. Default 2s.
	PollCap time.Duration

	// AnswerTimeout is how long calls that do not wait for a lock wait for an answer of Redis when their context has no
	// deadline: TryLock, TryAcquire, also Async; Unlock, Extend, ForceUnlock, Inspect, and what changes or counts permits
	// and latches. Then they fail with ErrUncertain, and the engine goes on by itself: it releases what was to be unlocked,
	// or what a TryLock may have taken, until the lease has run out. UnlockAsync and ReleaseAsync go on waiting: their
	// futures cost no goroutine. With Replicas it is so much longer as these have. It is up to 25 ms late. Default 1s, or
	// a third of Lease when that is shorter; negative: no bound, so that a TryLock waits until the connection is found
	// dead, and an Unlock until the hold's Deadline.
	AnswerTimeout time.Duration

	// FairWaiterLease is how long waiters of a process that died stand in the queues of fair locks, and so for how
	// long they may delay it. While waiters wait, a third of it is the longest pause between two questions.
	// Whole milliseconds, 100ms to an hour; default 5s.
	FairWaiterLease time.Duration

	// MaxRequests is how many requests for locks may wait in the engine; one more is ErrOverloaded. Default 262,144.
	MaxRequests int
	// MaxWaitersPerName is the same for one name. Default 131,072.
	MaxWaitersPerName int
	// Callbacks is how many workers run the callbacks of futures. Default 256.
	Callbacks int

	// Replicas is how many replicas must have a grant before it counts (Redis' WAIT), and a renewal before it moves
	// Deadline: so many, also when fewer are connected. A lock that was granted so is still there when one of these
	// replicas takes over. A grant that fewer have within a tenth of Lease, at most a second, is released again:
	// TryLock fails with ErrNotReplicated, Lock goes on asking for as long as it may wait; a hold that is not renewed
	// on so many replicas ends at its Deadline. Needs the right to WAIT. Default 0: the master's word is enough.
	Replicas int

	// DeclaredKeysOnly has no script touch a key that its call does not name, for servers and proxies that refuse that
	// (Dragonfly, for one). By default only the release of a read lock does: it looks whether the other readers in the lock
	// are alive, at keys that nobody but the script can know. Without that look, readers who leave while others stand in the
	// lock leave it to its TTL: where a reader's process has died, writers wait for up to the longest lease that a reader
	// asked for after the last living one has left; else nothing changes. Channels are not keys, and never declared.
	DeclaredKeysOnly bool

	// PubSub is how unlocking is announced. Default PubSubAuto.
	PubSub PubSub
	// WatchLoss has Redis tell within a round trip when the key of a held lock is deleted, by DEL, FLUSHALL
	// or a force-unlock; else that is noticed by the next renewal. It costs a command per call and memory in
	// Redis for each held key (client tracking), and needs the right to CLIENT TRACKING.
	WatchLoss bool
	// NameMapper makes the key of a name, as Redisson's: usually it puts a prefix before it.
	NameMapper func(name string) string
	// Logger hears of broken links and refused rights, never of single calls. Its handler runs on a goroutine of its own:
	// one that is slow or blocks holds up nothing, but that records are dropped when 1,024 wait, which it is told. Close
	// waits for it for 100 ms at most. Nil discards.
	Logger *slog.Logger
}

// PubSub says which of Redis' two kinds of channels unlock messages use. They are separate: a fleet must agree.
type PubSub uint8

// The ways to announce.
const (
	PubSubAuto    PubSub = iota // Redisson's rule: sharded in a cluster that has it, else plain
	PubSubPlain                 // PUBLISH
	PubSubSharded               // SPUBLISH, Redis 7
	PubSubBoth                  // both, for a fleet that does not agree
)

// publish is the word for the scripts.
func (p PubSub) publish() string {
	return [...]string{"PUBLISH", "PUBLISH", "SPUBLISH", "BOTH"}[p]
}

// echo is how often a message of ours comes back to us.
func (p PubSub) echo() int32 {
	if p == PubSubBoth {
		return 2
	}
	return 1
}

// String names the way.
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
	complain := func(format string, args ...any) { complaints = append(complaints, invalid(format, args...)) }

	o.Lease = orDefault(o.Lease, defaultLease)
	if o.Lease < minWatchedLease || o.Lease > MaxLease {
		complain("Lease %v: must be from %v to %v", o.Lease, minWatchedLease, MaxLease)
		o.Lease = defaultLease
	}
	o.Lease = ceilMillis(o.Lease)
	o.FairWaiterLease = orDefault(o.FairWaiterLease, defaultFairWaiterLease)
	if o.FairWaiterLease < minWatchedLease || o.FairWaiterLease > time.Hour {
		complain("FairWaiterLease %v: must be from %v to 1h", o.FairWaiterLease, minWatchedLease)
	}
	o.FairWaiterLease = ceilMillis(o.FairWaiterLease)
	o.HandoffTime = orDefault(o.HandoffTime, min(defaultHandoffTime, o.Lease/10))
	if o.HandoffTime > o.Lease/10 {
		complain("HandoffTime %v: at most a tenth of Lease, %v", o.HandoffTime, o.Lease/10)
	}
	o.PollCap = orDefault(o.PollCap, defaultPollCap)
	o.AnswerTimeout = orDefault(o.AnswerTimeout, min(defaultAnswerTimeout, o.Lease/3))
	if o.AnswerTimeout > 0 && o.AnswerTimeout < 10*time.Millisecond {
		complain("AnswerTimeout %v: at least 10ms, or negative for no bound", o.AnswerTimeout)
	}
	o.AnswerTimeout = min(o.AnswerTimeout, longest)
	if o.PollCap < 10*time.Millisecond {
		complain("PollCap %v: at least 10ms", o.PollCap)
	}
	o.PollCap, o.MaxHold = min(o.PollCap, longest), min(o.MaxHold, longest)
	if o.MaxHold < 0 {
		complain("MaxHold %v: must not be negative", o.MaxHold)
	}
	if o.FenceTTL != 0 && o.FenceTTL < time.Second {
		complain("FenceTTL %v: at least 1s, or 0 for no end", o.FenceTTL)
	}
	for _, bound := range []struct {
		name  string
		value *int
		usual int
	}{{"MaxRequests", &o.MaxRequests, 1 << 18}, {"MaxWaitersPerName", &o.MaxWaitersPerName, 1 << 17}, {"Callbacks", &o.Callbacks, 256}} {
		*bound.value = orDefault(*bound.value, bound.usual)
		if *bound.value < 1 {
			complain("%s %d: must be positive", bound.name, *bound.value)
		}
	}
	if o.Replicas < 0 {
		complain("Replicas %d: must not be negative", o.Replicas)
	}
	if o.PubSub > PubSubBoth {
		complain("PubSub %d: unknown", o.PubSub)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := o.connection(); err != nil {
		complaints = append(complaints, err)
	}
	return o, errors.Join(complaints...)
}

// patience is how long an answer is waited for; 0: as long as it takes.
func (o *Options) patience() time.Duration {
	switch {
	case o.AnswerTimeout < 0:
		return 0
	case o.Replicas > 0:
		return o.AnswerTimeout + o.replicaTime()
	}
	return o.AnswerTimeout
}

func orDefault[T comparable](value, usual T) T {
	var zero T
	if value == zero {
		return usual
	}
	return value
}

// String shows what is set, but no secret.
func (o Options) String() string {
	return fmt.Sprintf("{Redis:%v Lease:%v MaxHold:%v HandoffTime:%v PollCap:%v AnswerTimeout:%v FairWaiterLease:%v MaxRequests:%d MaxWaitersPerName:%d Callbacks:%d Replicas:%d DeclaredKeysOnly:%t PubSub:%v WatchLoss:%t}",
		o.Redis.InitAddress, o.Lease, o.MaxHold, o.HandoffTime, o.PollCap, o.AnswerTimeout, o.FairWaiterLease, o.MaxRequests, o.MaxWaitersPerName, o.Callbacks, o.Replicas, o.DeclaredKeysOnly, o.PubSub, o.WatchLoss)
}

// GoString is String: %#v shows no secret either.
func (o Options) GoString() string { return o.String() }

// Format is String for every verb.
func (o Options) Format(f fmt.State, _ rune) { fmt.Fprint(f, o.String()) }

// MarshalText is String, for JSON and others.
func (o Options) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// LogValue is String, for slog.
func (o Options) LogValue() slog.Value { return slog.StringValue(o.String()) }
