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
	blockSize = 20
)

// ports gives out ports of blocks that a process has for itself, and each only once: no other server comes to where one is down, or
// where one is about to listen. Any goroutine may use it.
type ports struct {
	mu     sync.Mutex     // guards the rest
	claims []net.Listener // on the first port of each block, which is how other processes know that it is taken
	next   int
	left   int // in the last block, from next on
}

var ours ports

// FreePort returns a loopback port that nobody listens on. A program that claims no ports may still take it; Server.Start notices and asks
// again.
func FreePort() (int, error) { return ours.take() }

func (p *ports) take() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range 1000 {
		if p.left == 0 {
			p.claimLocked()
			continue
		}
		port := p.next
		p.next++
		p.left--
		if probe, err := net.Listen("tcp", Loopback(port)); err == nil {
			return port, probe.Close()
		}
	}
	return 0, errors.New("no free port found")
}

// claimLocked tries to claim a block.
func (p *ports) claimLocked() {
	first := firstPort + blockSize*rand.IntN((lastPort-firstPort+1)/blockSize)
	if claim, err := net.Listen("tcp", Loopback(first)); err == nil {
		p.claims = append(p.claims, claim)
		p.next, p.left = first+1, blockSize-1
	}
}

// Loopback is the address of a port on this machine.
func Loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
