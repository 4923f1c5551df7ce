package load

import (
	"os"
	"unsafe"

	"github.com/wheellock/wheellock/internal/testkit/sharedmem"
)

// Cells are the cells of all names of a run, in the memory of one process or of several.
type Cells []cell

// PrivateCells are cells for one process.
func PrivateCells(names int) Cells { return make([]cell, names) }

func sizeOf(names int) int { return names * int(unsafe.Sizeof(cell{})) }

// SharedFile makes the memory that the cells of several processes lie in. Where the system cannot share memory so, the error is
// errors.ErrUnsupported.
func SharedFile(names int) (*os.File, error) { return sharedmem.File(sizeOf(names)) }

// SharedCells are the cells in a file of SharedFile.
func SharedCells(f *os.File, names int) (Cells, error) {
	memory, err := sharedmem.Map(f, sizeOf(names))
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*cell)(unsafe.Pointer(&memory[0])), names), nil
}
