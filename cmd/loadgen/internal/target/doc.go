// Package target is the Redis that a load runs against: a private redis-server (private.go), which a keeper process
// (keeper.go) starts and ends, so that it ends however the load ends; an emulation inside this process if there is no
// redis-server (embedded.go); or a server that the user named (given.go).
// A quorum is several of these (quorum.go).
//
// meter.go measures what a run costs the server; leftovers.go finds what it leaves there. Both use a client of their own, beside the
// engines of the load: it asks only before, between and after the phases, and INFO is not among the commands that are reported.
//
// An Address is all that another process needs to reach the server: a child of loadgen gets it over a pipe, since it may hold a
// password, which a command line would show to everybody on the machine.
package target
