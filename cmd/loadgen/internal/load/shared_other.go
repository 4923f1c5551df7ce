//go:build !unix

package load

import (
	"errors"
	"os"
)

func sharedFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func mapped(*os.File, int) ([]byte, func() error, error) { return nil, nil, errors.ErrUnsupported }
