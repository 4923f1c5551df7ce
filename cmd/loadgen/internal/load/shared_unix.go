//go:build unix

package load

import (
	"os"

	"golang.org/x/sys/unix"
)

func sharedFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "loadgen-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, err
	}
	return f, nil
}

func mapped(f *os.File, size int) (memory []byte, unmap func() error, err error) {
	memory, err = unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return memory, func() error { return unix.Munmap(memory) }, err
}
