//go:build !386 && !s390x && !wheellock_plainsockets

package quietsocket

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// blockingChild says in the environment that this process is the child of the test below.
const blockingChild = "WHEELLOCK_BLOCKING_SOCKET"

// A socket in blocking mode, as conn.File().Fd() leaves it, does not stop the process: a collection of garbage goes on
// while it is read, and its deadline ends the read. A process that stands still cannot say so: it is a child.
func TestABlockingSocketStopsNobody(t *testing.T) {
	if os.Getenv(blockingChild) != "" {
		readBlockingSocket(t)
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestABlockingSocketStopsNobody$")
	child.Env = append(os.Environ(), blockingChild+"=1")
	var out bytes.Buffer
	child.Stdout, child.Stderr = &out, &out
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%v\n%s", err, out.Bytes())
		}
	case <-time.After(20 * time.Second):
		_ = child.Process.Kill()
		<-ended
		t.Error("the process stands still")
	}
}

func readBlockingSocket(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	file.Fd() // puts the socket into blocking mode
	file.Close()
	q := Wrap(conn)
	read := make(chan error, 1)
	b := make([]byte, 1)
	for i := range 3 { // of which some are known to the runtime, and some are not
		go func() {
			_, err := q.Read(b)
			read <- err
		}()
		for range 3 {
			time.Sleep(time.Millisecond) // sleeps: nobody can see whether a goroutine has come into its system call
			runtime.GC()
		}
		if i < 2 {
			if _, err := far.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if err := <-read; err != nil {
				t.Fatal(fmt.Errorf("read %d: %w", i, err))
			}
		}
	}
	_ = q.SetReadDeadline(time.Now())
	if err := <-read; !os.IsTimeout(err) {
		t.Errorf("a read past its deadline: %v", err)
	}
}
