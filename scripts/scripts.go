// Package scripts holds the Lua that runs inside Redis, and its contract with Go.
//
// A .lua file begins with its keys, arguments and replies, for each of its verbs; or it is shared text, put before those that use it
// (compose.go): one.lua, permit_id.lua, permit_one.lua and prelude.lua before all, tokens.lua, line.lua, simple_line.lua, claim.lua and fair.lua before some scripts of locks,
// counting.lua and called.lua before those of semaphores, latches and permits. A script takes many names in one call. It answers one integer
// if the result is the same for all names, else one integer per name (codes.go).
//
// This file embeds the scripts of locks, counting.go and permit.go the others. keys.go makes the names of keys and channels by Redisson's
// rules, hashslot.go their hash slots, and derived.go says which names are keys of other names.
//
// The package is internal to the engine: it may change with any release.
package scripts

import (
	_ "embed"
	"regexp"
	"slices"
)

// KeysBehind is the last argument of a call that has its keys behind its arguments (prelude.lua).
const KeysBehind = "KEYS"

// Script is one Lua program. Its digest is what SCRIPT LOAD answers; the client computes none.
type Script struct {
	Name string
	Text string
}

// The texts.
var (
	//go:embed prelude.lua
	prelude string
	//go:embed one.lua
	oneName string
	//go:embed acquire.lua
	acquire string
	//go:embed release.lua
	release string
	//go:embed line.lua
	line string
	//go:embed claim.lua
	claim string
	//go:embed renew.lua
	renew string
	//go:embed pass.lua
	pass string
	//go:embed tokens.lua
	tokens string
	//go:embed inspect.lua
	inspect string
	//go:embed leader.lua
	leader string
	//go:embed acquire_rw.lua
	acquireRW string
	//go:embed release_rw.lua
	releaseRW string
	//go:embed fair.lua
	fair string
	//go:embed fair_ask.lua
	fairAsk string
	//go:embed fair_release.lua
	fairRelease string
	//go:embed acquire_simple.lua
	acquireSimple string
	//go:embed release_simple.lua
	releaseSimple string
	//go:embed simple_line.lua
	simpleLine string
	//go:embed simple.lua
	simple string
	//go:embed rights.lua
	rights string
)

// The scripts of the reentrant lock. Releasing by an owner id that Inspect found is the force-unlock: it
// frees that owner and no later one, however often it is sent.
var (
	Acquire         = one(made("acquire", acquire), oneName)
	AcquireFenced   = made("acquire_fenced", tokens, acquire)
	AcquireInLine   = made("acquire_in_line", tokens, line, acquire)
	Release         = one(made("release", line, release), oneName)
	ReleaseFromLine = made("release_from_line", line, release)
	Renew           = made("renew", renew)
	Confirm         = made("confirm", line, renew)
	Detach          = made("detach", line, pass)
	Adopt           = made("adopt", tokens, pass)
	Peek            = made("peek", inspect)
	CountWaiters    = made("count_waiters", line, inspect)
	Inspect         = made("inspect", inspect)
	Rights          = Script{"rights", rights}
)

// The scripts of the simple lock.
var (
	AcquireSimple         = one(made("acquire_simple", simpleLine, line, acquireSimple), oneName)
	AcquireSimpleInLine   = made("acquire_simple_in_line", simpleLine, line, acquireSimple)
	ReleaseSimple         = one(made("release_simple", simpleLine, line, releaseSimple), oneName)
	ReleaseSimpleFromLine = made("release_simple_from_line", simpleLine, line, releaseSimple)
	RenewSimple           = made("renew_simple", simpleLine, line, simple)
	ConfirmSimple         = made("confirm_simple", simpleLine, line, simple)
	AdoptSimple           = made("adopt_simple", simpleLine, line, simple)
	DetachSimple          = made("detach_simple", simpleLine, line, simple)
	InspectSimple         = made("inspect_simple", inspect)
)

// Leader is the script of package engine/elect.
var Leader = made("leader", leader)

// The scripts of the read-write lock. A writer is renewed and confirmed by those of the reentrant lock.
var (
	AcquireRead          = made("acquire_read", line, acquireRW)
	AcquireWrite         = made("acquire_write", line, acquireRW)
	AcquireWriteInLine   = made("acquire_write_in_line", line, acquireRW)
	ReleaseRead          = made("release_read", line, releaseRW)
	ReleaseReadFromLine  = made("release_read_from_line", line, releaseRW)
	ReleaseWrite         = made("release_write", line, releaseRW)
	ReleaseWriteFromLine = made("release_write_from_line", line, releaseRW)
	RenewRead            = made("renew_read", renew)
	ConfirmRead          = made("confirm_read", line, renew)
	Downgrade            = made("downgrade", line, pass)
)

// The scripts of the fair lock, besides Renew and Inspect.
var (
	FairAsk     = made("fair_ask", claim, fair, fairAsk)
	FairRelease = made("fair_release", claim, fair, fairRelease)
	FairLeave   = made("fair_leave", claim, fair, fairRelease)
)

// FairPlace is where the number that fair_ask.lua is to take the lock for stands in the queue.
type FairPlace string

// The places.
const (
	NoPlace     FairPlace = "TRY" // it stands in no queue: it asks once
	FirstToJoin FairPlace = "NEW" // it is the first of those that join
	InQueue     FairPlace = "OLD" // it has joined
)

// Tried are the commands that Rights tries when messages are published by publish: PUBLISH, SPUBLISH or BOTH.
func Tried(publish string) []string {
	tried := regexp.MustCompile(`(?m)^\t?try\('([^']+)'`) // here, for it is seldom asked
	var names []string
	for _, found := range tried.FindAllStringSubmatch(Rights.Text, -1) {
		name := found[1]
		plain, sharded := name == "publish" || name == "pubsub|numsub", name == "spublish" || name == "pubsub|shardnumsub"
		if !plain && !sharded || plain && publish != "SPUBLISH" || sharded && publish != "PUBLISH" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
