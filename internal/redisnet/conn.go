package redisnet

import (
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// keepAlive is after how long a side finds out that the other has gone without a word.
const keepAlive = time.Minute

// conn is one side of a connection.
type conn struct {
	in, out *half
	way     *Direction // on which it writes

	mu       sync.Mutex
	deadline time.Time // of writes
	closed   bool
	cutAfter int       // bytes that may still be written; -1: all
	held     time.Time // what is written before then arrives then
}

// pair makes the two sides of a connection: what the first writes goes by up, what the second writes by down.
func pair(up, down *Direction) (client, server *conn) {
	there, back := newHalf(), newHalf()
	client = &conn{in: back, out: there, way: up, cutAfter: -1}
	server = &conn{in: there, out: back, way: down, cutAfter: -1}
	return client, server
}

func (c *conn) Read(b []byte) (int, error) { return c.in.read(b) }

func (c *conn) Write(b []byte) (int, error) {
	b = c.way.spoiled(b)
	c.mu.Lock()
	if late := c.way.lateness(b); late > 0 {
		c.held = time.Now().Add(late)
	}
	held := c.held
	closed, late := c.closed, !c.deadline.IsZero() && !time.Now().Before(c.deadline)
	n, cut := len(b), false
	if c.cutAfter >= 0 && n > c.cutAfter {
		n, cut = c.cutAfter, true
	}
	if c.cutAfter >= 0 {
		c.cutAfter -= n
	}
	c.mu.Unlock()
	switch {
	case closed:
		return 0, net.ErrClosed
	case late:
		return 0, os.ErrDeadlineExceeded
	}
	at, arrives := c.way.arrival()
	if !arrives {
		c.out.lose()
	}
	if at.Before(held) {
		at = held
	}
	c.out.put(b[:n], at)
	if cut {
		c.out.finish(syscall.ECONNRESET, at)
		c.in.reset(syscall.ECONNRESET)
		return n, syscall.ECONNRESET
	}
	return n, nil
}

// Close ends both directions: the other side reads what is on its way, and then the end.
func (c *conn) Close() error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.mu.Unlock()
	if !first {
		return net.ErrClosed
	}
	at, arrives := c.way.arrival()
	if arrives {
		c.out.finish(nil, at)
	} else {
		c.out.loseFor(keepAlive)
	}
	c.in.shut()
	return nil
}

func (c *conn) isOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed
}

// hold has what this side writes before that time arrive then.
func (c *conn) hold(until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = until
}

// cut breaks the connection for both sides at once.
func (c *conn) cut() {
	c.in.reset(syscall.ECONNRESET)
	c.out.reset(syscall.ECONNRESET)
}

// breakOff ends what this side says. What the other has said still arrives.
func (c *conn) breakOff() { c.out.finish(syscall.ECONNRESET, time.Now()) }

// cutBehind breaks it when so many more bytes have been written by this side; -1: not.
func (c *conn) cutBehind(bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cutAfter = bytes
}

func (c *conn) SetDeadline(t time.Time) error {
	c.SetWriteDeadline(t)
	return c.SetReadDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return address{} }
func (c *conn) RemoteAddr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "memory" }
