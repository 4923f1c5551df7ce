//go:build unix && !linux

package guard

import "syscall"

// dieWithUs would have the system kill the command with this process; here it cannot.
func dieWithUs(*syscall.SysProcAttr) {}
