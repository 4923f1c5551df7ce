package gate

import (
	"testing"
	"unsafe"
)

// A process may have a million names: the entry of one that is only held, with its machine, is this large.
func TestALockIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Lock{}); unsafe.Sizeof(uintptr(0)) == 8 && size > 208 {
		t.Errorf("%d bytes, want at most 208", size)
	}
}
