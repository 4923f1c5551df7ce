// Package redisconn is the connections on which commands travel to one Redis.
//
// A Connection (connection.go) is one goroutine that carries one batch at a time: it writes the calls of package wire as
// one pipeline on a connection of its own (dedicated.go), reads the answers, sends again what surely did not run, and
// gives the batch back. On other errands it probes the server and loads the scripts (load.go), or asks which node
// serves what in a cluster. replicas.go waits for replicas, watch.go has Redis tell when a key changes. What all connections
// to one Redis share is a Server (server.go). Rights finds out what a user may not run (rights.go).
//
// The loop owns a Connection while it is idle; the Connection's goroutine owns it from Start until it calls returned.
package redisconn
