package gate

import (
	"testing"
	"unsafe"
)

// A batch copies its commands from queue to queue.
func TestCommandIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Command{}); unsafe.Sizeof(uintptr(0)) == 8 && size > 96 {
		t.Errorf("a Command has %d bytes, want at most 96", size)
	}
}
