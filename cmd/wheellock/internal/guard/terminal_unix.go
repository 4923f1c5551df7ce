//go:build unix

package guard

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminal is the one that controls this session. A nil one has no effect.
type terminal struct{ *os.File }

// openTerminal opens it; nil: there is none.
func openTerminal() *terminal {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return &terminal{f}
}

func (t *terminal) close() {
	if t != nil {
		_ = t.Close()
	}
}

// holder is the process group that may read from it.
func (t *terminal) holder() int {
	if t == nil {
		return -1
	}
	group, err := unix.IoctlGetInt(int(t.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return -1
	}
	return group
}

// isOurs reports whether the process group of this process may read from it.
func (t *terminal) isOurs() bool { return t.holder() == syscall.Getpgrp() }

// give lets a process group read from it.
func (t *terminal) give(group int) {
	unstopped(func() { _ = unix.IoctlSetPointerInt(int(t.Fd()), unix.TIOCSPGRP, group) })
}

// takeFrom takes it back from a process group, if that has it.
func (t *terminal) takeFrom(group int) {
	if t.holder() == group {
		t.give(syscall.Getpgrp())
	}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
