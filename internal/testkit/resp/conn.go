// Package resp is a bare connection to Redis: commands, answers (reply.go), and what INFO tells (info.go). It shares nothing with
// the client library of the engine, so that a fault there cannot hide from a test, and it costs next to nothing.
package resp

import (
	"bufio"
	"errors"
	"net"
	"strconv"
	"time"
)

// Conn is a connection, RESP version 2. It belongs to one goroutine, or to one that sends and one that reads.
type Conn struct {
	net.Conn
	In  *bufio.Reader // of Conn
	out *bufio.Writer
}

// Dial opens a connection; each step may take so long. password and name (CLIENT SETNAME) may be empty.
func Dial(network, addr, password, name string, within time.Duration) (*Conn, error) {
	conn, err := net.DialTimeout(network, addr, within)
	if err != nil {
		return nil, err
	}
	c := &Conn{conn, bufio.NewReaderSize(conn, 64<<10), bufio.NewWriterSize(conn, 64<<10)}
	if password != "" {
		err = c.DoWithin(within, "AUTH", password).Err()
	}
	if err == nil && name != "" {
		err = c.DoWithin(within, "CLIENT", "SETNAME", name).Err()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Do sends one command and waits for its answer.
func (c *Conn) Do(args ...string) Reply {
	c.Queue(args...)
	if err := c.Flush(); err != nil {
		return Broken(err)
	}
	return c.Read()
}

// DoWithin is Do, bounded by a time.
func (c *Conn) DoWithin(d time.Duration, args ...string) Reply {
	if err := c.SetDeadline(time.Now().Add(d)); err != nil {
		return Broken(err)
	}
	reply := c.Do(args...)
	if err := c.SetDeadline(time.Time{}); err != nil && reply.Lost() == nil {
		return Broken(err)
	}
	return reply
}

// Queue puts a command into the buffer. Errors stay in the buffer until Flush.
func (c *Conn) Queue(args ...string) {
	_, _ = c.out.Write(AppendCommand(c.out.AvailableBuffer(), args...))
}

// Flush sends what is queued.
func (c *Conn) Flush() error { return c.out.Flush() }

// Read takes the next answer.
func (c *Conn) Read() Reply { return Read(c.In) }

// AppendCommand appends a command as Redis reads it: a list of strings with their lengths.
func AppendCommand(to []byte, args ...string) []byte {
	to = append(strconv.AppendInt(append(to, '*'), int64(len(args)), 10), "\r\n"...)
	for _, arg := range args {
		to = append(strconv.AppendInt(append(to, '$'), int64(len(arg)), 10), "\r\n"...)
		to = append(append(to, arg...), "\r\n"...)
	}
	return to
}
