package gate

import (
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Command is what a machine wants Redis to do for its name and, on the way back, the result.
type Command struct {
	Entry         *Entry
	ID            uint64 // the number in the owner field "<engine uuid>:<number>"; FairAsk, FairLeave: of a place; without owners: of the call
	LeaseTime     time.Duration
	Args          Args // the other arguments of Op
	Sent          Time // just before it was sent; a lease counts from here
	LeaveBy       Time // the script refuses it as late if it leaves later than this; 0: it may leave at any time
	ServerMessage string
	Reply         scripts.Reply
	Epoch         uint32 // of the link, when the machine asked for it
	Op            Op
	Result
	Hops   uint8 // how often it was sent to another node; the dispatcher's
	Asking bool  // a node redirected it, for this one time, to a node that does not serve the name yet; the dispatcher's
}

// inLine reports whether an acquire gets a place in line if it is refused.
func (c *Command) inLine() bool {
	return c.Entry.Kind.InLine() && c.Args.Place().Code != 0
}

// ran reports whether the script ran and Reply is its answer.
func (c *Command) ran() bool { return c.Result == Answered || c.Result == UnderReplicated }

// freed reports whether a release or a downgrade did its work, even if it was not allowed to publish that.
func freed(reply scripts.Reply) bool { return reply >= 0 || reply == scripts.PublishDenied }

// releaseReply reports whether a release gave the lock to another engine, and how many places stand in line for a lock that it freed. Reply
// is then the number of subscribers that received the message, which is all that a Detach and a ReleaseQuietly answer.
func (c *Command) releaseReply() (gave bool, places int64) {
	if c.Result != Answered {
		return false, 0
	}
	listeners, gave := c.Reply.Given()
	if !gave {
		listeners, places = c.Reply.Waiting()
	}
	c.Reply = listeners
	return gave, places
}

// verdict is what an answer proves about a lease.
type verdict uint8

const (
	unproved verdict = iota // nothing: the command is to be sent again
	standing                // the lease is in Redis
	absent                  // it is not
)

// proves is what the answer to a renewal or a confirmation proves; least is the smallest reply that says that the lease is there. An answer
// that too few replicas acknowledged proves nothing.
func (c *Command) proves(least scripts.Reply) verdict {
	switch {
	case c.Result != Answered:
		return unproved
	case c.Reply == scripts.NotMine:
		return absent
	case c.Reply >= least:
		return standing
	}
	return unproved
}

// Args are the arguments of one operation. Each operation has a type of its own below, for example ReleaseArgs: the machine packs it by the
// method Args, dispatcher/wire unpacks it by the method of Args with the operation's name. All types share the fields of Args, so that a
// command is small and takes no allocation.
type Args struct {
	text   string
	number uint64
	n      int64
}

// ReleaseArgs are those of every release: of mutexes, simple locks, readers, writers and fair locks.
type ReleaseArgs struct {
	Owner string        // the owner field to release when it is not one of this engine; else empty, and the command's ID says which
	Code  int64         // the code of the place that is given up; 0: there is none
	Turn  time.Duration // of a simple lock: how long engines keep it between two pauses for others
}

func (r ReleaseArgs) Args() Args { return Args{text: r.Owner, n: r.Code, number: uint64(r.Turn)} }
func (a Args) Release() ReleaseArgs {
	return ReleaseArgs{Owner: a.text, Code: a.n, Turn: time.Duration(a.number)}
}

// FairReleaseArgs are those of a FairRelease that has a successor. Of one that has none, they are ReleaseArgs.
type FairReleaseArgs struct {
	Successor uint64 // the place of this engine that gets the lock if it is its turn, with the command's LeaseTime; 0: none
}

func (f FairReleaseArgs) Args() Args        { return Args{number: f.Successor} }
func (a Args) FairRelease() FairReleaseArgs { return FairReleaseArgs{Successor: a.number} }

// PlaceArgs are those of the acquires that may get a place in line.
type PlaceArgs struct {
	Code int64 // what proves that a release gave the lock to the place; 0: no place
}

func (p PlaceArgs) Args() Args  { return Args{n: p.Code} }
func (a Args) Place() PlaceArgs { return PlaceArgs{Code: a.n} }

// AdoptArgs are those of an Adopt.
type AdoptArgs struct {
	Owner string // the owner field that the command's ID replaces
}

func (a AdoptArgs) Args() Args  { return Args{text: a.Owner} }
func (a Args) Adopt() AdoptArgs { return AdoptArgs{Owner: a.text} }

// FairAskArgs are those of a FairAsk. The command's ID is the place that asks for the lock; 0: none does.
type FairAskArgs struct {
	Place   scripts.FairPlace // the position of ID in the queue
	First   uint64            // the first place that joins
	Joining int64             // the number of places that join: First and those that follow it
	Code    int64             // the message that is published when a release gives the lock to ID, which claims it; 0: it leaves no claim
}

func (f FairAskArgs) Args() Args {
	text := string(f.Place)
	if f.Code != 0 { // few questions have a code, so it gets no field in the Args of all commands
		text += " " + strconv.FormatInt(f.Code, 10)
	}
	return Args{text: text, number: f.First, n: f.Joining}
}

func (a Args) FairAsk() FairAskArgs {
	place, digits, _ := strings.Cut(a.text, " ")
	code, _ := strconv.ParseInt(digits, 10, 64)
	return FairAskArgs{Place: scripts.FairPlace(place), First: a.number, Joining: a.n, Code: code}
}

// FairLeaveArgs are those of a FairLeave. The command's ID is the first place that is given up.
type FairLeaveArgs struct {
	N int64 // how many places are given up
}

func (f FairLeaveArgs) Args() Args      { return Args{n: f.N} }
func (a Args) FairLeave() FairLeaveArgs { return FairLeaveArgs{N: a.n} }

// TakeArgs are those of a Take or a PermitTake. The ID of a PermitTake is the number of the first permit; the others' follow.
type TakeArgs struct {
	Runs     scripts.Runs // how many permits each waiter wants; empty: none waits, and the place is given up
	Place    int64        // how many permits our place in line is for; 0: there is to be none
	Resent   bool         // the call was sent before
	Collects bool         // if we are called and too few are free, nobody else is to take any
}

func (t TakeArgs) Args() Args {
	return Args{text: string(t.Runs), n: t.Place, number: oneIf(t.Resent) | oneIf(t.Collects)<<1}
}
func (a Args) Take() TakeArgs {
	return TakeArgs{Runs: scripts.Runs(a.text), Place: a.n, Resent: a.number&1 == 1, Collects: a.number&2 == 2}
}

// leavesLine reports whether the call can take nothing, and gives up our place. A Take that was sent for waiters before may have taken
// something.
func (t TakeArgs) leavesLine() bool { return t.Runs == "" && !t.Resent }

// wanted returns the permits that the first waiter of the call wants.
func (t TakeArgs) wanted() int64 {
	first, _, _ := strings.Cut(string(t.Runs), "x")
	n, _ := strconv.ParseInt(first, 10, 64) // a run begins with a number
	return n
}

// takes returns the arguments of a call for permits; false: c is another command.
func (c *Command) takes() (TakeArgs, bool) {
	if Operations[c.Op].does != takes {
		return TakeArgs{}, false
	}
	return c.Args.Take(), true
}

// PermitsPlace returns the permits of the place that the command leaves in line; 0: it leaves none.
func (c *Command) PermitsPlace() int64 {
	t, _ := c.takes()
	return t.Place
}

// leavesLine reports whether c is a call for permits that only gives up our place.
func (c *Command) leavesLine() bool {
	t, is := c.takes()
	return is && t.leavesLine()
}

// PermitFreeArgs are those of a PermitFree.
type PermitFreeArgs struct {
	Holds scripts.PermitHolds
	N     int64             // how many permits the holds have
	IDs   scripts.PermitIDs // those of the holds with number 0: of each all of them or none
}

func (p PermitFreeArgs) Args() Args {
	return Args{text: string(p.Holds) + string(p.IDs), n: p.N, number: uint64(len(p.IDs))}
}
func (a Args) PermitFree() PermitFreeArgs {
	at := len(a.text) - int(a.number)
	return PermitFreeArgs{Holds: scripts.PermitHolds(a.text[:at]), N: a.n, IDs: scripts.PermitIDs(a.text[at:])}
}

// PermitRenewArgs are those of a PermitRenew. The command's Lease is the shortest that it renews.
type PermitRenewArgs struct {
	Holds scripts.PermitHolds
}

func (p PermitRenewArgs) Args() Args { return Args{text: string(p.Holds)} }
func (a Args) PermitRenew() PermitRenewArgs {
	return PermitRenewArgs{Holds: scripts.PermitHolds(a.text)}
}

// CountArgs are those of the operations that change a count: Give, CountDown, AddPermits, PermitAdd, PermitSet, SetPermits, DrainPermits,
// SetCount; and of those that delete it: DeletePermits, PermitDelete, DeleteCount.
type CountArgs struct {
	N   int64         // the difference, or the new count
	TTL time.Duration // SetPermits: how long the count lives; 0: it has no end
}

func (c CountArgs) Args() Args  { return Args{n: c.N, number: uint64(c.TTL)} }
func (a Args) Count() CountArgs { return CountArgs{N: a.n, TTL: time.Duration(a.number)} }

func oneIf(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// SubscriptionChange asks the dispatcher to subscribe an entry to a channel, or to end that.
type SubscriptionChange struct {
	Entry   *Entry
	Channel string
	On      bool
}

// Effects collects what the machines ask of the dispatcher.
type Effects struct {
	Commands      [Ops][]Command
	Subscriptions []SubscriptionChange
}

// add appends a command and returns it, for the caller to fill in: a Command is too long to be copied twice.
func (e *Effects) add(op Op) *Command {
	sent := append(e.Commands[op], Command{})
	e.Commands[op] = sent
	return &sent[len(sent)-1]
}

// Writes reports whether the answer shows that a server writes which has refused to, for reason f. At maxmemory it goes on renewing and releasing.
func (c *Command) Writes(f scripts.Fault) bool {
	gives := Operations[c.Op].gives
	return c.ran() && gives != nil && gives(c.Reply) && (f != scripts.OutOfMem || c.Op >= Adopt)
}

// Unreplicated records that too few replicas acknowledged c, which was asked after it ran (invariant: replicas-acknowledge). A grant is then
// given back and asked for again, a renewal moves no deadline, and a refusal needs no replicas.
func (c *Command) Unreplicated() {
	if gives := Operations[c.Op].gives; gives != nil && gives(c.Reply) && c.Result == Answered {
		c.Result = UnderReplicated
	}
}
