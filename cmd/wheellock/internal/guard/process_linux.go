package guard

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dieWithUs has the system kill the command when this process ends, however that ends.
func dieWithUs(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// adopts reports whether processes that lose their parent become ours: those of a container of which this one is the first.
var adopts = sync.OnceValue(func() bool {
	var subreaper int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&subreaper)), 0, 0, 0)
	return os.Getpid() == 1 || err == nil && subreaper != 0
})

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
