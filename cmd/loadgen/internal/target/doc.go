// Package target is the Redis that a load runs against: a private redis-server (private.go), which a keeper process
// (keeper.go) starts and ends, so that it ends however the load ends; an emulation inside this process if there is no
// redis-server (embedded.go); or a server that the user named (given.go).
// A quorum is several of these (quorum.go).
//
// meter.go measures what a run costs the server; leftovers.go finds what it leaves there.
package target
