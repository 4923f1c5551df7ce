package gate

import (
	"slices"
	"strings"

	"github.com/wheellock/wheellock/scripts"
)

// Op is an operation: what a command does in Redis.
type Op uint8

// The operations, in the order in which a batch carries them: first those that keep locks, then those that free them, then those that take
// new ones (rule 15).
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

	gives func(scripts.Reply) bool // the replies after which a caller has something, or has it for longer; nil: none (rule 25)

	Ours      bool // the lock may be ours afterwards, perhaps by a hold from before
	Releases  bool // the owner id is dead once it was sent (rule 4)
	extends   bool // it may set the TTL of the owner anew
	givesAway bool // it may give the lock to another engine; the reply says so
	lasting   bool // a change that is sent until it is made (Change.lasting)
	adds      bool // two such changes may be sent as one, with their sum
}

// The keys of a fair lock, and the first arguments of an acquire that may give tokens.
const (
	fairKeys   = "name queue deadlines alive claims"
	fencedHead = "notAfter block idle"
)

// Operations has a row for each operation.
var Operations = [Ops]Operation{
	None: {Name: "none"},

	Renew:      {Name: "renew", Script: &scripts.Renew, Keys: "name", Args: "owner leaseBehind", gives: granted, Ours: true, extends: true},
	Confirm:    {Name: "confirm", Script: &scripts.Confirm, Head: "publish", Keys: "name line", Args: "owner lease lockChannel", gives: counted, Ours: true, extends: true},
	RenewRead:  {Name: "renew read", Script: &scripts.RenewRead, Keys: "name hold", Args: "owner leaseBehind", gives: granted, Ours: true, extends: true},
	RenewWrite: {Name: "renew write", Script: &scripts.Renew, Keys: "name", Args: "writer leaseBehind", gives: granted, Ours: true, extends: true},
	ConfirmRead: {
		Name: "confirm read", Script: &scripts.ConfirmRead, Head: "publish", Keys: "name line hold", Args: "owner lease rwChannel",
		gives: counted, Ours: true, extends: true,
	},
	ConfirmWrite: {Name: "confirm write", Script: &scripts.Confirm, Head: "publish", Keys: "name line", Args: "writer lease rwChannel", gives: counted, Ours: true, extends: true},
	Downgrade: {
		Name: "downgrade", Script: &scripts.Downgrade, Head: "publish", Keys: "name line hold", Args: "writer owner lease rwChannel",
		gives: freed, Ours: true, extends: true,
	},
	RenewSimple: {Name: "renew simple", Script: &scripts.RenewSimple, Keys: "name", Args: "owner leaseBehind", gives: granted, Ours: true, extends: true},
	ConfirmSimple: {
		Name: "confirm simple", Script: &scripts.ConfirmSimple, Keys: "name line", Args: "owner lease",
		gives: counted, Ours: true, extends: true,
	},
	PermitRenew: {Name: "permit renew", Script: &scripts.PermitRenew, Head: "engineBytes", Keys: "held", Args: "holds", gives: granted},

	Detach:       {Name: "detach", Script: &scripts.Detach, Head: "publish", Keys: "name waiters", Args: "owner detached lease listened", Releases: true},
	DetachSimple: {Name: "detach simple", Script: &scripts.DetachSimple, Head: "publish", Keys: "name line", Args: "owner detached lease lockChannel", Releases: true},
	ReleaseSimple: {
		Name: "release simple", Script: &scripts.ReleaseSimple, Head: "publish", Keys: "name line", Args: "released lockChannel turn",
		Releases: true, givesAway: true,
	},
	ReleaseSimpleFromLine: {
		Name: "release simple from line", Script: &scripts.ReleaseSimpleFromLine, Head: "publish", Keys: "name line",
		Args: "released lockChannel turn leftCode", Releases: true, givesAway: true,
	},
	Release: {
		Name: "release", Script: &scripts.Release, Head: "publish", Keys: "name line", Args: "released lockChannel",
		Releases: true, givesAway: true,
	},
	ReleaseFromLine: {
		Name: "release from line", Script: &scripts.ReleaseFromLine, Head: "publish", Keys: "name line", Args: "released lockChannel leftCode",
		Releases: true, givesAway: true,
	},
	ReleaseQuietly: {Name: "release quietly", Script: &scripts.Release, Head: "quietly", Keys: "name line", Args: "released lockChannel", Releases: true},
	ReleaseRead: {
		Name: "release read", Script: &scripts.ReleaseRead, Head: "publish declared", Keys: "name line releasedHold", Args: "released rwChannel",
		Ours: true, Releases: true, givesAway: true,
	},
	ReleaseReadFromLine: {
		Name: "release read from line", Script: &scripts.ReleaseReadFromLine, Head: "publish declared", Keys: "name line releasedHold",
		Args: "released rwChannel leftCode", Ours: true, Releases: true, givesAway: true,
	},
	ReleaseWrite: {
		Name: "release write", Script: &scripts.ReleaseWrite, Head: "publish", Keys: "name line", Args: "releasedWriter rwChannel",
		Releases: true, givesAway: true,
	},
	ReleaseWriteFromLine: {
		Name: "release write from line", Script: &scripts.ReleaseWriteFromLine, Head: "publish", Keys: "name line", Args: "releasedWriter rwChannel leftCode",
		Releases: true, givesAway: true,
	},
	PermitFree: {
		Name: "permit free", Script: &scripts.PermitFree, Head: "publish leaveBy engineBytes", Keys: "name held receipt line",
		Args: "number freedFirst freed freedIDs permitsChannel", lasting: true,
	},
	FairRelease: {
		Name: "fair release", Script: &scripts.FairRelease, Head: "publish engine", Keys: fairKeys, Args: "released successor lease lockChannel",
		gives: passed, Ours: true, Releases: true, givesAway: true,
	},
	FairLeave: {Name: "fair leave", Script: &scripts.FairLeave, Head: "publish engine", Keys: fairKeys, Args: "leaving number lockChannel"},

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

	Adopt:         {Name: "adopt", Script: &scripts.Adopt, Head: fencedHead, Keys: "name counter", Args: "adopted owner lease", gives: granted, Ours: true},
	AdoptSimple:   {Name: "adopt simple", Script: &scripts.AdoptSimple, Head: "notAfter", Keys: "name", Args: "adopted owner lease", gives: granted, Ours: true},
	AcquireSimple: {Name: "acquire simple", Script: &scripts.AcquireSimple, Head: "notAfter", Keys: "name", Args: "owner lease", gives: granted, Ours: true},
	AcquireSimpleInLine: {
		Name: "acquire simple in line", Script: &scripts.AcquireSimpleInLine, Head: "notAfter publish", Keys: "name line",
		Args: "owner lease placeCode lockChannel", gives: granted, Ours: true,
	},
	Acquire: {Name: "acquire", Script: &scripts.Acquire, Head: "notAfter", Keys: "name", Args: "owner leaseBehind", gives: granted, Ours: true},
	AcquireInLine: {
		Name: "acquire in line", Script: &scripts.AcquireInLine, Head: fencedHead + " publish", Keys: "name line counter", Args: "owner lease placeCode",
		gives: granted, Ours: true,
	},
	AcquireFenced: {Name: "acquire fenced", Script: &scripts.AcquireFenced, Head: fencedHead, Keys: "name counter", Args: "owner lease", gives: granted, Ours: true},
	AcquireRead: {
		Name: "acquire read", Script: &scripts.AcquireRead, Head: "notAfter publish", Keys: "name line hold", Args: "owner lease placeCode yields",
		gives: granted, Ours: true,
	},
	AcquireWrite: {Name: "acquire write", Script: &scripts.AcquireWrite, Head: "notAfter", Keys: "name", Args: "writer lease", gives: granted, Ours: true},
	AcquireWriteInLine: {
		Name: "acquire write in line", Script: &scripts.AcquireWriteInLine, Head: "notAfter publish", Keys: "name line", Args: "writer lease placeCode",
		gives: granted, Ours: true,
	},
	PermitTake: {
		Name: "permit take", Script: &scripts.PermitTake, Head: "publish leaveBy engineBytes engine", Keys: "name held receipt line",
		Args: "number resentPermits permits lease permitsPlace permitsChannel", gives: granted,
	},
	FairAsk: {
		Name: "fair ask", Script: &scripts.FairAsk, Head: "notAfter engine life publish", Keys: fairKeys,
		Args: "number place lease joining firstJoining lockChannel fairCode", gives: granted, Ours: true,
	},
	Take: {
		Name: "take", Script: &scripts.Take, Head: "publish leaveBy engine", Keys: "name receipt line",
		Args: "number resent runs permitsPlace permitsChannel", gives: granted,
	},

	GetCount:     {Name: "look", Script: &scripts.GetCount, Keys: "name"},
	CountWaiters: {Name: "count waiters", Script: &scripts.CountWaiters, Head: "publish", Keys: "name waiters", Args: "waitersChannel"},
	Peek:         {Name: "peek", Script: &scripts.Peek, Keys: "name"},
}

func (o Op) String() string { return Operations[o].Name }

// Lined reports whether a call of the command names the line for a lock. It can go without.
func (c *Command) Lined() bool {
	named := func(key string) bool { return key == "line" || key == "waiters" }
	return c.Entry.Kind.InLine() && slices.ContainsFunc(strings.Fields(Operations[c.Op].Keys), named)
}

// Confirms reports whether replicas must acknowledge the operation before it counts.
func (o Op) Confirms() bool { return Operations[o].gives != nil }

// The replies that give something.
func granted(r scripts.Reply) bool { return r.Granted() }
func counted(r scripts.Reply) bool { return r >= 0 }
func passed(r scripts.Reply) bool  { return r == scripts.Passed }
