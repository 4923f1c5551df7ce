//go:build unix

// Package sharedmem is memory that several processes share, where the system can do that.
package sharedmem

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// File makes the memory: a file without a name, of zeros, which goes when the last process that has it open ends. Elsewhere the error is
// errors.ErrUnsupported.
func File(size int) (*os.File, error) {
	dir := "/dev/shm" // in memory: elsewhere, writing it back to a disk could hold up a caller
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = ""
	}
	f, err := os.CreateTemp(dir, "shared-*")
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	if err := f.Truncate(int64(size)); err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	return f, nil
}

// Map gives the memory of a File, for as long as the process lives. The file may be closed.
func Map(f *os.File, size int) ([]byte, error) {
	memory, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	return memory, nil
}
