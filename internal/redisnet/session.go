package redisnet

import (
	"bufio"
	"slices"
	"strings"
	"sync"
	"time"
)

// session is a connection as the server sees it. Its channels and protocol are guarded by the server's mutex.
type session struct {
	s        *Server
	client   string
	conn     *conn
	since    time.Time
	resp3    bool
	channels map[channel]struct{}
	name     string // as the client calls itself
	tracking bool   // it asked to be told of changed keys
	pending  []byte // answers that leave when nothing more is to be read
}

// channel is one of the two kinds, which are separate.
type channel struct {
	name    string
	sharded bool
}

// readers are those of sessions that have ended, with 64 KB each.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 64<<10) }}

// run answers until the connection ends.
func (c *session) run() {
	defer c.leave()
	r := readers.Get().(*bufio.Reader)
	r.Reset(c.conn)
	defer readers.Put(r)
	for {
		args, err := readCommand(r)
		if err != nil || len(args) == 0 {
			return
		}
		if strings.EqualFold(args[0], "TIME") {
			time.Sleep(c.s.slowness())
		}
		lost := c.conn.way.swallows(args)
		c.s.mu.Lock()
		if lost {
			c.flush()
		}
		goes := c.s.answer(c, args)
		switch {
		case lost:
			c.pending = c.pending[:0]
			c.conn.breakOff()
		case r.Buffered() == 0 || !goes:
			c.flush()
		}
		c.s.mu.Unlock()
		if !goes {
			return
		}
	}
}

// flush sends what has been answered.
func (c *session) flush() {
	if len(c.pending) > 0 {
		c.conn.Write(c.pending)
		c.pending = c.pending[:0]
	}
}

// tell sends what the client did not ask for, behind what it was answered.
func (c *session) tell(b []byte) {
	c.pending = append(c.pending, b...)
	c.flush()
}

func (c *session) leave() {
	c.s.mu.Lock()
	delete(c.s.sessions, c)
	if at := slices.Index(c.s.order, c); at >= 0 {
		c.s.order = slices.Delete(c.s.order, at, at+1)
	}
	c.s.mu.Unlock()
	c.conn.Close()
}
