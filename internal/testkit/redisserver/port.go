package redisserver

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
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

// FreePort returns a loopback port nobody listens on. Another process may still take it first; Server.Start
// notices and asks again.
func FreePort() (int, error) {
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if _, taken := reserved.LoadOrStore(port, true); taken {
			continue
		}
		probe, err := net.Listen("tcp", Loopback(port))
		if err != nil {
			reserved.Delete(port)
			continue
		}
		return port, probe.Close()
	}
	return 0, errors.New("no free port found")
}

// Loopback is the address of a port on this machine.
func Loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
