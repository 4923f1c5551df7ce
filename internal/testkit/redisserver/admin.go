package redisserver

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/wheellock/wheellock/internal/testkit/resp"
)

// AdminName is the CLIENT SETNAME of our own connections, which counts and kills leave out.
const AdminName = "redistest"

// AdminTimeout bounds one command and its answer, so that a frozen server gives an error.
const AdminTimeout = 5 * time.Second

// Admin is a connection for looking and for setting the stage. It dials when it is needed. Any goroutine may use it.
type Admin struct {
	Network, Addr string
	Password      string // of the default user; empty: none

	mu   sync.Mutex // held for a command and its answer; guards the rest
	conn *resp.Conn // nil: not connected
}

// Do sends one command. A connection that had been idle and turns out broken is replaced, and the command
// sent again: should the break fall between its running and its answer, it runs twice.
func (a *Admin) Do(args ...string) resp.Reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	idle := a.conn != nil
	reply := a.attemptLocked(args)
	if err := reply.Lost(); err != nil && idle && !errors.Is(err, os.ErrDeadlineExceeded) {
		reply = a.attemptLocked(args)
	}
	if err := reply.Lost(); err != nil {
		return resp.Broken(fmt.Errorf("%s to %s: %w", args[0], a.Addr, err))
	}
	return reply
}

func (a *Admin) attemptLocked(args []string) resp.Reply {
	if a.conn == nil {
		conn, err := resp.Dial(a.Network, a.Addr, a.Password, AdminName, AdminTimeout)
		if err != nil {
			return resp.Broken(err)
		}
		a.conn = conn
	}
	reply := a.conn.DoWithin(AdminTimeout, args...)
	if reply.Lost() != nil {
		a.closeLocked()
	}
	return reply
}

// Close drops the connection; the next command dials again.
func (a *Admin) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closeLocked()
}

func (a *Admin) closeLocked() {
	if a.conn != nil {
		_ = a.conn.Close() // nothing is left to lose on it
		a.conn = nil
	}
}

// Counters reads what the server has done so far.
func (a *Admin) Counters() (c resp.Counters, err error) {
	info := ""
	for _, section := range resp.Sections {
		reply := a.Do("INFO", section)
		if err := reply.Err(); err != nil {
			return c, err
		}
		info += reply.Text
	}
	return c, c.Add(info)
}
