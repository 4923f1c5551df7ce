package dispatcher

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// quiet is a socket whose reads and writes Go's runtime does not hear of.
//
// The runtime takes every system call for one that may last, and wakes its monitor (sysmon), a thread that looks every
// 20 µs whether a processor is stuck in one, until all are idle. Where the callers wait for Redis again and again that
// is all the time: it takes a tenth of a core, and redis-server's processor away from it. Reads and writes of a Go
// socket never block, so nothing is to be watched; one that is not ready is left to the poller, as ever.
//
// But the monitor also takes the processor from a goroutine that computes for longer than 10 ms. It must not stay asleep
// while such a one begins, of a caller that was granted a lock, say. So one read in every monitorTime is an ordinary one,
// and wakes it; and a timer is set before, for the monitor sleeps no longer than to the next one it knows.
type quiet struct {
	net.Conn
	in, out  transfer
	shown    time.Time   // the last ordinary read; the reader's
	monitors *time.Timer // does nothing
}

// monitorTime is how long the monitor may sleep, at most, beside a socket that is read.
const monitorTime = 20 * time.Millisecond

// quieten makes a plain socket quiet. Another connection may do something of its own when it is read or written.
func quieten(conn net.Conn) net.Conn {
	var raw syscall.RawConn
	var err error
	switch c := conn.(type) {
	case *net.TCPConn:
		raw, err = c.SyscallConn()
	case *net.UnixConn:
		raw, err = c.SyscallConn()
	}
	if raw == nil || err != nil {
		return conn
	}
	q := &quiet{Conn: conn, monitors: time.AfterFunc(monitorTime, func() {})}
	q.in.open(raw.Read, syscall.SYS_READ)
	q.out.open(raw.Write, syscall.SYS_WRITE)
	return q
}

func (q *quiet) Read(b []byte) (int, error) {
	q.in.turn.Lock()
	defer q.in.turn.Unlock()
	if now := time.Now(); now.Sub(q.shown) >= monitorTime || len(b) == 0 {
		q.shown = now
		q.monitors.Reset(monitorTime)
		return q.Conn.Read(b)
	}
	n, err := q.in.move(b)
	switch {
	case err != nil:
		return 0, q.failed("read", err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

func (q *quiet) Write(b []byte) (written int, err error) {
	q.out.turn.Lock()
	defer q.out.turn.Unlock()
	for written < len(b) {
		n, err := q.out.move(b[written:])
		if err != nil {
			return written, q.failed("write", err)
		}
		written += n
	}
	return written, nil
}

func (q *quiet) failed(what string, err error) error {
	if errno, refused := err.(syscall.Errno); refused {
		err = os.NewSyscallError(what, errno)
		return &net.OpError{Op: what, Net: q.LocalAddr().Network(), Source: q.LocalAddr(), Addr: q.RemoteAddr(), Err: err}
	}
	return err // closed, or past its deadline: an OpError already
}

// transfer moves bytes one way.
type transfer struct {
	turn  sync.Mutex
	wait  func(ready func(fd uintptr) bool) error // calls ready again when the poller finds the socket ready
	ready func(fd uintptr) bool
	b     []byte
	n     int
	errno syscall.Errno
}

func (t *transfer) open(wait func(func(uintptr) bool) error, trap uintptr) {
	t.wait = wait
	t.ready = func(fd uintptr) bool {
		for {
			n, _, errno := syscall.RawSyscall(trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(t.b))), uintptr(len(t.b)))
			switch errno {
			case syscall.EINTR:
				continue
			case syscall.EAGAIN:
				return false
			}
			t.n, t.errno = int(n), errno
			return true
		}
	}
}

// move moves some bytes, once that is possible.
func (t *transfer) move(b []byte) (int, error) {
	t.b = b
	err := t.wait(t.ready)
	t.b = nil
	if err == nil && t.errno != 0 {
		err = t.errno
	}
	return t.n, err
}
