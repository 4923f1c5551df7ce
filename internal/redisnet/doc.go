// Package redisnet puts a redismodel.Server behind connections in memory, for engines in a bubble of testing/synctest.
//
// A Server (server.go) answers on any number of sessions (session.go) in RESP2 or RESP3 (resp.go). commands.go has the
// commands that are not about keys, such as HELLO, SCRIPT and SUBSCRIBE; serverfaults.go has the faults of a server. A
// Link (link.go) joins one client to one Server. It has connections (conn.go), each of two halves (half.go). It delays,
// holds up, loses and cuts, and refuses to connect.
//
// The package uses only the time of package time and blocks only on channels, so that time in a bubble goes on while
// all goroutines wait. Random choices are made by the caller.
package redisnet
