// Package scripts holds the Lua that runs inside Redis, and its contract with Go.
//
// Each operation has one .lua file, which begins with its keys, arguments and replies. A script takes many names in one call. It
// answers one integer if the result is the same for all names, else one integer per name (codes.go).
//
// This file embeds the scripts of locks, counting.go and permit.go those of semaphores and latches. prelude.lua is put before every
// script, and claim.lua, rw.lua, fair.lua, receipt.lua and permits.lua before those of one kind. keys.go makes the names of keys and channels by
// Redisson's rules, hashslot.go their hash slots, and derived.go says which names are keys of other names.
//
// The package is internal to the engine: it may change with any release.
package scripts

import (
	_ "embed"
	"regexp"
	"slices"
)

// Script is one Lua program. Its digest is what SCRIPT LOAD answers; the client computes none.
type Script struct {
	Name string
	Text string
}

//go:embed prelude.lua
var prelude string

//go:embed acquire.lua
var acquire string

//go:embed acquire_fenced.lua
var acquireFenced string

//go:embed release.lua
var release string

//go:embed claim.lua
var claim string

//go:embed acquire_claim.lua
var acquireClaim string

//go:embed release_claim.lua
var releaseClaim string

//go:embed renew.lua
var renew string

//go:embed confirm.lua
var confirm string

//go:embed pass.lua
var pass string

//go:embed detach.lua
var detach string

//go:embed tokens.lua
var tokens string

//go:embed adopt.lua
var adopt string

//go:embed count_waiters.lua
var countWaiters string

//go:embed inspect.lua
var inspect string

//go:embed leader.lua
var leader string

//go:embed rw.lua
var rw string

//go:embed acquire_read.lua
var acquireRead string

//go:embed acquire_write.lua
var acquireWrite string

//go:embed release_read.lua
var releaseRead string

//go:embed release_write.lua
var releaseWrite string

//go:embed renew_read.lua
var renewRead string

//go:embed downgrade.lua
var downgrade string

//go:embed fair.lua
var fair string

//go:embed fair_ask.lua
var fairAsk string

//go:embed fair_release.lua
var fairRelease string

//go:embed fair_leave.lua
var fairLeave string

//go:embed rights.lua
var rights string

// The scripts of the reentrant lock. Releasing by an owner id that Inspect found is the force-unlock: it
// frees that owner and no later one, however often it is sent.
var (
	Acquire       = Script{"acquire", prelude + acquire}
	AcquireFenced = Script{"acquire_fenced", prelude + tokens + acquireFenced}
	AcquireClaim  = Script{"acquire_claim", prelude + tokens + claim + acquireClaim}
	Release       = Script{"release", prelude + release}
	ReleaseClaim  = Script{"release_claim", prelude + claim + releaseClaim}
	Renew         = Script{"renew", prelude + renew}
	Confirm       = Script{"confirm", prelude + confirm}
	Detach        = Script{"detach", prelude + pass + detach}
	Adopt         = Script{"adopt", prelude + tokens + pass + adopt}
	CountWaiters  = Script{"count_waiters", prelude + countWaiters}
	Inspect       = Script{"inspect", prelude + inspect}
	Rights        = Script{"rights", rights}
)

// Leader is the script of package engine/elect.
var Leader = Script{"leader", prelude + leader}

// The scripts of the read-write lock. A writer is renewed and confirmed by those of the reentrant lock.
var (
	AcquireRead  = Script{"acquire_read", prelude + rw + acquireRead}
	AcquireWrite = Script{"acquire_write", prelude + rw + acquireWrite}
	ReleaseRead  = Script{"release_read", prelude + rw + releaseRead}
	ReleaseWrite = Script{"release_write", prelude + rw + releaseWrite}
	RenewRead    = Script{"renew_read", prelude + rw + renewRead}
	Downgrade    = Script{"downgrade", prelude + rw + downgrade}
)

// The scripts of the fair lock, besides Renew and Inspect.
var (
	FairAsk     = Script{"fair_ask", prelude + claim + fair + fairAsk}
	FairRelease = Script{"fair_release", prelude + claim + fair + fairRelease}
	FairLeave   = Script{"fair_leave", prelude + claim + fair + fairLeave}
)

// FairPlace is where the number that fair_ask.lua is to take the lock for stands in the queue.
type FairPlace string

// The places.
const (
	NoPlace     FairPlace = "TRY" // it stands in no queue: it asks once
	FirstToJoin FairPlace = "NEW" // it is the first of those who join
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
