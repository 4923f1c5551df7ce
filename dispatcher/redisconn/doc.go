// Package redisconn sends batches of commands to one Redis and reads the answers.
//
// A Connection is one goroutine that carries one batch at a time. It writes the calls of package wire as one pipeline, reads the
// answers, sends again what surely did not run, and returns the batch. Between batches it probes the server, loads the scripts,
// or asks a node of a cluster which node serves which hash slot. Connections to one Redis share a Server. Rights finds out which
// commands the Redis user lacks.
//
// The loop owns a Connection while it is idle; the Connection's goroutine owns it from Start until it calls returned.
package redisconn
