// Package quietsocket reads and writes sockets on Linux by system calls of which Go's runtime is not told, so that its
// monitor thread sleeps while callers wait for Redis (socket_linux.go). Elsewhere, and with the build tag
// wheellock_plainsockets, it leaves every connection as it is (socket_other.go).
package quietsocket
