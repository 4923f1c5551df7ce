//go:build !unix

package proc

import (
	"os"
	"os/exec"
)

// Apart does nothing here.
func Apart(*exec.Cmd) {}

// DieWithParent does nothing here.
func DieWithParent(*exec.Cmd) {}

// KillGroup kills the process.
func KillGroup(p *os.Process) { p.Kill() }
