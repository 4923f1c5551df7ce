package redistest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// Ports are taken below the range Linux uses for outgoing connections (32768 up): a killed server's port
// cannot then be sat on by some client's connection when Restart wants it back, and a client that dials
// a dead server over and over cannot connect to itself.
const (
	firstPort = 20000
	lastPort  = 31999
)

// reserved holds every port this process gave out, so that parallel tests never share one, not even
// while its server is down.
var reserved sync.Map

// freePort returns a loopback port nobody listens on. Another process may still take it first; Start
// notices and asks again.
func freePort() (int, error) {
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if _, taken := reserved.LoadOrStore(port, true); taken {
			continue
		}
		probe, err := net.Listen("tcp", loopback(port))
		if err != nil {
			reserved.Delete(port)
			continue
		}
		return port, probe.Close()
	}
	return 0, errors.New("redistest: no free port found")
}

// loopback is the address of a port on this machine.
func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// FreePort is a loopback port that nobody listens on and that no Server of this process will take: for what a
// server listens on besides.
func FreePort(tb testing.TB) int {
	tb.Helper()
	port, err := freePort()
	if err != nil {
		tb.Fatal(err)
	}
	return port
}
