//go:build !unix

package child

import (
	"errors"
	"os/exec"
)

func dieWithParent(*exec.Cmd) {}

// Apart does nothing here.
func Apart(*exec.Cmd) {}

// Freeze cannot be done here.
func (p *Process) Freeze() error { return errors.ErrUnsupported }

// Thaw cannot be done here.
func (p *Process) Thaw() error { return errors.ErrUnsupported }
