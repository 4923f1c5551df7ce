// Package explore runs the real gates and the real scripts in one goroutine and searches the orders in which events can
// happen.
//
// A World (world.go, worlds.go) is a small system: engines, names, and how many calls, faults and steps of time may
// happen. Its state (state.go) has the engines (engine.go) with their links to Redis (link.go), the callers (caller.go,
// act.go) and a model of Redis (package redismodel) that runs the scripts. One Move (move.go) is one event: a caller
// acts, a command runs in Redis, an answer or a message arrives, something fails (fault.go), time passes. moves.go says
// which moves are possible, apply.go what they do. After every move all invariants are checked (invariants.go,
// counts.go), and at the end of a path everything must come to rest (recover.go).
//
// Search (search.go) visits every order of a small world once; states with equal hashes (hash.go, follow.go) are merged
// (visited.go). Walk (walk.go) follows one random path through a bigger world. A path that breaks an invariant is
// shrunk to a list of moves that can be replayed (finding.go).
//
// The package uses gates only by events and effects, and scripts only by their contract, so that both may change
// inside.
package explore

import (
	"time"

	"github.com/wheellock/wheellock/dispatcher/gate"
)

// World is what is explored. Its zero bounds allow nothing.
type World struct {
	Name    string
	Kind    gate.Kind
	Engines int // at most 8
	Names   int // at most 3

	Programs [][]Call // by engine: its calls, in their order; Unlock comes whenever somebody holds
	Calls    []Call   // or what may be called in any order, by any engine
	Faults   []Fault  // what may fail

	MostCalls  int // how many of Calls happen on one path
	MostFaults int // how many of Faults
	MostTicks  int // how often time passes
	Patience   int // what failed or was held up works again after so many calls, unlocks and steps of time; 0: at any time

	// EveryOrder has whatever is on its way arrive at any time. Without it everything arrives at once, in one order, but
	// for what a fault strikes, Hold among them: so an order is known by where it departs from that one, and MostFaults
	// bounds the departures (delay-bounded scheduling; Emmi, Qadeer, Rakamaric, POPL 2011).
	EveryOrder bool

	Given     int // how many engines, from the first on, can be given a lock by a message
	Outsiders int // how many engines, from the last on, know no lines, and seem to be none of ours: as those of an older version, and as Redisson

	MostPublished int // how many messages a publisher says (publisher.go); an engine hears all that wait on a channel in one turn then

	Wide bool // Redis is a cluster: commands that leave together go in one call (wide.go), and an open slot concerns the first name alone

	Handoff time.Duration // gate.Config.HandoffTime
	Count   int64         // permits of a semaphore, or the count of a latch, when the world begins
}

// Times of every world. Only their order matters.
const (
	lease       = 3 * time.Second         // of watched holds; renewed every second
	fixedLease  = 2 * time.Second         // of holds with WithLease
	leastTime   = 4 * time.Second         // of holds with WithMinHold: longer than the lease
	briefTime   = 1900 * time.Millisecond // of others: shorter than what a gift has, and longer than what is left of it at last
	pollCap     = 10 * time.Second        // of waiters
	claimTime   = 10 * time.Second        // of claims to fair locks, at most (claim.lua)
	answerTime  = time.Second             // AnswerTimeout
	waiterLease = 5 * time.Second         // FairWaiterLease
	roundTrip   = time.Millisecond        // as the engines have measured it
	serverEpoch = 1_700_000_000_000_000
)

// Call is what a caller does.
type Call uint8

// The calls.
const (
	Lock        Call = iota // waits, watched
	LockOwned               // the same with WithOwner(1): it re-enters
	LockFixed               // waits, WithLease
	TryLock                 // asks once, watched
	TryFixed                // asks once, WithLease
	TryOwned                // asks once, WithOwner(1), watched
	Read                    // of a read-write lock: waits, watched
	ReadOwned               // with WithOwner(1)
	Write                   // waits, watched
	WriteOwned              // with WithOwner(1)
	TryRead                 // asks once
	TryWrite                // asks once
	Acquire                 // one permit: waits
	AcquireTwo              // two permits: waits
	TryAcquire              // one permit: asks once
	LimitOne                // one permit of a limit of one: waits
	LimitTwo                // one permit of a limit of two: waits
	LimitThree              // one permit of a limit of three: waits
	Give                    // one permit back, or one more, of a semaphore
	Await                   // a latch
	CountDown               // a latch, by one
	Release                 // all permits that are held, whoever has them: by their ids, the first of them given twice
	Extend                  // the newest hold with a fixed lease
	LockStaying             // waits, watched, WithMinHold
	LockBriefly             // waits, watched, WithMinHold of less than what a gift has
	LockFast                // waits, watched, WithFailFast
	AcquireFast             // one permit: waits, WithFailFast
	TryStaying              // asks once, WithLease, WithMinHold
	Detach                  // the newest hold
	Adopt                   // whoever stands in Redis for the name
	Drop                    // the newest call that waits is cancelled
	DropFirst               // the oldest call that waits is cancelled
	ForceUnlock             // whoever holds the name
	Close                   // the engine
	calls
)

var callNames = [calls]string{
	"lock", "lock-owned", "lock-fixed", "try", "try-fixed", "try-owned", "read", "read-owned", "write", "write-owned", "try-read",
	"try-write", "acquire", "acquire-two", "try-acquire", "limit-one", "limit-two", "limit-three", "give", "await", "count-down", "release", "extend", "lock-staying",
	"lock-briefly", "lock-fast", "acquire-fast", "try-staying", "detach", "adopt", "drop", "drop-first", "force", "close",
}

func (c Call) String() string { return callNames[c] }

// request says what a Call asks a gate for.
type request struct {
	owner uint64
	lease time.Duration
	least time.Duration
	n     int64
	limit int64
	watch bool
	try   bool
	write bool
	fast  bool
}

var requests = map[Call]request{
	Lock:       {lease: lease, watch: true},
	LockOwned:  {lease: lease, watch: true, owner: 1},
	LockFixed:  {lease: fixedLease},
	TryLock:    {lease: lease, watch: true, try: true},
	TryFixed:   {lease: fixedLease, try: true},
	TryOwned:   {lease: lease, watch: true, try: true, owner: 1},
	Read:       {lease: lease, watch: true},
	ReadOwned:  {lease: lease, watch: true, owner: 1},
	Write:      {lease: lease, watch: true, write: true},
	WriteOwned: {lease: lease, watch: true, write: true, owner: 1},
	TryRead:    {lease: lease, watch: true, try: true},
	TryWrite:   {lease: lease, watch: true, try: true, write: true},
	Acquire:    {lease: lease, watch: true, n: 1},
	AcquireTwo: {lease: lease, watch: true, n: 2},
	TryAcquire: {lease: lease, watch: true, n: 1, try: true},
	LimitOne:   {lease: lease, watch: true, n: 1, limit: 1},
	LimitTwo:   {lease: lease, watch: true, n: 1, limit: 2},
	LimitThree: {lease: lease, watch: true, n: 1, limit: 3},
	Await:      {},

	LockStaying: {lease: lease, watch: true, least: leastTime},
	LockBriefly: {lease: lease, watch: true, least: briefTime},
	LockFast:    {lease: lease, watch: true, fast: true},
	AcquireFast: {lease: lease, watch: true, n: 1, fast: true},
	TryStaying:  {lease: fixedLease, try: true, least: fixedLease / 2},
	Adopt:       {lease: lease, watch: true, try: true},
}

// Fault is what may fail.
type Fault uint8

// The faults. A link or a subscriber that broke is there again when the search says so, which costs nothing.
const (
	Break             Fault = iota // the connection for commands breaks: every answer is lost, what has not run may run later
	Down                           // no connection can be made at once after that, as when time has passed: commands are answered NotSent
	Twice                          // a command that has run will run once more, at any time later
	BreakSubscription              // the connection for unlock messages breaks, with all that is on it
	LoseMessage                    // a message does not arrive
	TwiceMessage                   // it arrives twice
	ReadOnly                       // the server refuses writes; a script that has written goes on, as in Redis
	NoReplicas                     // another class of refusal that passes
	Misconf
	OutOfMemory
	NoPerm        // one that does not
	LoseKey       // the key of a name vanishes
	Failover1     // a replica takes over that lacks the last change
	Failover2     // the last two
	Pause         // an engine's loop stands still between two turns, until the search lets it go on
	PauseInTurn   // the same after it has read the clock and before it handles its mail
	Die           // an engine dies
	Delay         // time passes while something is on its way; only with EveryOrder
	Hold          // what would happen next is held up, until the search lets it go on; only without EveryOrder
	OpenSlot      // the hash slot is on its way to another node, some keys here and some there: commands with several keys are to try again
	ShutSlot      // the same, and a script is refused even the keys that are here, as by Redis 7.4
	UnderReplicas // an answer says that too few replicas have what the command did
	faults
)

var faultNames = [faults]string{
	"break", "down", "twice", "break-subscription", "lose-message", "twice-message", "readonly", "noreplicas",
	"misconf", "oom", "noperm", "lose-key", "failover-1", "failover-2", "pause", "pause-in-turn", "die", "delay", "hold", "open-slot", "shut-slot", "under-replicated",
}

func (f Fault) String() string { return faultNames[f] }

// refusals are the words of a server that refuses writes. One whose slot is open refuses no write as such.
var refusals = map[Fault]string{
	ReadOnly:    "READONLY You can't write against a read only replica.",
	NoReplicas:  "NOREPLICAS Not enough good replicas to write.",
	Misconf:     "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
	OutOfMemory: "OOM command not allowed when used memory > 'maxmemory'.",
	NoPerm:      "NOPERM User has no permissions to run the command",
	OpenSlot:    "",
	ShutSlot:    "",
}
