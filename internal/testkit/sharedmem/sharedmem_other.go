//go:build !unix

package sharedmem

import (
	"errors"
	"os"
)

// File cannot be made here.
func File(int) (*os.File, error) { return nil, errors.ErrUnsupported }

// Map cannot be made here.
func Map(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }
