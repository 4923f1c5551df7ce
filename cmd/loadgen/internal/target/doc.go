// Package target is the Redis that a load runs against: a private redis-server (private.go), started and
// ended by a keeper process (keeper.go), so that it goes whatever happens to the load; an emulation inside
// this process where there is no redis-server (embedded.go); or a server that somebody named (given.go).
//
// meter.go reads what a run costs the server, leftovers.go what it leaves there.
package target
