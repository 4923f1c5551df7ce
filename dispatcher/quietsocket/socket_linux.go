//go:build !386 && !s390x && !wheellock_plainsockets

package quietsocket

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// socket reads and writes by system calls of which Go's runtime is not told.
//
// The runtime takes every system call for one that may last, and wakes its monitor (sysmon), a thread that looks every
// 20 µs whether a processor is stuck in one, until all are idle. Where the callers wait for Redis again and again that
// is all the time: it takes a tenth of a core, and redis-server's processor away from it. These reads and writes never
// block (MSG_DONTWAIT), whatever mode the socket is in, so nothing is to be watched; one that is not ready is left to the
// poller, as ever. The build tag wheellock_plainsockets does without all this.
//
// MSG_DONTWAIT, because a socket may be in blocking mode: the user's DialCtxFn that calls conn.File().Fd(), to set an
// option, leaves it so. 1. A goroutine reads it by a call of which the runtime does not know; the call waits. 2. A garbage
// collection stops all goroutines. 3. Nobody can take the processor from that one: the process stands still.
//
// But the monitor also takes the processor from a goroutine that computes for longer than 10 ms. It must not stay asleep
// while such a one begins, of a caller that was granted a lock, say. So one read in every monitorTime is an ordinary one,
// and wakes it; and a timer is set before, for the monitor sleeps no longer than to the next one it knows.
type socket struct {
	net.Conn
	in, out  transfer
	ahead    transfer
	shown    time.Time   // the last call of which the runtime was told; the reader's
	monitors *time.Timer // does nothing
}

// monitorTime is how long the monitor may sleep, at most, beside a socket that is read.
const monitorTime = 20 * time.Millisecond

// Wrap makes a plain TCP or Unix socket quiet. It leaves any other connection as it is, which may do something of its own
// when it is read or written.
func Wrap(conn net.Conn) net.Conn {
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
	q := &socket{Conn: conn, monitors: time.AfterFunc(monitorTime, func() {})}
	q.in.showDue = q.showDue
	q.in.open(raw.Read, syscall.SYS_RECVFROM, syscall.MSG_DONTWAIT)
	q.out.open(raw.Write, syscall.SYS_SENDTO, syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL)
	look := func(fd uintptr) { q.ahead.seen = q.ahead.ready(fd) }
	q.ahead.open(func(func(uintptr) bool) error { return raw.Control(look) }, syscall.SYS_RECVFROM, syscall.MSG_DONTWAIT|syscall.MSG_PEEK)
	return q
}

func (s *socket) Read(b []byte) (int, error) {
	s.in.turn.Lock()
	defer s.in.turn.Unlock()
	if len(b) == 0 {
		return 0, nil
	}
	n, err := s.in.move(b)
	switch {
	case err != nil:
		return 0, s.failed("read", err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// showDue reports whether the next call has to be shown to the runtime. It is asked before every call, also before the one that
// reads what a read has waited for: after a long wait the monitor is asleep, and the goroutine that gets the answer may compute.
func (s *socket) showDue() bool {
	now := time.Now()
	if now.Sub(s.shown) < monitorTime {
		return false
	}
	s.shown = now
	s.monitors.Reset(monitorTime)
	return true
}

func (s *socket) Write(b []byte) (written int, err error) {
	s.out.turn.Lock()
	defer s.out.turn.Unlock()
	for written < len(b) {
		n, err := s.out.move(b[written:])
		if err != nil {
			return written, s.failed("write", err)
		}
		written += n
	}
	return written, nil
}

// Peek copies what waits to be read, as far as b holds it. 0: nothing does, or the connection has ended.
func (s *socket) Peek(b []byte) int {
	s.ahead.turn.Lock()
	defer s.ahead.turn.Unlock()
	n, err := s.ahead.move(b)
	if err != nil || !s.ahead.seen {
		return 0
	}
	return n
}

func (s *socket) failed(what string, err error) error {
	if errno, refused := err.(syscall.Errno); refused {
		err = os.NewSyscallError(what, errno)
		return &net.OpError{Op: what, Net: s.LocalAddr().Network(), Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: err}
	}
	return err // closed, or past its deadline: an OpError already
}

// transfer moves bytes one way.
type transfer struct {
	turn    sync.Mutex
	wait    func(ready func(fd uintptr) bool) error // calls ready again when the poller finds the socket ready
	ready   func(fd uintptr) bool
	showDue func() bool // reports whether the runtime is told of the next call; nil: never
	seen    bool        // of ahead: the last call did not find the socket empty
	b       []byte
	n       int
	errno   syscall.Errno
}

func (t *transfer) open(wait func(func(uintptr) bool) error, trap, flags uintptr) {
	t.wait = wait
	t.ready = func(fd uintptr) bool {
		for {
			var n uintptr
			var errno syscall.Errno
			if t.showDue != nil && t.showDue() {
				n, _, errno = syscall.Syscall6(trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(t.b))), uintptr(len(t.b)), flags, 0, 0)
			} else {
				n, _, errno = syscall.RawSyscall6(trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(t.b))), uintptr(len(t.b)), flags, 0, 0)
			}
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
