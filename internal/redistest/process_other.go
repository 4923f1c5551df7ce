//go:build !unix

package redistest

import (
	"errors"
	"os/exec"
)

// dieWithParent does nothing: only Linux can tie a child to its parent's death.
func dieWithParent(*exec.Cmd) {}

func (p *process) freeze() error { return errors.ErrUnsupported }

func (p *process) thaw() error { return errors.ErrUnsupported }
