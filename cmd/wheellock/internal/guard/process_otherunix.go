//go:build unix && !linux

package guard

import (
	"os/signal"
	"syscall"
)

// dieWithUs would have the system kill the command with this process; here it cannot.
func dieWithUs(*syscall.SysProcAttr) {}

// adopts reports whether processes that lose their parent become ours.
func adopts() bool { return false }

// unstopped gives the terminal away. A process that does not have it would be stopped for that.
func unstopped(give func()) {
	signal.Ignore(syscall.SIGTTOU)
	give()
}
