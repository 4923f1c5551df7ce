package guard

import "syscall"

// dieWithUs has the system kill the command when this process ends, however that ends.
func dieWithUs(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
