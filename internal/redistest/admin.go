package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

// adminName is the CLIENT SETNAME of our own connections, which counts and kills leave out.
const adminName = "redistest"

// adminTimeout bounds one command and its answer, so that a frozen server gives an error.
const adminTimeout = 5 * time.Second

// admin is a connection for looking and for setting the stage. It dials when it is needed.
type admin struct {
	addr     string
	password string // of the default user; empty: none

	mu     sync.Mutex    // held for a command and its answer; guards the rest
	conn   net.Conn      // nil: not connected
	reader *bufio.Reader // of conn
}

// do sends one command. A connection that had been idle and turns out broken is replaced, and the command
// sent again: should the break fall between its running and its answer, it runs twice.
func (a *admin) do(args ...string) Reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	idle := a.conn != nil
	reply, err := a.attemptLocked(args)
	if err != nil && idle && !errors.Is(err, os.ErrDeadlineExceeded) {
		reply, err = a.attemptLocked(args)
	}
	if err != nil {
		return Reply{broken: fmt.Errorf("redistest: %s to %s: %w", args[0], a.addr, err)}
	}
	return reply
}

func (a *admin) attemptLocked(args []string) (Reply, error) {
	if a.conn == nil {
		conn, reader, err := dialNamed(a.addr, a.password)
		if err != nil {
			return Reply{}, err
		}
		a.conn, a.reader = conn, reader
	}
	reply, err := exchange(a.conn, a.reader, args...)
	if err != nil {
		a.closeLocked()
	}
	return reply, err
}

// close drops the connection; the next command dials again.
func (a *admin) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closeLocked()
}

func (a *admin) closeLocked() {
	if a.conn != nil {
		_ = a.conn.Close() // nothing is left to lose on it
		a.conn = nil
	}
}

// dialNamed opens a connection that is ours by its name.
func dialNamed(addr, password string) (net.Conn, *bufio.Reader, error) {
	conn, err := net.DialTimeout("tcp", addr, adminTimeout)
	if err != nil {
		return nil, nil, err
	}
	reader := bufio.NewReader(conn)
	var reply Reply
	if password != "" {
		reply, err = exchange(conn, reader, "AUTH", password)
	}
	if err == nil && reply.Err() == nil {
		reply, err = exchange(conn, reader, "CLIENT", "SETNAME", adminName)
	}
	if err = errors.Join(err, reply.Err()); err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, reader, nil
}

// exchange sends one command and reads its answer, both within adminTimeout.
func exchange(conn net.Conn, reader *bufio.Reader, args ...string) (Reply, error) {
	if err := conn.SetDeadline(time.Now().Add(adminTimeout)); err != nil {
		return Reply{}, err
	}
	if _, err := conn.Write(appendCommand(nil, args...)); err != nil {
		return Reply{}, err
	}
	return readReply(reader)
}

// appendCommand appends a command as Redis reads it: a list of strings with their lengths.
func appendCommand(to []byte, args ...string) []byte {
	to = append(to, '*')
	to = strconv.AppendInt(to, int64(len(args)), 10)
	for _, arg := range args {
		to = append(to, "\r\n$"...)
		to = strconv.AppendInt(to, int64(len(arg)), 10)
		to = append(to, "\r\n"...)
		to = append(to, arg...)
	}
	return append(to, "\r\n"...)
}
