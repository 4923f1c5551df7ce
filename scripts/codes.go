package scripts

import "time"

// Reply is the integer a script answers for one name. This table is the only one (invariant: reply-says-what-redis-holds):
//
//	>= 1            granted (acquire), still held (renew)
//	2^50            freed, and taken for the engine's next waiter (release of a fair lock)
//	> 2^50          freed, and given to another engine: 2^50 + 1 + so many subscribers of the head's channel (release)
//	>= 0            freed or kept, so many subscribers listen (release, confirm, give, addpermits), plus 2^32 for each place in line
//	>= 0            so many permits taken, callers served, still to be counted down (take, permit_take, look)
//	0 + 2^k ...     the holds that had permits (permit_free), or have all of them (permit_renew); of more than 48 holds 1 if all, else 0
//	0, 1            not done, done (setpermits, setcount, deletecount)
//	0               free (peek)
//	0               there is no semaphore (take, permit_take); with a place in line as -(pttl+2) is, for which PTTL answers -2
//	-1              not this owner's (release, renew, confirm)
//	-2              freed, but this user may not publish (release)
//	-(pttl+2)       held by another owner, with pttl ms left, 2^42 at most; -1: that key has no TTL (acquire, peek); of permits: too few are
//	                free, and the first held one ends in pttl ms
//	-k*(2^43)-(pttl+2)  the same, and a claim stands (k is 1, a fair lock) or a place in line (k is 1, plus 1 if the place is new, plus
//	                2 if it is to listen to the lock's channel, plus 4 if it is known to be the first, plus 8 if it collects
//	                permits). Of a simple lock those 2 say that its owner is no engine, and publishes nothing; k is 3 then also
//	                for an acquire without a place
//	-(2^51)-class   a fault, see Fault
//	-(2^52)-ms      arrived after its notAfter and did nothing; ms is the server's time (acquire)
type Reply int64

const (
	faultBase  = -1 << 51
	lateBase   = -1 << 52
	foreignGap = 16 // fault classes from here on: the key holds another type

	standingBits = 43 // a claim or a place is counted above any TTL
	placeBits    = 32 // a place is counted above any number of subscribers

	longestTTL = 1 << 42 // ms, 139 years; prelude.lua cuts what is longer to this, and a Duration still holds it
)

// NotMine is the answer to an owner that does not hold the name.
const NotMine Reply = -1

// PublishDenied is the answer to a release that freed the name but was not allowed to announce it.
const PublishDenied Reply = -2

// Passed is the answer to a release that freed the name and took it for the next waiter of the same engine.
const Passed Reply = 1 << 50

// Given reports whether a release gave the lock to another engine, and how many subscribers heard of it.
func (r Reply) Given() (heard Reply, given bool) { return r - Passed - 1, r > Passed }

// Granted reports whether an acquire was granted or a renewal found the owner in place.
func (r Reply) Granted() bool { return r >= 1 }

// Held reports whether an acquire was refused because another owner has the name. ttl is what that
// owner's lease has left (0 is "still held"), negative when the key has no TTL.
func (r Reply) Held() (ttl time.Duration, held bool) {
	if r >= 0 || r <= faultBase {
		return 0, false
	}
	return TTL(int64(-r)&(1<<standingBits-1) - 2), true
}

// Absent reports whether permits were refused because there is no semaphore.
func (r Reply) Absent() bool { return r <= 0 && r > faultBase && -r&(1<<standingBits-1) == 0 }

// Place is what an acquire that was refused says of the engine's place in line.
type Place struct {
	Stands  bool // there is one
	New     bool // the acquire has left it: it did not stand before
	Listens bool // it is the first, and is to listen to the lock's channel; of a simple lock: to ask by itself
	Leads   bool // it is the first, of a semaphore
	Called  bool // nobody else takes permits: it collects them
}

// Place reports whether an acquire was refused and its place in line stands. Of a fair lock: whether its claim does.
func (r Reply) Place() Place {
	if r >= 0 || r <= faultBase {
		return Place{}
	}
	k := int64(-r) >> standingBits
	if k == 0 {
		return Place{}
	}
	k--
	return Place{Stands: true, New: k&1 != 0, Listens: k&2 != 0, Leads: k&4 != 0, Called: k&8 != 0}
}

// Waiting splits an answer that counts the subscribers of the lock's channel and the places in line.
func (r Reply) Waiting() (listeners Reply, places int64) {
	if r < 0 || r >= Passed {
		return r, 0
	}
	return r & (1<<placeBits - 1), int64(r) >> placeBits
}

// TTL is what PTTL answers, negative when the key has no TTL. It is cut to 139 years.
func TTL(millis int64) time.Duration {
	return time.Duration(min(millis, longestTTL)) * time.Millisecond
}

// Late reports whether an acquire arrived after its notAfter, and the server's clock at that moment, in ms.
func (r Reply) Late() (serverMillis int64, late bool) {
	if r > lateBase {
		return 0, false
	}
	return int64(lateBase - r), true
}

// Fault is the class of an error that stopped a script, or None. What the script had
// written by then it has taken back, or nobody is misled by it.
func (r Reply) Fault() Fault {
	if r > faultBase || r <= lateBase {
		return None
	}
	return Fault(faultBase - r)
}

// Fault is why the server refused a command inside a script.
type Fault int64

// The fault classes, in the order of prelude.lua.
const (
	None       Fault = 0
	ReadOnly   Fault = 1  // a replica, or a demoted master
	OutOfMem   Fault = 2  // maxmemory is reached and nothing may be evicted
	Misconf    Fault = 3  // the last snapshot failed and writes are stopped
	NoReplicas Fault = 4  // min-replicas-to-write is not met
	NoPerm     Fault = 5  // the ACL user may not touch this key or run this command
	noPermLua  Fault = 6  // the same, in the words of a script
	wrongType  Fault = 7  // never sent as it is: the type is named by Foreign
	Other      Fault = 8  // anything else
	Moving     Fault = 9  // a key is on its way to another node of the cluster, or the cluster is down; it passes
	OutOfRange Fault = 10 // a number is, or would be, 2^53 or more: scripts count exactly below that
)

var faultWords = [...]string{
	ReadOnly: "READONLY: the server is a replica", OutOfMem: "OOM: the server is at maxmemory",
	Misconf: "MISCONF: the server cannot save and has stopped writes", NoReplicas: "NOREPLICAS: not enough good replicas",
	NoPerm: "NOPERM: the user may not use this key or command", noPermLua: "NOPERM: the user may not use this key or command",
	wrongType: "WRONGTYPE", Other: "an error inside the script", Moving: "TRYAGAIN: a key is on its way to another node, or the cluster is down",
	OutOfRange: "a number is out of range: scripts count up to 2^53",
}

var foreignTypes = [...]string{"key of another type", "string", "list", "set", "zset", "hash of another kind", "stream"}

// AnotherType is that of a key of a type that is not known.
const AnotherType Fault = foreignGap

// Reply is the answer of a script that was stopped by f.
func (f Fault) Reply() Reply { return faultBase - Reply(f) }

// Foreign reports whether the key holds something that is no lock of this kind, and what.
func (f Fault) Foreign() (what string, foreign bool) {
	if f < foreignGap || f >= foreignGap+Fault(len(foreignTypes)) {
		return "", false
	}
	return foreignTypes[f-foreignGap], true
}

// String names the class in the words of Redis.
func (f Fault) String() string {
	if what, foreign := f.Foreign(); foreign {
		return "it is a " + what
	}
	if f <= None || f >= Fault(len(faultWords)) {
		return "an error inside the script"
	}
	return faultWords[f]
}

// Forbidden reports whether this user may not use a key or a command.
func (f Fault) Forbidden() bool { return f == NoPerm || f == noPermLua }

// StopsWrites reports whether the server refuses to write, whatever the key.
func (f Fault) StopsWrites() bool { return f >= ReadOnly && f <= NoReplicas }

// Passing reports whether the fault can pass by itself, so that a release or renewal is worth repeating.
func (f Fault) Passing() bool { return f.StopsWrites() || f == Moving }
