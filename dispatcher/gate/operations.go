package gate

import (
	"slices"
	"strings"

	"github.com/wheellock/wheellock/scripts"
)

// Op is an operation: what a command does in Redis.
type Op uint8

// The operations, in the order in which a batch carries them: first those that keep locks, then those that free them, then those that take
// new ones (invariant: renewals-go-first).
const (
	None Op = iota
	Renew
	Confirm
	RenewRead
	RenewWrite
	ConfirmRead
	ConfirmWrite
	Downgrade
	RenewSimple
	ConfirmSimple
	PermitRenew
	Detach
	DetachSimple
	Release
	ReleaseFromLine // gives up the owner's place in line besides
	ReleaseQuietly  // publishes nothing
	ReleaseRead
	ReleaseReadFromLine
	ReleaseWrite
	ReleaseWriteFromLine
	ReleaseSimple
	ReleaseSimpleFromLine
	PermitFree
	FairRelease
	FairLeave // gives up places in the queue
	Give
	CountDown
	AddPermits
	PermitAdd
	SetPermits
	DrainPermits
	SetCount
	DeleteCount
	DeletePermits
	PermitSet
	PermitDelete
	Adopt
	AdoptSimple
	Acquire
	AcquireInLine // gets a place in line if it is refused
	AcquireFenced
	AcquireRead
	AcquireWrite
	AcquireWriteInLine
	AcquireSimple
	AcquireSimpleInLine
	PermitTake
	FairAsk
	Take
	GetCount
	CountWaiters
	Peek
	Ops
)

// Operation is everything that the engine knows of an operation.
type Operation struct {
	Name   string
	Script *scripts.Script

	// How a call of the script is written, in the words of dispatcher/wire: the arguments that come once, and for each name its keys and
	// its arguments, as the head of the script's file says. The keys of one name may lie apart while a hash slot moves.
	Head, Keys, Args string

	// The replies after which a caller has something, or has it for longer; nil: none (invariant: replicas-acknowledge).
	gives func(scripts.Reply) bool

	does    effect
	keeps   bool // a release after which the lock may be ours, by another hold
	lasting bool // a change that is sent until it is made (Change.lasting)
	adds    bool // several such changes may be sent as one (Command.join)
}

// effect is what an operation does to an owner, or to a place of one. Its answer is handled accordingly.
type effect uint8

const (
	unowned    effect = iota // nothing: it changes, or reads, the count of a name without owners, or renews permits
	renews                   // it extends the lease
	confirms                 // likewise, and counts who else waits
	downgrades               // it makes a writer a reader
	adopts                   // it makes a fresh owner take the place of a detached one
	acquires                 // it makes a fresh owner
	releases                 // it removes the owner id, which is dead once the command was sent (invariant: released-owner-is-dead)
	leaves                   // it gives up places in a fair queue
	takes                    // it takes permits, or gets or gives up a place in line for them
	counts                   // it counts the waiters
	peeks                    // it looks whether the lock is free
)

// Releases reports whether the owner id is dead once the command was sent (invariant: released-owner-is-dead).
func (o *Operation) Releases() bool { return o.does == releases }

// Ours reports whether the lock may be ours afterwards.
func (o *Operation) Ours() bool {
	switch o.does {
	case renews, confirms, downgrades, adopts, acquires:
		return true
	}
	return o.keeps
}

// extends reports whether the command may set the TTL of the owner anew.
func (o *Operation) extends() bool {
	return o.does == renews || o.does == confirms || o.does == downgrades
}

// Operations has a row for each operation.
var Operations = [Ops]Operation{
	None: {Name: "none"},

	Renew:      {Name: "renew", does: renews, Script: &scripts.Renew, Keys: "name", Args: "owner leaseBehind", gives: granted},
	Confirm:    {Name: "confirm", does: confirms, Script: &scripts.Confirm, Head: "publish", Keys: "name line", Args: "owner lease lockChannel", gives: counted},
	RenewRead:  {Name: "renew read", does: renews, Script: &scripts.RenewRead, Keys: "name hold", Args: "owner leaseBehind", gives: granted},
	RenewWrite: {Name: "renew write", does: renews, Script: &scripts.Renew, Keys: "name", Args: "writer leaseBehind", gives: granted},
	ConfirmRead: {
		Name: "confirm read", does: confirms, Script: &scripts.ConfirmRead, Head: "publish", Keys: "name line hold",
		Args: "owner lease rwChannel", gives: counted,
	},
	ConfirmWrite: {Name: "confirm write", does: confirms, Script: &scripts.Confirm, Head: "publish", Keys: "name line", Args: "writer lease rwChannel", gives: counted},
	Downgrade: {
		Name: "downgrade", does: downgrades, Script: &scripts.Downgrade, Head: "publish", Keys: "name line hold",
		Args: "writer owner lease rwChannel", gives: freed,
	},
	RenewSimple:   {Name: "renew simple", does: renews, Script: &scripts.RenewSimple, Keys: "name", Args: "owner leaseBehind", gives: granted},
	ConfirmSimple: {Name: "confirm simple", does: confirms, Script: &scripts.ConfirmSimple, Keys: "name line", Args: "owner lease", gives: counted},
	PermitRenew:   {Name: "permit renew", Script: &scripts.PermitRenew, Head: "engineBytes", Keys: "held", Args: "holds", gives: granted},

	Detach:       {Name: "detach", does: releases, Script: &scripts.Detach, Head: "publish", Keys: "name waiters", Args: "owner detached lease listened"},
	DetachSimple: {Name: "detach simple", does: releases, Script: &scripts.DetachSimple, Head: "publish", Keys: "name line", Args: "owner detached lease lockChannel"},
	ReleaseSimple: {
		Name: "release simple", does: releases, Script: &scripts.ReleaseSimple, Head: "publish", Keys: "name line",
		Args: "released lockChannel turn",
	},
	ReleaseSimpleFromLine: {
		Name: "release simple from line", does: releases, Script: &scripts.ReleaseSimpleFromLine, Head: "publish", Keys: "name line",
		Args: "released lockChannel turn leftCode",
	},
	Release: {Name: "release", does: releases, Script: &scripts.Release, Head: "publish", Keys: "name line", Args: "released lockChannel"},
	ReleaseFromLine: {
		Name: "release from line", does: releases, Script: &scripts.ReleaseFromLine, Head: "publish", Keys: "name line",
		Args: "released lockChannel leftCode",
	},
	ReleaseQuietly: {Name: "release quietly", does: releases, Script: &scripts.Release, Head: "quietly", Keys: "name line", Args: "released lockChannel"},
	ReleaseRead: {
		Name: "release read", does: releases, Script: &scripts.ReleaseRead, Head: "publish declared", Keys: "name line releasedHold",
		Args: "released rwChannel", keeps: true,
	},
	ReleaseReadFromLine: {
		Name: "release read from line", does: releases, Script: &scripts.ReleaseReadFromLine, Head: "publish declared", Keys: "name line releasedHold",
		Args: "released rwChannel leftCode", keeps: true,
	},
	ReleaseWrite: {
		Name: "release write", does: releases, Script: &scripts.ReleaseWrite, Head: "publish", Keys: "name line",
		Args: "releasedWriter rwChannel",
	},
	ReleaseWriteFromLine: {
		Name: "release write from line", does: releases, Script: &scripts.ReleaseWriteFromLine, Head: "publish", Keys: "name line",
		Args: "releasedWriter rwChannel leftCode",
	},
	PermitFree: {
		Name: "permit free", Script: &scripts.PermitFree, Head: "publish leaveBy engineBytes", Keys: "name held receipt line",
		Args: "number freedHolds freedIDs permitsChannel", lasting: true,
	},
	FairRelease: {
		Name: "fair release", does: releases, Script: &scripts.FairRelease, Head: "publish engine", Keys: "name queue deadlines alive claims",
		Args: "released successor lease lockChannel", gives: passed, keeps: true,
	},
	FairLeave: {Name: "fair leave", does: leaves, Script: &scripts.FairLeave, Head: "publish engine", Keys: "name queue deadlines alive claims", Args: "leaving number lockChannel"},

	Give: {
		Name: "give", Script: &scripts.Give, Head: "publish leaveBy", Keys: "name receipt line", Args: "number amount permitsChannel",
		lasting: true, adds: true,
	},
	CountDown: {
		Name: "count down", Script: &scripts.CountDown, Head: "publish leaveBy", Keys: "name receipt", Args: "number amount latchChannel",
		lasting: true, adds: true,
	},
	AddPermits:    {Name: "add permits", Script: &scripts.AddPermits, Head: "publish leaveBy", Keys: "name receipt line", Args: "number amount permitsChannel"},
	PermitAdd:     {Name: "permit add", Script: &scripts.PermitAdd, Head: "publish leaveBy", Keys: "name receipt line", Args: "number amount permitsChannel"},
	SetPermits:    {Name: "set permits", Script: &scripts.SetPermits, Head: "publish leaveBy", Keys: "name receipt line", Args: "number amount permitsChannel"},
	DrainPermits:  {Name: "drain permits", Script: &scripts.DrainPermits, Head: "publish leaveBy", Keys: "name receipt", Args: "number amount permitsChannel"},
	SetCount:      {Name: "set count", Script: &scripts.SetCount, Head: "publish leaveBy", Keys: "name receipt", Args: "number amount latchChannel"},
	DeleteCount:   {Name: "delete count", Script: &scripts.DeleteCount, Head: "publish leaveBy", Keys: "name receipt", Args: "number amount latchChannel"},
	DeletePermits: {Name: "delete permits", Script: &scripts.DeletePermits, Head: "publish leaveBy", Keys: "name receipt", Args: "number amount permitsChannel"},
	PermitSet:     {Name: "permit set", Script: &scripts.PermitSet, Head: "publish leaveBy", Keys: "name held receipt line", Args: "number amount permitsChannel"},
	PermitDelete:  {Name: "permit delete", Script: &scripts.PermitDelete, Head: "publish leaveBy", Keys: "name held receipt", Args: "number amount permitsChannel"},

	Adopt:         {Name: "adopt", does: adopts, Script: &scripts.Adopt, Head: "notAfter block idle", Keys: "name counter", Args: "adopted owner lease", gives: granted},
	AdoptSimple:   {Name: "adopt simple", does: adopts, Script: &scripts.AdoptSimple, Head: "notAfter", Keys: "name", Args: "adopted owner lease", gives: granted},
	AcquireSimple: {Name: "acquire simple", does: acquires, Script: &scripts.AcquireSimple, Head: "notAfter", Keys: "name", Args: "owner lease", gives: granted},
	AcquireSimpleInLine: {
		Name: "acquire simple in line", does: acquires, Script: &scripts.AcquireSimpleInLine, Head: "notAfter publish", Keys: "name line",
		Args: "owner lease placeCode lockChannel", gives: granted,
	},
	Acquire: {Name: "acquire", does: acquires, Script: &scripts.Acquire, Head: "notAfter", Keys: "name", Args: "owner leaseBehind", gives: granted},
	AcquireInLine: {
		Name: "acquire in line", does: acquires, Script: &scripts.AcquireInLine, Head: "notAfter block idle publish", Keys: "name line counter",
		Args: "owner lease placeCode", gives: granted,
	},
	AcquireFenced: {Name: "acquire fenced", does: acquires, Script: &scripts.AcquireFenced, Head: "notAfter block idle", Keys: "name counter", Args: "owner lease", gives: granted},
	AcquireRead: {
		Name: "acquire read", does: acquires, Script: &scripts.AcquireRead, Head: "notAfter publish", Keys: "name line hold",
		Args: "owner lease placeCode", gives: granted,
	},
	AcquireWrite: {Name: "acquire write", does: acquires, Script: &scripts.AcquireWrite, Head: "notAfter", Keys: "name", Args: "writer lease", gives: granted},
	AcquireWriteInLine: {
		Name: "acquire write in line", does: acquires, Script: &scripts.AcquireWriteInLine, Head: "notAfter publish", Keys: "name line",
		Args: "writer lease placeCode", gives: granted,
	},
	PermitTake: {
		Name: "permit take", does: takes, Script: &scripts.PermitTake, Head: "publish leaveBy engineBytes engine", Keys: "name held receipt line",
		Args: "number resent runs permitsPlace collects permitsChannel", gives: granted,
	},
	FairAsk: {
		Name: "fair ask", does: acquires, Script: &scripts.FairAsk, Head: "notAfter engine life publish", Keys: "name queue deadlines alive claims",
		Args: "number place lease joining firstJoining lockChannel fairCode", gives: granted,
	},
	Take: {
		Name: "take", does: takes, Script: &scripts.Take, Head: "publish leaveBy engine", Keys: "name receipt line",
		Args: "number resent runs permitsPlace collects permitsChannel", gives: granted,
	},

	GetCount:     {Name: "look", Script: &scripts.GetCount, Keys: "name"},
	CountWaiters: {Name: "count waiters", does: counts, Script: &scripts.CountWaiters, Head: "publish", Keys: "name waiters", Args: "waitersChannel"},
	Peek:         {Name: "peek", does: peeks, Script: &scripts.Peek, Keys: "name"},
}

func (o Op) String() string { return Operations[o].Name }

// Lined reports whether a call of the command names the line for a lock. It can go without.
func (c Command) Lined() bool {
	named := func(key string) bool { return key == "line" || key == "waiters" }
	return c.Entry.Kind.InLine() && slices.ContainsFunc(strings.Fields(Operations[c.Op].Keys), named)
}

// Confirms reports whether replicas must acknowledge the operation before it counts.
func (o Op) Confirms() bool { return Operations[o].gives != nil }

// The replies that give something.
func granted(r scripts.Reply) bool { return r.Granted() }
func counted(r scripts.Reply) bool { return r >= 0 }
func passed(r scripts.Reply) bool  { return r == scripts.Passed }
