// Package redistest gives tests real Redis processes and a network that fails on request.
//
// Servers: Start (server.go) runs one private redis-server on loopback. replica.go, sentinel.go and cluster.go build
// topologies of several; slot.go moves a hash slot step by step. Each Server can be killed, restarted, frozen and
// inspected (inspect.go, monitor.go). What starts it and asks it is internal/testkit/redisserver, which programs use too: a client of
// its own, so that a fault in the client under test cannot hide from the test.
//
// Network: NewProxy (proxy.go) is put between a client and a server. One accepted connection is a link (link.go) of two
// streams (stream.go, send.go), one for each direction; faults.go and cuts.go have the switches. The proxy looks for
// texts in what goes by, and so can lose the answer to a request, or messages (answers.go).
//
// Children of the test's own, such as clients that are to be killed: child.go.
//
// Life: everything ends with the test that started it, or on Linux with its process, however that ends (internal/testkit/child). No
// process, goroutine, socket or file is left behind.
//
// Failure: a method that cannot do its work ends the test with Fatal. So call it on the test's goroutine, or on one
// whose early end the test notices. Only Do returns its error.
package redistest
