package redistest

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// parentEnv makes TestParentOfAServer start a server and wait to be killed.
const parentEnv = "REDISTEST_PARENT"

func TestParentOfAServer(t *testing.T) {
	if os.Getenv(parentEnv) == "" {
		return // no test by itself: TestChildDiesWithItsParent runs it in a process of its own
	}
	_, _ = os.Stdout.WriteString("addr " + Start(t).Addr() + "\n")
	_, _ = os.Stdin.Read(make([]byte, 1)) // until killed
}

func TestChildDiesWithItsParent(t *testing.T) {
	t.Parallel()
	Require(t, "redis-server")
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux can tie a child to its parent's death")
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestParentOfAServer$")
	parent.Env = append(os.Environ(), parentEnv+"=1", "TMPDIR="+t.TempDir()) // nobody else will tidy up
	stdin, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var addr string
	for lines := bufio.NewScanner(stdout); addr == "" && lines.Scan(); {
		addr, _ = strings.CutPrefix(lines.Text(), "addr ")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	Await(t, "the server's end", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}
