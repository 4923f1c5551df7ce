// Package redisnet puts a redismodel.Server behind connections in memory, for engines in a bubble of testing/synctest.
//
// A Server (server.go) answers on any number of sessions (session.go) in RESP2 or RESP3 (resp.go); commands.go has what is no
// command on keys: HELLO, SCRIPT, SUBSCRIBE and so on; serverfaults.go what a server can do wrong. A Link (link.go) is the way from
// one client to one Server, with its connections (conn.go), each of two halves (half.go): it delays, holds up, loses and cuts, and
// refuses to connect.
//
// Nothing here knows any time but that of package time, and nothing blocks but on channels: in a bubble time goes on while
// everybody waits. Chance belongs to the caller.
package redisnet
