package guard

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithUs has the system kill the command when this process ends, however that ends.
func dieWithUs(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// unstopped gives the terminal away. A process that does not have it would be stopped for that, by TTOU. To ignore that signal instead would
// last: the runtime does not take it back, and the next command would ignore it too.
func unstopped(give func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	block, before := unix.Sigset_t{}, unix.Sigset_t{}
	block.Val[0] = 1 << (unix.SIGTTOU - 1)
	if unix.PthreadSigmask(unix.SIG_BLOCK, &block, &before) == nil {
		defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }()
	}
	give()
}
