//go:build !386 && !s390x && !wheellock_plainsockets

package quietsocket

import (
	"bufio"
	"net"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/nettest"

	"github.com/wheellock/wheellock/internal/redistest"
)

// A quiet socket is a socket: whatever a net.Conn promises holds.
func TestQuietSockets(t *testing.T) {
	for network, addr := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "socket")} {
		t.Run(network, func(t *testing.T) {
			listener, err := net.Listen(network, addr)
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			nettest.TestConn(t, func() (near, far net.Conn, stop func(), err error) {
				if near, err = net.Dial(network, listener.Addr().String()); err != nil {
					return
				}
				if far, err = listener.Accept(); err != nil {
					return
				}
				near, far = Wrap(near), Wrap(far)
				if _, is := near.(*socket); !is {
					t.Fatalf("a %T is left as it is", near)
				}
				return near, far, func() { near.Close(); far.Close() }, nil
			})
		})
	}
}

// What is more than a socket reads and writes in its own way.
func TestQuietLeavesOthersAlone(t *testing.T) {
	wrapped := struct{ *net.TCPConn }{new(net.TCPConn)}
	if got := Wrap(wrapped); got != net.Conn(wrapped) {
		t.Errorf("made a %T of it", got)
	}
}

// Who computes for long after an answer came over a quiet socket does not keep the others from the only processor: the
// runtime's monitor is awake. (With reads of which it never hears, the others wait here until the computing ends.)
func TestQuietSocketsLeaveTheMonitorAwake(t *testing.T) {
	leaveMonitorAwake(t, 3, func(ask func(command string)) {
		for start := time.Now(); time.Since(start) < 5*monitorTime; { // the monitor falls asleep between the answers
			ask("PING")
		}
	})
}

// The same when the answer was long in coming: by then the monitor is asleep, and no ordinary read has woken it.
func TestQuietSocketsWakeTheMonitorAfterALongWait(t *testing.T) {
	leaveMonitorAwake(t, 5, func(ask func(command string)) {
		ask("PING")
		ask("PING")
		ask("BLPOP nothing 0.1") // the answer comes after 100 ms
	})
}

// leaveMonitorAwake computes after the answers to what is asked, with one processor for all, and has another goroutine
// wait for it.
func leaveMonitorAwake(t *testing.T, turns int, talk func(ask func(command string))) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	conn, err := net.Dial("tcp", redistest.Start(t).Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn = Wrap(conn)
	answers := bufio.NewReader(conn)
	ask := func(command string) {
		if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := answers.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	// Of processor time: on a busy machine the monitor waits for a processor as often as the one who computes.
	const most = 500 * time.Millisecond
	for turn := range turns {
		may, other := make(chan struct{}), make(chan struct{}, 1)
		go func() { <-may; other <- struct{}{} }()
		talk(ask)
		may <- struct{}{}
		for began := computed(); computed()-began < most && len(other) == 0; {
		}
		if len(other) == 0 {
			t.Errorf("turn %d: another goroutine waited while this one computed for %v", turn, most)
		}
		<-other
	}
}

// computed is the processor time of this process. The runtime does not hear of the call, which would wake its monitor.
func computed() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // cannot fail
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
