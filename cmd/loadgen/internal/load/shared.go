package load

import (
	"fmt"
	"os"
	"unsafe"
)

// Cells are the cells of all names of a run, in the memory of one process or of several.
type Cells struct {
	cells []cell
	unmap func() error
}

// PrivateCells are cells for one process.
func PrivateCells(names int) *Cells {
	return &Cells{cells: make([]cell, names), unmap: func() error { return nil }}
}

// SharedFile makes the memory that the cells of several processes lie in: a file without a name, which goes
// when the last process that has it open ends. Where the system cannot share memory so, the error is
// errors.ErrUnsupported.
func SharedFile(names int) (*os.File, error) {
	dir := "/dev/shm" // in memory: elsewhere, writing it back to a disk could hold up a caller
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = ""
	}
	f, err := sharedFile(dir)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(int64(names) * int64(unsafe.Sizeof(cell{}))); err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	return f, nil
}

// SharedCells are the cells in a file of SharedFile.
func SharedCells(f *os.File, names int) (*Cells, error) {
	size := names * int(unsafe.Sizeof(cell{}))
	memory, unmap, err := mapped(f, size)
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	return &Cells{cells: unsafe.Slice((*cell)(unsafe.Pointer(&memory[0])), names), unmap: unmap}, nil
}

// Close gives the memory back. Nobody may enter or leave a cell any more.
func (c *Cells) Close() error { return c.unmap() }
