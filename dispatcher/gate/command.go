package gate

import (
	"strconv"
	"strings"
	"time"

	"github.com/wheellock/wheellock/scripts"
)

// Command is one name's share of a batch: what a machine wants done, and, coming back, how it went.
type Command struct {
	Entry         *Entry
	ID            uint64 // the tenure's number: the owner field is "<engine uuid>:<number>"; FairAsk, FairLeave: a place's; without owner, the call's
	Lease         time.Duration
	Args          Args // what Op needs besides
	Sent          Time // just before it was sent; a lease counts from here
	LeaveBy       Time // one that leaves later is refused as late, if its script looks; 0: it may leave at any time
	ServerMessage string
	Reply         scripts.Reply
	Epoch         uint32 // of the link, when it was asked for
	Op            Op
	Result
	Hops   uint8 // how often it was sent to another node; the dispatcher's
	Asking bool  // another node has sent it, once, to one that does not serve the name yet; the dispatcher's
}

// ran reports whether c has run in Redis and Reply is its answer.
func (c *Command) ran() bool { return c.Result == Answered || c.Result == UnderReplicated }

// freed reports whether a release or a downgrade has done what it should, also if nobody could be told of it.
func freed(reply scripts.Reply) bool { return reply >= 0 || reply == scripts.PublishDenied }

// gaveToClaim reports whether a release gave the lock to a claim. Its reply is then how many heard of that.
func (c *Command) gaveToClaim() bool {
	listeners, gave := c.Reply.Given()
	if gave = gave && Operations[c.Op].toClaim && c.Result == Answered; gave {
		c.Reply = listeners
	}
	return gave
}

// verdict is what an answer proves about an ownership.
type verdict uint8

const (
	unproved verdict = iota // nothing: the command is to be sent again
	standing                // it is there
	absent                  // it is not there
)

// proves is what the answer to a renewal or a confirmation proves; least is the smallest reply that says "it is there".
// An answer that too few replicas know of proves nothing.
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

// Args are the arguments of one operation: a value of the type below that is named for it. The machine packs them (the
// method Args of that type), dispatcher/wire unpacks them (the method of Args that is named for the operation) and writes
// them as the script expects. All types share this memory, so that a command is small and takes no allocation.
type Args struct {
	text   string
	number uint64
	n      int64
}

// ReleaseArgs are those of every release, also of readers, of writers, and of a fair lock.
type ReleaseArgs struct {
	Owner     string // the owner to be released when it is not one of ours; else empty, and it is the command's ID
	Own       int64  // how many of the subscribers of the channel are ours
	Successor uint64 // FairRelease: the place of ours that gets the lock when it is its turn, with the command's Lease; 0: none
}

func (r ReleaseArgs) Args() Args    { return Args{text: r.Owner, number: r.Successor, n: r.Own} }
func (a Args) Release() ReleaseArgs { return ReleaseArgs{Owner: a.text, Own: a.n, Successor: a.number} }

// ClaimArgs are those of an AcquireClaim.
type ClaimArgs struct {
	Code int64 // what is published when the lock is given to the claim
}

func (c ClaimArgs) Args() Args  { return Args{n: c.Code} }
func (a Args) Claim() ClaimArgs { return ClaimArgs{Code: a.n} }

// AdoptArgs are those of an Adopt.
type AdoptArgs struct {
	Owner string // the owner field that the command's ID takes the place of
}

func (a AdoptArgs) Args() Args  { return Args{text: a.Owner} }
func (a Args) Adopt() AdoptArgs { return AdoptArgs{Owner: a.text} }

// AcquireReadArgs are those of an AcquireRead.
type AcquireReadArgs struct {
	Yields bool  // the readers let the other listeners of the channel come first
	Own    int64 // how many of the listeners are we ourselves
}

func (a AcquireReadArgs) Args() Args {
	if !a.Yields {
		return Args{}
	}
	return Args{number: 1, n: a.Own}
}
func (a Args) AcquireRead() AcquireReadArgs { return AcquireReadArgs{Yields: a.number == 1, Own: a.n} }

// FairAskArgs are those of a FairAsk. The command's ID is the place that asks for the lock; 0: none does.
type FairAskArgs struct {
	Place   scripts.FairPlace // where ID stands in the queue
	First   uint64            // the first place that joins
	Joining int64             // how many join; the places of the others follow First
	Code    int64             // what is published when the lock is given to the claim of ID; 0: it leaves none
}

func (f FairAskArgs) Args() Args {
	text := string(f.Place)
	if f.Code != 0 { // few questions have one: it needs no memory of all commands
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
	N int64 // how many are given up
}

func (f FairLeaveArgs) Args() Args      { return Args{n: f.N} }
func (a Args) FairLeave() FairLeaveArgs { return FairLeaveArgs{N: a.n} }

// TakeArgs are those of a Take.
type TakeArgs struct {
	Runs   scripts.Runs // how many permits each waiter wants
	Resent bool         // the call was sent before
}

func (t TakeArgs) Args() Args { return Args{text: string(t.Runs), number: oneIf(t.Resent)} }
func (a Args) Take() TakeArgs { return TakeArgs{Runs: scripts.Runs(a.text), Resent: a.number == 1} }

// PermitTakeArgs are those of a PermitTake. The command's ID is the number of the first permit; the others' follow.
type PermitTakeArgs struct {
	N      int64 // how many permits
	Resent bool  // the call was sent before
}

func (p PermitTakeArgs) Args() Args       { return Args{n: p.N, number: oneIf(p.Resent)} }
func (a Args) PermitTake() PermitTakeArgs { return PermitTakeArgs{N: a.n, Resent: a.number == 1} }

// PermitFreeArgs are those of a PermitFree: N permits of ours with numbers from First on, or those with IDs.
type PermitFreeArgs struct {
	N     int64
	First uint64            // 0: IDs says which
	IDs   scripts.PermitIDs // N of them
}

func (p PermitFreeArgs) Args() Args { return Args{text: string(p.IDs), number: p.First, n: p.N} }
func (a Args) PermitFree() PermitFreeArgs {
	return PermitFreeArgs{N: a.n, First: a.number, IDs: scripts.PermitIDs(a.text)}
}

// PermitRenewArgs are those of a PermitRenew. The command's Lease is the shortest that it renews.
type PermitRenewArgs struct {
	Holds scripts.PermitHolds
}

func (p PermitRenewArgs) Args() Args { return Args{text: string(p.Holds)} }
func (a Args) PermitRenew() PermitRenewArgs {
	return PermitRenewArgs{Holds: scripts.PermitHolds(a.text)}
}

// CountArgs are those of what changes the count of a semaphore, of permits or of a latch: Give, CountDown, AddPermits,
// PermitAdd, PermitSet, SetPermits, DrainPermits, SetCount, and what deletes it: DeletePermits, PermitDelete, DeleteCount.
type CountArgs struct {
	N   int64         // by how much, or to what
	TTL time.Duration // SetPermits: how long they live; 0: there is no end
}

func (c CountArgs) Args() Args  { return Args{n: c.N, number: uint64(c.TTL)} }
func (a Args) Count() CountArgs { return CountArgs{N: a.n, TTL: time.Duration(a.number)} }

func oneIf(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// SubscriptionChange is a wish of an entry about a channel on which its freeing is announced.
type SubscriptionChange struct {
	Entry   *Entry
	Channel string
	On      bool
}

// Effects collects what the machines want done outside.
type Effects struct {
	Commands      [Ops][]Command
	Subscriptions []SubscriptionChange
}

// add appends a command, which its sender fills in where it stands: a Command is too long to be copied twice.
func (e *Effects) add(op Op) *Command {
	sent := append(e.Commands[op], Command{})
	e.Commands[op] = sent
	return &sent[len(sent)-1]
}

// Rule 25: with Options.Replicas a grant counts only when so many replicas have it, and so does what keeps one
// alive. Whether they have is asked after the command ran. If they have not, it comes back as UnderReplicated: what it gave
// is given back, and asked for again; what it prolonged ends when it would have ended without it.

// Unreplicated notes that too few replicas have what c did. A refusal needs none.
func (c *Command) Unreplicated() {
	if gives := Operations[c.Op].gives; gives != nil && gives(c.Reply) && c.Result == Answered {
		c.Result = UnderReplicated
	}
}
