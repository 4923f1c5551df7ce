package testkit

import (
	"net"
	"sync"
	"testing"
)

// Serve starts a server in place of Redis, each of whose connections serve serves. When the test ends it takes no more, and waits until
// those it has are served.
func Serve(tb testing.TB, serve func(client net.Conn)) (addr string) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Must(tb, err)
	var ends sync.WaitGroup
	tb.Cleanup(ends.Wait)
	tb.Cleanup(func() { listener.Close() })
	ends.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			ends.Go(func() {
				serve(client)
				client.Close()
			})
		}
	})
	return listener.Addr().String()
}
