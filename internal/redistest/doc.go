// Package redistest gives tests real Redis processes and a network that fails on request.
//
// Servers: Start (server.go) runs one private redis-server on loopback; replica.go, sentinel.go and
// cluster.go build topologies out of several, slot.go moves a hash slot step by step. Each Server can be
// killed, restarted and frozen, and looked into (inspect.go, monitor.go). The admin connection (admin.go,
// reply.go) is a client of its own, so a fault in the client under test cannot hide in what the test sees.
//
// Network: NewProxy (proxy.go) stands between a client and a server. One accepted connection is a link
// (link.go) of two streams (stream.go, send.go), one for each direction; faults.go and cuts.go hold the
// switches. It knows just enough RESP (splitter.go) to tell which answer belongs to which request
// (requests.go) and so to lose one chosen answer or message (answers.go).
//
// Children of the test's own, such as clients that are to be killed: child.go.
//
// Life: everything ends with the test that started it, or on Linux with its process, however that dies
// (process.go). Nothing is left behind: no process, goroutine, socket or file.
//
// Failure: a method that cannot do its work ends the test with Fatal, so it belongs on the test's
// goroutine, or on one whose early end the test would notice. Do alone hands its error back.
package redistest
